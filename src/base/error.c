/* SPDX-License-Identifier: Apache-2.0 */
#define ERROR_FUNCTIONS /* the functions themselves, not what the analyzer is told of them */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

void error_clear(struct error *error)
{
    error->status = COLLAGE_OK;
    error->text[0] = '\0';
}

/* Messages are one line each: names from hostile files must not break that. length: what vsnprintf
 * said of the whole; beyond `size` it was cut. */
static void make_one_line(char *text, size_t size, int length)
{
    printable_make(text, length >= 0 && (size_t)length >= size);
}

collage_status error_set(struct error *error, collage_status status, const char *format, ...)
{
    if (!error)
        return status;
    if (error->status != COLLAGE_OK)
        return error->status;
    error->status = status;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    make_one_line(error->text, sizeof error->text, length);
    return status;
}

void error_prefix(struct error *error, const char *format, ...)
{
    if (!error || error->status == COLLAGE_OK)
        return;
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list list;
    va_start(list, format);
    int used = vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
    if (used < 0 || (size_t)used >= sizeof error->text - 2) {
        memcpy(error->text, old, sizeof old);
        return;
    }
    int left = (int)sizeof error->text - used;
    int added = snprintf(error->text + used, (size_t)left, ": %s", old);
    make_one_line(error->text, sizeof error->text, added < 0 ? used : used + added);
}

collage_status error_memory(struct error *error)
{
    return error_set(error, COLLAGE_ERROR_MEMORY, "out of memory");
}

collage_status error_system(struct error *error, const char *verb, const char *path)
{
    const int reason = errno;
    return reason == ENOMEM ? error_memory(error)
                            : error_set(error, COLLAGE_ERROR_IO, "cannot %s '%.300s': %s", verb,
                                        path, strerror(reason));
}

collage_status error_from_message(struct error *error, collage_status status, const char *backend,
                                  const collage_message *message)
{
    return error_set(error, status, "backend %s: %s", backend,
                     message->text[0] ? message->text : collage_status_text(status));
}

collage_status message_set(collage_message *message, collage_status status, const char *format, ...)
{
    if (!message)
        return status;
    va_list list;
    va_start(list, format);
    int length = vsnprintf(message->text, sizeof message->text, format, list);
    va_end(list);
    make_one_line(message->text, sizeof message->text, length);
    return status;
}
