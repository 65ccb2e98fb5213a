/* SPDX-License-Identifier: Apache-2.0 */
#include <collage/collage.h>

const char *collage_status_text(collage_status status)
{
    switch (status) {
#define ROW(name, value, text)                                                                     \
    case name:                                                                                     \
        return text;
        COLLAGE_STATUS_TABLE(ROW)
#undef ROW
    }
    return "unknown status";
}
