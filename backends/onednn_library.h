/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onednn_library.h: opening oneDNN at run time, for the two plugins that use it: `onednn`, its
 * primitives, and `onednn_graph`, its graphs. Each has a table of the functions that it calls; what
 * is here finds the file, fills the table, looks at the version and at the threads.
 */
#ifndef COLLAGE_BACKENDS_ONEDNN_LIBRARY_H
#define COLLAGE_BACKENDS_ONEDNN_LIBRARY_H

#include "library_path.h"
#include "message.h"

#include <oneapi/dnnl/dnnl_types.h>

#ifndef COLLAGE_ONEDNN_BUILT
#define COLLAGE_ONEDNN_BUILT NULL
#endif

/* What both plugins have of an open library. */
struct onednn_library {
    void *handle; /* of dlopen; never closed: its threads outlive any use of it */
    char version_text[32];
    /* Of the OpenMP runtime that oneDNN uses; NULL if it uses none. */
    void (*omp_set_num_threads)(int count);
    int (*omp_get_max_threads)(void);
};

/* A function: its name, and where in the plugin's table its address goes. */
struct onednn_symbol {
    const char *name;
    size_t offset;
};

/* The functions that a plugin calls. */
struct onednn_symbols {
    const struct onednn_symbol *rows;
    size_t count;
    const char *hint; /* for the message if one is missing */
};

static inline void onednn_resolve_openmp(struct onednn_library *library)
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

static inline const char *onednn_runtime_name(const struct onednn_library *library,
                                              unsigned runtime)
{
    if (runtime & DNNL_RUNTIME_SYCL)
        return NULL;
    if (runtime & DNNL_RUNTIME_OMP)
        return dlsym(library->handle, "GOMP_parallel") ? "gomp" : "omp";
    if (runtime & DNNL_RUNTIME_TBB)
        return "tbb";
    return runtime & DNNL_RUNTIME_SEQ ? "seq" : NULL;
}

static inline collage_status onednn_check_version(struct onednn_library *library,
                                                  const dnnl_version_t *version, const char *file,
                                                  collage_message *message)
{
    if (version->major != 3)
        return fail(message, COLLAGE_ERROR_BACKEND, "%s is oneDNN %d.%d: version 3 is needed", file,
                    version->major, version->minor);
    const char *runtime = onednn_runtime_name(library, version->cpu_runtime);
    if (!runtime)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%s runs on SYCL or an external thread pool: install a build for OpenMP "
                    "(onednn-cpu-gomp)",
                    file);
    snprintf(library->version_text, sizeof library->version_text, "%d.%d.%d %s", version->major,
             version->minor, version->patch, runtime);
    if (version->cpu_runtime & DNNL_RUNTIME_OMP)
        onednn_resolve_openmp(library);
    return COLLAGE_OK;
}

/*
 * Loads $COLLAGE_ONEDNN_LIBRARY, else the one in a bundle or that the build found, else the
 * system's, and writes the functions' addresses into `table`. version: the table's dnnl_version.
 */
static inline collage_status onednn_library_load(struct onednn_library *library,
                                                 const struct onednn_symbols *symbols, void *table,
                                                 const dnnl_version_t *(**version)(void),
                                                 collage_message *message)
{
    static const struct library_place place = { "COLLAGE_ONEDNN_LIBRARY", "onednn",
                                                COLLAGE_ONEDNN_BUILT, "libdnnl.so.3" };
    char path[PATH_MAX];
    const char *file = library_path_find(&place, path);
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "oneDNN cannot be loaded (%s): set COLLAGE_ONEDNN_LIBRARY", dlerror());
    for (size_t k = 0; k < symbols->count; k++) {
        const struct onednn_symbol *symbol = &symbols->rows[k];
        if (!library_symbol(library->handle, symbol->name, (char *)table + symbol->offset))
            return fail(message, COLLAGE_ERROR_BACKEND, "%s has no %s: %s", file, symbol->name,
                        symbols->hint);
    }
    return onednn_check_version(library, (*version)(), file, message);
}

/* Makes the calling thread's parallel regions use exactly that many threads. */
static inline void onednn_use_threads(const struct onednn_library *library, int threads)
{
    if (library->omp_get_max_threads && library->omp_get_max_threads() != threads)
        library->omp_set_num_threads(threads);
}

static inline const char *onednn_status_text(dnnl_status_t status)
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

#endif
