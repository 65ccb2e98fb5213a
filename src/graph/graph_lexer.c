/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph_lexer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void skip_space(struct lexer *lexer)
{
    for (;;) {
        while (isspace((unsigned char)*lexer->at))
            lexer->at++;
        if (lexer->at[0] != '/' || lexer->at[1] != '/')
            return;
        while (*lexer->at && *lexer->at != '\n')
            lexer->at++;
    }
}

bool lexer_fail(struct lexer *lexer, const char *what)
{
    size_t line = 1;
    const char *line_start = lexer->start;
    for (const char *at = lexer->start; at < lexer->at; at++)
        if (*at == '\n') {
            line++;
            line_start = at + 1;
        }
    error_set(lexer->error, COLLAGE_ERROR_FORMAT, "line %zu, column %zu: expected %s", line,
              (size_t)(lexer->at - line_start) + 1, what);
    return false;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool lexer_peek(struct lexer *lexer, const char *symbol)
{
    skip_space(lexer);
    size_t length = strlen(symbol);
    return strncmp(lexer->at, symbol, length) == 0 &&
           !(is_word_char(symbol[length - 1]) && is_word_char(lexer->at[length]));
}

bool lexer_accept(struct lexer *lexer, const char *symbol)
{
    if (!lexer_peek(lexer, symbol))
        return false;
    lexer->at += strlen(symbol);
    return true;
}

bool lexer_expect(struct lexer *lexer, const char *symbol)
{
    if (lexer_accept(lexer, symbol))
        return true;
    char what[32];
    snprintf(what, sizeof what, "'%s'", symbol);
    return lexer_fail(lexer, what);
}

static bool take(struct lexer *lexer, size_t length, const char **out)
{
    char *copy = arena_alloc(lexer->arena, length + 1);
    if (!copy) {
        error_memory(lexer->error);
        return false;
    }
    memcpy(copy, lexer->at, length);
    lexer->at += length;
    *out = copy;
    return true;
}

bool lexer_word(struct lexer *lexer, const char **word)
{
    skip_space(lexer);
    size_t length = 0;
    while (is_word_char(lexer->at[length]))
        length++;
    if (length == 0 || isdigit((unsigned char)lexer->at[0]))
        return lexer_fail(lexer, "a word");
    return take(lexer, length, word);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* One character of a string, escapes resolved; false at a malformed escape. */
static bool string_char(struct lexer *lexer, char *out)
{
    const char *at = lexer->at;
    size_t used = 1;
    *out = at[0];
    if (at[0] == '\\' && at[1] == 'x') {
        int high = hex_digit(at[2]);
        int low = high < 0 ? -1 : hex_digit(at[3]);
        *out = (char)(16 * high + low);
        used = 4;
        if (low < 0 || *out == '\0')
            return lexer_fail(lexer, "two hexadecimal digits, not both zero");
    } else if (at[0] == '\\') {
        *out = at[1];
        used = 2;
        if (at[1] != '"' && at[1] != '\\')
            return lexer_fail(lexer, "\\\", \\\\ or \\xHH");
    } else if (at[0] == '\0' || at[0] == '\n') {
        return lexer_fail(lexer, "'\"'");
    }
    lexer->at += used;
    return true;
}

bool lexer_string(struct lexer *lexer, const char **string)
{
    if (!lexer_expect(lexer, "\""))
        return false;
    /* Where it ends bounds its length; escapes only make it shorter. */
    size_t bound = 0;
    while (lexer->at[bound] && lexer->at[bound] != '\n' && lexer->at[bound] != '"')
        bound += lexer->at[bound] == '\\' && lexer->at[bound + 1] ? 2 : 1;
    char *copy = arena_alloc(lexer->arena, bound + 1);
    if (!copy) {
        error_memory(lexer->error);
        return false;
    }
    for (size_t length = 0; *lexer->at != '"'; length++)
        if (!string_char(lexer, &copy[length]))
            return false;
    lexer->at++;
    *string = copy;
    return true;
}

bool lexer_name(struct lexer *lexer, const char **name)
{
    if (!lexer_expect(lexer, "%"))
        return false;
    if (*lexer->at == '"') {
        if (!lexer_string(lexer, name))
            return false;
        return (*name)[0] || lexer_fail(lexer, "a name");
    }
    size_t length = 0;
    while (isalnum((unsigned char)lexer->at[length]) ||
           (lexer->at[length] && strchr("_./:-", lexer->at[length])))
        length++;
    /* "%x: float32": the last colon is no part of the name */
    while (length > 0 && lexer->at[length - 1] == ':')
        length--;
    return length ? take(lexer, length, name) : lexer_fail(lexer, "a name");
}

bool lexer_int(struct lexer *lexer, int64_t *value)
{
    skip_space(lexer);
    char *end;
    errno = 0;
    *value = strtoll(lexer->at, &end, 10);
    if (end == lexer->at || errno != 0)
        return lexer_fail(lexer, "an integer");
    lexer->at = end;
    return true;
}

bool lexer_real(struct lexer *lexer, double *value)
{
    skip_space(lexer);
    char *end;
    *value = strtod(lexer->at, &end);
    if (end == lexer->at)
        return lexer_fail(lexer, "a number");
    lexer->at = end;
    return true;
}

bool lexer_is_real(struct lexer *lexer)
{
    skip_space(lexer);
    const char *at = lexer->at + (*lexer->at == '-' || *lexer->at == '+');
    while (isdigit((unsigned char)*at))
        at++;
    return *at == '.' || *at == 'e' || *at == 'n' || *at == 'i';
}
