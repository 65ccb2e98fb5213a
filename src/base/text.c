/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/printable.h"

static bool reserve(struct text *text, size_t more)
{
    if (text->failed || more > SIZE_MAX / 4 || text->count > SIZE_MAX / 4) {
        text->failed = true;
        return false;
    }
    size_t need = text->count + more + 1;
    if (need <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 256;
    while (capacity < need)
        capacity *= 2;
    char *moved = memory_resize(text->bytes, text->capacity, capacity);
    if (!moved) {
        text->failed = true;
        return false;
    }
    text->bytes = moved;
    text->capacity = capacity;
    return true;
}

void text_append(struct text *text, const char *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    text->bytes[text->count] = '\0';
}

void text_string(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_format(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    va_list again;
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    va_end(list);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->bytes + text->count, (size_t)length + 1, format, again);
        text->count += (size_t)length;
    }
    va_end(again);
}

void text_printable(struct text *text, const char *string, size_t width)
{
    const unsigned char *at = (const unsigned char *)string;
    size_t shown = 0;
    for (; *at && (width == 0 || shown < width); shown++) {
        const unsigned char *begin = at;
        if (printable_take_shown(&at) == '?')
            text_append(text, "?", 1);
        else
            text_append(text, (const char *)begin, (size_t)(at - begin));
    }
    for (; shown < width; shown++)
        text_append(text, " ", 1);
}

void text_free(struct text *text)
{
    memory_free(text->bytes);
    *text = (struct text){ 0 };
}

bool text_write(const struct text *text, collage_write_fn write, void *user)
{
    return !text->failed && (text->count == 0 || write(user, text->bytes, text->count));
}
