/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include <stddef.h>
#include <string.h>

static const struct onednn_symbol rows[] = {
#define ROW(name) { "dnnl_" #name, offsetof(struct library, name) },
    LIBRARY_FUNCTIONS(ROW)
#undef ROW
};

collage_status library_load(struct library *library, collage_message *message)
{
    static const struct onednn_symbols symbols = { rows, sizeof rows / sizeof rows[0],
                                                   "is it oneDNN 3?" };
    memset(library, 0, sizeof *library);
    return onednn_library_load(&library->common, &symbols, library, &library->version, message);
}

void library_use_threads(const struct library *library, int threads)
{
    onednn_use_threads(&library->common, threads);
}

const char *library_status_text(dnnl_status_t status)
{
    return onednn_status_text(status);
}
