/* SPDX-License-Identifier: Apache-2.0 */
/* scanner.h: the words of a pattern file (docs/patterns.md), one ahead. Copying the struct marks a
 * place to come back to. Errors name file, line, column, and what was expected. */
#ifndef COLLAGE_PATTERN_SCANNER_H
#define COLLAGE_PATTERN_SCANNER_H

#include "base/error.h"
#include "base/memory.h"

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SYMBOL, TOKEN_BAD };

struct token {
    enum token_kind kind;
    const char *start; /* of a string: its first quote */
    size_t length;
    uint32_t line, column;
};

struct scanner {
    const char *file; /* for messages */
    const char *at, *end, *line_start;
    uint32_t line;
    struct token token; /* what is next */
    struct arena *arena;
    struct error *error;
};

/* text: not terminated; it must outlive the scanner. Strings that are handed out are the arena's.
 */
void scanner_begin(struct scanner *scanner, const char *file, const char *text, size_t length,
                   struct arena *arena, struct error *error);
void scanner_next(struct scanner *scanner);

/* All below return false after setting the error, but scanner_is and scanner_accept set none. */
bool scanner_is(const struct scanner *scanner, const char *text); /* a symbol or a word */
bool scanner_accept(struct scanner *scanner, const char *text);
bool scanner_expect(struct scanner *scanner, const char *text);
bool scanner_fail(struct scanner *scanner, const char *expected); /* "expected E, not 'TOKEN'" */
bool scanner_fail_at(struct scanner *scanner, const struct token *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool scanner_out_of_memory(struct scanner *scanner);
/* what: for the message, "a name". */
bool scanner_word(struct scanner *scanner, const char *what, const char **out);
bool scanner_string(struct scanner *scanner, const char **out);
bool scanner_integer(struct scanner *scanner, const char *what, int64_t *out); /* no sign */
bool scanner_number(struct scanner *scanner, double *out); /* a sign may come before */

#endif
