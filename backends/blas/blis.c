/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blis.c: BLIS. A build for OpenMP uses libgomp's threads; one for pthreads makes and joins threads
 * at each product, so that none can go on spinning.
 */
#include "../message.h"
#include "flavour.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const environment[] = { "GOMP_SPINCOUNT=2000", "OMP_NUM_THREADS={threads}",
                                           "OMP_DYNAMIC=FALSE", NULL };

enum { INT_BITS = 32 };

static collage_status identify(struct library *library, const char *file, collage_message *message)
{
    const char *(*get_version)(void) = NULL;
    int64_t (*get_int_bits)(void) = NULL, (*has_openmp)(void) = NULL;
    if (!library_resolve(library, "bli_info_get_version_str", &get_version) ||
        !library_resolve(library, "bli_info_get_blas_int_type_size", &get_int_bits) ||
        !library_resolve(library, "bli_info_get_enable_openmp", &has_openmp) ||
        !library_resolve(library, "bli_thread_set_num_threads", &library->set_threads_wide))
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is not BLIS, or older than 0.5", file);
    if (get_int_bits() != INT_BITS)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%s counts in 64 bits: install a build with 32 (libblis4-openmp)", file);
    snprintf(library->version_text, sizeof library->version_text, "%.20s %s", get_version(),
             has_openmp() ? "openmp" : "pthreads");
    return COLLAGE_OK;
}

static void use_threads(const struct library *library, int threads)
{
    library->set_threads_wide(threads);
}

const struct flavour flavour = {
    .name = "blis",
    .title = "BLIS",
    .hint = "install Debian's libblis4-openmp",
    .place = { "COLLAGE_BLIS_LIBRARY", "blis", COLLAGE_BLAS_BUILT, "libblis.so.4" },
    .environment = environment,
    .has_batch = true,
    .identify = identify,
    .use_threads = use_threads,
};
