/* SPDX-License-Identifier: Apache-2.0 */
/* graph_lexer.h: the words of the text form of a graph. Errors name line and column. */
#ifndef COLLAGE_GRAPH_GRAPH_LEXER_H
#define COLLAGE_GRAPH_GRAPH_LEXER_H

#include "base/error.h"
#include "base/memory.h"

struct lexer {
    const char *start, *at;
    struct arena *arena; /* of the words that are handed out */
    struct error *error;
};

/* All return false after setting the error. White space and "//" comments are skipped before. */
bool lexer_fail(struct lexer *lexer, const char *what);     /* "line L, column C: expected WHAT" */
bool lexer_peek(struct lexer *lexer, const char *symbol);   /* no error: is it next? */
bool lexer_accept(struct lexer *lexer, const char *symbol); /* no error: takes it if it is next */
bool lexer_expect(struct lexer *lexer, const char *symbol);
bool lexer_word(struct lexer *lexer, const char **word);     /* [A-Za-z_][A-Za-z0-9_]* */
bool lexer_string(struct lexer *lexer, const char **string); /* "quoted" */
bool lexer_name(struct lexer *lexer, const char **name);     /* %plain or %"quoted" */
bool lexer_int(struct lexer *lexer, int64_t *value);
bool lexer_real(struct lexer *lexer, double *value); /* also integers, nan, inf, -inf */
bool lexer_is_real(struct lexer *lexer); /* no error: is the number that follows no integer? */

#endif
