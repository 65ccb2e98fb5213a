/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include "../library_path.h"
#include "../message.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef COLLAGE_ONEDNN_BUILT
#define COLLAGE_ONEDNN_BUILT NULL
#endif

static const struct library_place place = { "COLLAGE_ONEDNN_LIBRARY", "onednn",
                                            COLLAGE_ONEDNN_BUILT, "libdnnl.so.3" };

static const struct symbol {
    const char *name;
    size_t offset;
} symbols[] = {
#define ROW(name) { "dnnl_" #name, offsetof(struct library, name) },
    LIBRARY_FUNCTIONS(ROW)
#undef ROW
};

static collage_status resolve_all(struct library *library, const char *file,
                                  collage_message *message)
{
    for (size_t k = 0; k < sizeof symbols / sizeof symbols[0]; k++) {
        if (!library_symbol(library->handle, symbols[k].name, (char *)library + symbols[k].offset))
            return fail(message, COLLAGE_ERROR_BACKEND, "%s has no %s: is it oneDNN 3?", file,
                        symbols[k].name);
    }
    return COLLAGE_OK;
}

static void resolve_openmp(struct library *library)
{
    void *places[] = { library->handle, RTLD_DEFAULT };
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        if (library_symbol(places[k], "omp_set_num_threads", &library->omp_set_num_threads) &&
            library_symbol(places[k], "omp_get_max_threads", &library->omp_get_max_threads))
            return;
    }
    library->omp_set_num_threads = NULL;
    library->omp_get_max_threads = NULL;
}

static const char *runtime_name(const struct library *library, unsigned runtime)
{
    if (runtime & DNNL_RUNTIME_SYCL)
        return NULL;
    if (runtime & DNNL_RUNTIME_OMP)
        return dlsym(library->handle, "GOMP_parallel") ? "gomp" : "omp";
    if (runtime & DNNL_RUNTIME_TBB)
        return "tbb";
    return runtime & DNNL_RUNTIME_SEQ ? "seq" : NULL;
}

static collage_status check_version(struct library *library, const char *file,
                                    collage_message *message)
{
    const dnnl_version_t *version = library->version();
    if (version->major != 3)
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is oneDNN %d.%d: version 3 is needed", file,
                    version->major, version->minor);
    const char *runtime = runtime_name(library, version->cpu_runtime);
    if (!runtime)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%s runs on SYCL or an external thread pool: install a build for OpenMP "
                    "(onednn-cpu-gomp)",
                    file);
    snprintf(library->version_text, sizeof library->version_text, "%d.%d.%d %s", version->major,
             version->minor, version->patch, runtime);
    if (version->cpu_runtime & DNNL_RUNTIME_OMP)
        resolve_openmp(library);
    return COLLAGE_OK;
}

collage_status library_load(struct library *library, collage_message *message)
{
    char path[PATH_MAX];
    const char *file = library_path_find(&place, path);
    memset(library, 0, sizeof *library);
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "oneDNN cannot be loaded (%s): set COLLAGE_ONEDNN_LIBRARY", dlerror());
    collage_status status = resolve_all(library, file, message);
    if (status == COLLAGE_OK)
        status = check_version(library, file, message);
    return status;
}

void library_use_threads(const struct library *library, int threads)
{
    if (library->omp_get_max_threads && library->omp_get_max_threads() != threads)
        library->omp_set_num_threads(threads);
}

const char *library_status_text(dnnl_status_t status)
{
    static const char *const texts[] = {
        [dnnl_success] = "success",
        [dnnl_out_of_memory] = "out of memory",
        [dnnl_invalid_arguments] = "invalid arguments",
        [dnnl_unimplemented] = "not implemented",
    };
    size_t index = (size_t)status;
    if (index < sizeof texts / sizeof texts[0] && texts[index])
        return texts[index];
    return "a failure inside the library";
}
