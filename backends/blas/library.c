/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include "../message.h"
#include "flavour.h"

#include <dlfcn.h>
#include <string.h>

bool library_resolve(const struct library *library, const char *name, void *where)
{
    return library_symbol(library->handle, name, where);
}

collage_status library_load(struct library *library, collage_message *message)
{
    char path[PATH_MAX];
    const char *file = library_path_find(&flavour.place, path);
    memset(library, 0, sizeof *library);
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return fail(message, COLLAGE_ERROR_BACKEND, "%s cannot be loaded (%s): %s, or set %s",
                    flavour.title, dlerror(), flavour.hint, flavour.place.variable);
    if (!library_resolve(library, "cblas_sgemm", &library->sgemm) ||
        !library_resolve(library, "cblas_sgemv", &library->sgemv))
        return fail(message, COLLAGE_ERROR_BACKEND, "%s has no CBLAS (cblas_sgemm, cblas_sgemv)",
                    file);
    library_resolve(library, "cblas_sgemm_batch", &library->sgemm_batch);
    return flavour.identify(library, file, message);
}
