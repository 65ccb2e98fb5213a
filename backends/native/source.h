/* SPDX-License-Identifier: Apache-2.0 */
/* source.h: a growing C source. Out of memory sets `failed`, which is checked once at the end. */
#ifndef NATIVE_SOURCE_H
#define NATIVE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct source {
    char *text; /* terminated; NULL before anything was added */
    size_t count, capacity;
    bool failed;
};

void source_add(struct source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As it is, however long. */
void source_add_text(struct source *source, const char *text);
void source_free(struct source *source);

/* The float as an expression that is exactly this value, NaN and infinities too. */
enum { SOURCE_FLOAT = 40 };
const char *source_float(float value, char text[SOURCE_FLOAT]);

#endif
