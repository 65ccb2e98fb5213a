/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static collage_status write_all(int file, const char *bytes, size_t count, collage_message *message)
{
    for (size_t done = 0; done < count;) {
        ssize_t n = write(file, bytes + done, count - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(message, COLLAGE_ERROR_MEMORY, "generated code cannot be put in memory: %s",
                        strerror(errno));
        done += (size_t)n;
    }
    return COLLAGE_OK;
}

/* From memory, not from the file: what the host has checked is what runs. The linker knows
 * libraries by their paths, and the descriptor is this one's as long as it is open. */
collage_status code_open(const void *bytes, size_t count, struct code *out, void **function,
                         collage_message *message)
{
    char path[64];
    *function = NULL;
    struct code code = { .file = memfd_create("collage_kernel", MFD_CLOEXEC) };
    if (code.file < 0)
        return fail(message, COLLAGE_ERROR_MEMORY, "generated code cannot be put in memory: %s",
                    strerror(errno));
    collage_status status = write_all(code.file, bytes, count, message);
    snprintf(path, sizeof path, "/proc/self/fd/%d", code.file);
    if (status == COLLAGE_OK) {
        code.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        *function = code.library ? dlsym(code.library, "collage_kernel") : NULL;
        if (!*function) {
            const char *why = dlerror();
            status = fail(message, COLLAGE_ERROR_BACKEND, "generated code cannot be loaded: %s",
                          why ? why : "it has no kernel");
        }
    }
    if (status == COLLAGE_OK) {
        *out = code;
        return status;
    }
    if (code.library)
        dlclose(code.library);
    close(code.file);
    return status;
}

collage_status code_load(const collage_backend *backend, const struct source *source,
                         const char *const *options, struct code *out, void **function,
                         collage_message *message)
{
    const collage_host *host = backend->host;
    void *bytes = NULL;
    size_t count = 0;
    *function = NULL;
    if (source->failed || !source->text)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    if (host->struct_size <= offsetof(collage_host, make_code) || !host->make_code)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "this host has no code made");
    collage_status status =
        host->make_code(host->context, source->text, options, &bytes, &count, message);
    if (status != COLLAGE_OK)
        return status;
    status = code_open(bytes, count, out, function, message);
    host->release(host->context, bytes);
    return status;
}

void code_unload(struct code *code)
{
    if (!code->library)
        return;
    dlclose(code->library);
    close(code->file);
    *code = (struct code){ 0 };
}
