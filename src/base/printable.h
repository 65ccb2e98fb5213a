/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printable.h: text that comes from files, libraries and other machines, on its way to a terminal
 * or into a message. What would steer the terminal or deceive the reader becomes '?': control
 * characters (of ASCII, DEL, and U+0080 to U+009F), what turns the reading direction, what ends a
 * line, and bytes that are no UTF-8. All else stays. collage_printable (collage.h) copies; here is
 * the same in place, and what it is made of. Files with an escape of their own (JSON, SVG, HTML)
 * use that.
 */
#ifndef COLLAGE_BASE_PRINTABLE_H
#define COLLAGE_BASE_PRINTABLE_H

#include <collage/collage.h>

enum { PRINTABLE_NO_CHARACTER = 0xfffd };

/* The character at *at, which moves behind it; PRINTABLE_NO_CHARACTER for a byte that begins none,
 * and *at moves by that byte. Not to be called at the terminator. */
uint32_t printable_take(const unsigned char **at);
/* The same, for showing: '?' for what must not be shown. */
uint32_t printable_take_shown(const unsigned char **at);

/* Is there nothing that must not be shown? */
bool printable_is(const char *text);

/* In place: never longer than before. cut: the end of the text did not fit, so the beginning of a
 * character that is left at the end goes. */
void printable_make(char *text, bool cut);

#endif
