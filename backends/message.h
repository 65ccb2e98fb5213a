/* SPDX-License-Identifier: Apache-2.0 */
/* message.h: how plugins fail with one line. */
#ifndef COLLAGE_BACKENDS_MESSAGE_H
#define COLLAGE_BACKENDS_MESSAGE_H

#include <collage/backend.h>

#include <stdarg.h>
#include <stdio.h>

/* Writes one line into message (NULL is fine) and returns status. */
__attribute__((format(printf, 3, 4))) static inline collage_status
fail(collage_message *message, collage_status status, const char *format, ...)
{
    if (message) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(message->text, sizeof message->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

#endif
