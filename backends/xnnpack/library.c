/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include "../library_path.h"
#include "../message.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#ifndef COLLAGE_XNNPACK_BUILT
#define COLLAGE_XNNPACK_BUILT NULL
#endif

static const struct library_place place = { "COLLAGE_XNNPACK_LIBRARY", "xnnpack",
                                            COLLAGE_XNNPACK_BUILT, "libXNNPACK.so.0" };

static const struct symbol {
    const char *name;
    size_t offset;
} symbols[] = {
#define ROW(name) { #name, offsetof(struct library, name) },
    LIBRARY_FUNCTIONS(ROW)
#undef ROW
#define ROWS(name)                                                                                 \
    { "xnn_create_" #name "_nc_f32", offsetof(struct library, create_##name) },                    \
        { "xnn_setup_" #name "_nc_f32", offsetof(struct library, setup_##name) },
        LIBRARY_UNARY(ROWS)
#undef ROWS
#define ROWS(name)                                                                                 \
    { "xnn_create_" #name "_nd_f32", offsetof(struct library, create_##name) },                    \
        { "xnn_setup_" #name "_nd_f32", offsetof(struct library, setup_##name) },
            LIBRARY_BINARY(ROWS)
#undef ROWS
#define ROWS(name)                                                                                 \
    { "xnn_create_" #name "_nhwc_f32", offsetof(struct library, create_##name) },                  \
        { "xnn_setup_" #name "_nhwc_f32", offsetof(struct library, setup_##name) },
                LIBRARY_WINDOW(ROWS)
#undef ROWS
};

static collage_status resolve_all(struct library *library, const char *file,
                                  collage_message *message)
{
    if (dlsym(library->handle, "xnn_reshape_convolution2d_nhwc_f32"))
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%s is too new: this plugin speaks XNNPACK's interface of 2022 (Debian's "
                    "libxnnpack0)",
                    file);
    for (size_t k = 0; k < sizeof symbols / sizeof symbols[0]; k++) {
        if (!library_symbol(library->handle, symbols[k].name, (char *)library + symbols[k].offset))
            return fail(message, COLLAGE_ERROR_BACKEND, "%s has no %s: it is too old", file,
                        symbols[k].name);
    }
    return COLLAGE_OK;
}

static collage_status load_threads(struct library *library, collage_message *message)
{
    library->threads = dlopen("libpthreadpool.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library->threads)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "XNNPACK's pool of threads cannot be loaded (%s): install libpthreadpool0",
                    dlerror());
    if (!library_symbol(library->threads, "pthreadpool_create", &library->pool_create) ||
        !library_symbol(library->threads, "pthreadpool_destroy", &library->pool_destroy))
        return fail(message, COLLAGE_ERROR_BACKEND, "libpthreadpool.so.0 makes no pools");
    return COLLAGE_OK;
}

/* ---- the version: XNNPACK has none, so it is the linker's mark of the file ---- */

enum { MARK_BYTES = 8 };

struct mark {
    uintptr_t address; /* something of the library */
    unsigned char bytes[MARK_BYTES];
    bool found;
};

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[k];
        uintptr_t begin = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && address >= begin && address - begin < header->p_memsz)
            return true;
    }
    return false;
}

static void read_notes(struct mark *mark, const unsigned char *at, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) / 4 * 4;
        size_t text = ((size_t)note.n_descsz + 3) / 4 * 4;
        if (name > bytes - sizeof note || text > bytes - sizeof note - name)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof "GNU" &&
            memcmp(at + sizeof note, "GNU", sizeof "GNU") == 0 && note.n_descsz >= MARK_BYTES) {
            memcpy(mark->bytes, at + sizeof note + name, MARK_BYTES);
            mark->found = true;
            return;
        }
        at += sizeof note + name + text;
        bytes -= sizeof note + name + text;
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct mark *mark = context;
    (void)size;
    if (!contains(info, mark->address))
        return 0;
    for (size_t k = 0; k < info->dlpi_phnum && !mark->found; k++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[k];
        /* The headers give an address as a number. */
        const void *notes =
            (const void *)(info->dlpi_addr + header->p_vaddr); // NOLINT(performance-no-int-to-ptr)
        if (header->p_type == PT_NOTE)
            read_notes(mark, notes, header->p_memsz);
    }
    return 1;
}

static void describe(struct library *library)
{
    struct mark mark = { .found = false };
    memcpy(&mark.address, &library->xnn_initialize, sizeof mark.address);
    dl_iterate_phdr(visit, &mark);
    int length = snprintf(library->version_text, sizeof library->version_text, "2022");
    for (int k = 0; mark.found && k < MARK_BYTES / 2; k++)
        length +=
            snprintf(library->version_text + length, sizeof library->version_text - (size_t)length,
                     k ? "%02x" : " %02x", mark.bytes[k]);
}

collage_status library_load(struct library *library, collage_message *message)
{
    char path[PATH_MAX];
    const char *file = library_path_find(&place, path);
    memset(library, 0, sizeof *library);
    library->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "XNNPACK cannot be loaded (%s): install Debian's libxnnpack0, or set "
                    "COLLAGE_XNNPACK_LIBRARY",
                    dlerror());
    collage_status status = resolve_all(library, file, message);
    if (status == COLLAGE_OK)
        status = load_threads(library, message);
    if (status != COLLAGE_OK)
        return status;
    enum xnn_status result = library->xnn_initialize(NULL); /* again and again is fine */
    if (result != xnn_status_success)
        return fail(message, COLLAGE_ERROR_BACKEND, "XNNPACK does not run here: %s",
                    library_status_text(result));
    describe(library);
    return COLLAGE_OK;
}

const char *library_status_text(enum xnn_status status)
{
    switch (status) {
    case xnn_status_success:
        return "success";
    case xnn_status_uninitialized:
        return "it is not initialised";
    case xnn_status_invalid_parameter:
    case xnn_status_invalid_state:
        return "invalid parameters";
    case xnn_status_unsupported_parameter:
        return "unsupported parameters";
    case xnn_status_unsupported_hardware:
        return "unsupported hardware";
    case xnn_status_out_of_memory:
        return "out of memory";
    }
    return "a failure inside the library";
}
