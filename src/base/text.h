/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h: a growing string. Appending never fails loudly: out of memory sets `failed`, which is
 * checked once at the end.
 */
#ifndef COLLAGE_BASE_TEXT_H
#define COLLAGE_BASE_TEXT_H

#include <collage/collage.h>

struct text {
    char *bytes; /* always terminated once anything was appended; NULL before */
    size_t count, capacity;
    bool failed;
};

void text_append(struct text *text, const char *bytes, size_t count);
void text_string(struct text *text, const char *string);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What a terminal may show of it (printable.h): at most `width` characters, and padded with spaces
 * to as many (0: all, as they are). */
void text_printable(struct text *text, const char *string, size_t width);
void text_free(struct text *text);
/* Hands the whole to a writer; false if it stopped or the text had failed. */
bool text_write(const struct text *text, collage_write_fn write, void *user);

#endif
