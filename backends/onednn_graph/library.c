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
    static const struct onednn_symbols symbols = {
        rows, sizeof rows / sizeof rows[0], "is it oneDNN 3.1 or newer, built with its Graph API?"
    };
    memset(library, 0, sizeof *library);
    return onednn_library_load(&library->common, &symbols, library, &library->version, message);
}
