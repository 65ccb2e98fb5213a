/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openblas.c: OpenBLAS. Builds for OpenMP use libgomp's threads, as oneDNN and our own kernels do;
 * those for pthreads have a pool of their own, whose idle threads sleep after 2^14 cycles.
 */
#include "../message.h"
#include "flavour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const environment[] = {
    "OPENBLAS_THREAD_TIMEOUT=14", "OPENBLAS_NUM_THREADS={threads}",
    "GOMP_SPINCOUNT=2000",        "OMP_NUM_THREADS={threads}",
    "OMP_DYNAMIC=FALSE",          NULL
};

enum { OLDEST_MINOR = 3 };

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...". False: it is older than 0.3. */
static bool read_version(const char *config, int version[3])
{
    static const char title[] = "OpenBLAS ";
    const char *at = strncmp(config, title, sizeof title - 1) == 0 ? config + sizeof title - 1 : "";
    memset(version, 0, 3 * sizeof *version);
    for (int k = 0; k < 3 && *at >= '0' && *at <= '9'; k++) {
        char *end = NULL;
        version[k] = (int)strtol(at, &end, 10);
        at = end + (*end == '.');
    }
    return version[0] > 0 || version[1] >= OLDEST_MINOR;
}

static collage_status identify(struct library *library, const char *file, collage_message *message)
{
    static const char *const kinds[] = { "seq", "pthreads", "openmp" };
    char *(*get_config)(void) = NULL, *(*get_corename)(void) = NULL;
    int (*get_parallel)(void) = NULL, version[3];
    if (!library_resolve(library, "openblas_get_config", &get_config) ||
        !library_resolve(library, "openblas_get_parallel", &get_parallel) ||
        !library_resolve(library, "openblas_set_num_threads", &library->set_threads))
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is not OpenBLAS", file);
    const char *config = get_config();
    if (!read_version(config, version))
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is too old (%.40s): 0.3 is needed", file,
                    config);
    if (strstr(config, "USE64BITINT"))
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%s counts in 64 bits: install a build with 32 (libopenblas0-openmp)", file);
    int parallel = get_parallel();
    snprintf(library->version_text, sizeof library->version_text, "%d.%d.%d %s", version[0],
             version[1], version[2],
             parallel >= 0 && parallel < 3 ? kinds[parallel] : "unknown threads");
    if (library_resolve(library, "openblas_get_corename", &get_corename))
        snprintf(library->kernels, sizeof library->kernels, "%s", get_corename());
    return COLLAGE_OK;
}

static void use_threads(const struct library *library, int threads)
{
    library->set_threads(threads);
}

const struct flavour flavour = {
    .name = "openblas",
    .title = "OpenBLAS",
    .hint = "install Debian's libopenblas0-openmp",
    .place = { "COLLAGE_OPENBLAS_LIBRARY", "openblas", COLLAGE_BLAS_BUILT, "libopenblas.so.0" },
    .environment = environment,
    .identify = identify,
    .use_threads = use_threads,
};
