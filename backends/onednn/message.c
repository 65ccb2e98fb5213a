/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

collage_status fail(collage_message *message, collage_status status, const char *format, ...)
{
    if (message) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return status;
}
