/* SPDX-License-Identifier: Apache-2.0 */
#include "source.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct source *source, size_t count)
{
    size_t capacity = source->capacity ? source->capacity : 4096;
    if (source->failed)
        return false;
    while (capacity < source->count + count + 1)
        capacity *= 2;
    if (capacity == source->capacity)
        return true;
    char *text = realloc(source->text, capacity);
    if (!text) {
        source->failed = true;
        return false;
    }
    source->text = text;
    source->capacity = capacity;
    return true;
}

void source_add_text(struct source *source, const char *text)
{
    size_t count = strlen(text);
    if (!make_room(source, count))
        return;
    memcpy(source->text + source->count, text, count + 1);
    source->count += count;
}

void source_add(struct source *source, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (count < 0 || (size_t)count >= sizeof line)
        source->failed = true;
    else
        source_add_text(source, line);
}

void source_free(struct source *source)
{
    free(source->text);
    *source = (struct source){ 0 };
}

const char *source_float(float value, char text[SOURCE_FLOAT])
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    snprintf(text, SOURCE_FLOAT, "from_bits(0x%08lxu)", (unsigned long)bits);
    return text;
}
