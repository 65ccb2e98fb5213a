/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkl.c: Intel's MKL, by its single dynamic library. MKL_THREADING_LAYER=GNU makes it use libgomp's
 * threads, as oneDNN and our own kernels do, instead of a runtime of its own.
 */
#include "../message.h"
#include "flavour.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const environment[] = {
    "MKL_THREADING_LAYER=GNU",   "MKL_INTERFACE_LAYER=LP64", "MKL_DYNAMIC=FALSE",
    "MKL_NUM_THREADS={threads}", "KMP_BLOCKTIME=0",          "GOMP_SPINCOUNT=2000",
    "OMP_NUM_THREADS={threads}", "OMP_DYNAMIC=FALSE",        NULL
};

enum { OLDEST = 2019 };

/* The first number in the library's description of itself: its year. */
static long read_year(const char *text, char *version, size_t size)
{
    const char *at = strstr(text, "Version ");
    at = at ? at + strlen("Version ") : text;
    size_t length = strspn(at, "0123456789.");
    while (length && at[length - 1] == '.')
        length--;
    snprintf(version, size, "%.*s", (int)length, at);
    return strtol(version, NULL, 10);
}

static bool is_gnu_threaded(void)
{
    const char *layer = getenv("MKL_THREADING_LAYER");
    return layer && strcmp(layer, "GNU") == 0;
}

static collage_status identify(struct library *library, const char *file, collage_message *message)
{
    void (*describe)(char *text, int size) = NULL;
    if (!library_resolve(library, "MKL_Get_Version_String", &describe) ||
        !library_resolve(library, "MKL_Set_Num_Threads_Local", &library->set_threads_local))
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is not MKL", file);
    /* It is opened by MKL itself, which ends the process if it is not there. */
    if (is_gnu_threaded() && !dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL))
        return fail(message, COLLAGE_ERROR_BACKEND, "MKL needs libgomp.so.1 (Debian's libgomp1)");
    char text[256] = "", version[24];
    describe(text, sizeof text - 1);
    if (read_year(text, version, sizeof version) < OLDEST)
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is too old (%.60s): %d is needed", file,
                    text, OLDEST);
    snprintf(library->version_text, sizeof library->version_text, "%s %s", version,
             is_gnu_threaded() ? "gomp" : "as set by the user");
    return COLLAGE_OK;
}

/* Of the calling thread only. */
static void use_threads(const struct library *library, int threads)
{
    library->set_threads_local(threads);
}

const struct flavour flavour = {
    .name = "mkl",
    .title = "MKL",
    .hint = "install the Python wheel mkl",
    .place = { "COLLAGE_MKL_LIBRARY", "mkl", COLLAGE_BLAS_BUILT, "libmkl_rt.so" },
    .environment = environment,
    .has_batch = true,
    .identify = identify,
    .use_threads = use_threads,
};
