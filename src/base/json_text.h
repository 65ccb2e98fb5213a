/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h: JSON that people and programs get. All strings that come from files, libraries and
 * other machines become JSON by json_text, all JSON that is shown becomes text by json_put.
 */
#ifndef COLLAGE_BASE_JSON_TEXT_H
#define COLLAGE_BASE_JSON_TEXT_H

#include <jansson.h>

#include "base/text.h"

/* The text as a string; each byte that is no UTF-8 becomes U+FFFD. NULL is "". NULL if out of
 * memory. */
json_t *json_text(const char *text);

/* Appends the value (NULL: fails), as json_dumps prints it, and a line end. In strings all that a
 * terminal must not be shown (printable.h: also DEL, U+0080 to U+009F, what turns the reading
 * direction) is escaped, so it is there for programs and harmless on a screen. False if out of
 * memory. */
bool json_put(const json_t *json, size_t flags, struct text *out);

#endif
