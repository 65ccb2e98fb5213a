/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/scanner.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 63, LONGEST_NUMBER = 63, LONGEST_STRING = 4095, SHOWN = 24 };

/* Longer ones before their beginnings. */
static const char *const symbols[] = { "...", "->", "==", "!=", "<=", ">=", "&&", "||", "{",
                                       "}",   "(",  ")",  "[",  "]",  ",",  "=",  "|",  "?",
                                       "<",   ">",  "+",  "-",  "*",  "/",  "%",  "!" };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(struct scanner *scanner)
{
    while (scanner->at < scanner->end) {
        char c = *scanner->at;
        if (c == '#') {
            while (scanner->at < scanner->end && *scanner->at != '\n')
                scanner->at++;
        } else if (c == '\n') {
            scanner->line++;
            scanner->line_start = ++scanner->at;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            scanner->at++;
        } else {
            return;
        }
    }
}

static size_t word_length(const struct scanner *scanner)
{
    const char *at = scanner->at;
    while (at < scanner->end && (is_letter(*at) || is_digit(*at)))
        at++;
    return (size_t)(at - scanner->at);
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at))
        at++;
    return at;
}

/* Digits, a fraction, an exponent. */
static size_t number_length(const struct scanner *scanner)
{
    const char *end = scanner->end;
    const char *at = skip_digits(scanner->at, end);
    if (at + 1 < end && *at == '.' && is_digit(at[1]))
        at = skip_digits(at + 1, end);
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *digits = at + 1;
        if (digits < end && (*digits == '-' || *digits == '+'))
            digits++;
        if (digits < end && is_digit(*digits))
            at = skip_digits(digits, end);
    }
    return (size_t)(at - scanner->at);
}

/* With both quotes; 0 if the second is missing. */
static size_t string_length(const struct scanner *scanner)
{
    for (const char *at = scanner->at + 1; at < scanner->end && *at != '\n' && *at != '\0'; at++)
        if (*at == '"')
            return (size_t)(at - scanner->at) + 1;
    return 0;
}

static size_t symbol_length(const struct scanner *scanner)
{
    size_t left = (size_t)(scanner->end - scanner->at);
    for (size_t k = 0; k < sizeof symbols / sizeof symbols[0]; k++) {
        size_t length = strlen(symbols[k]);
        if (length <= left && memcmp(scanner->at, symbols[k], length) == 0)
            return length;
    }
    return 0;
}

void scanner_next(struct scanner *scanner)
{
    skip_space(scanner);
    struct token *token = &scanner->token;
    *token = (struct token){ .kind = TOKEN_END,
                             .start = scanner->at,
                             .line = scanner->line,
                             .column = (uint32_t)(scanner->at - scanner->line_start) + 1 };
    if (scanner->at == scanner->end)
        return;
    char c = *scanner->at;
    if (is_letter(c)) {
        token->kind = TOKEN_WORD;
        token->length = word_length(scanner);
    } else if (is_digit(c)) {
        token->kind = TOKEN_NUMBER;
        token->length = number_length(scanner);
    } else if (c == '"') {
        token->kind = TOKEN_STRING;
        token->length = string_length(scanner);
    } else {
        token->kind = TOKEN_SYMBOL;
        token->length = symbol_length(scanner);
    }
    if (token->length == 0) {
        token->kind = TOKEN_BAD;
        token->length = 1;
    }
    scanner->at += token->length;
}

void scanner_begin(struct scanner *scanner, const char *file, const char *text, size_t length,
                   struct arena *arena, struct error *error)
{
    static const char nothing[] = "";
    const char *start = text ? text : nothing;
    *scanner = (struct scanner){ .file = file,
                                 .at = start,
                                 .end = start + (text ? length : 0),
                                 .line_start = start,
                                 .line = 1,
                                 .arena = arena,
                                 .error = error };
    scanner_next(scanner);
}

bool scanner_is(const struct scanner *scanner, const char *text)
{
    const struct token *token = &scanner->token;
    return (token->kind == TOKEN_SYMBOL || token->kind == TOKEN_WORD) &&
           token->length == strlen(text) && memcmp(token->start, text, token->length) == 0;
}

bool scanner_accept(struct scanner *scanner, const char *text)
{
    if (!scanner_is(scanner, text))
        return false;
    scanner_next(scanner);
    return true;
}

bool scanner_expect(struct scanner *scanner, const char *text)
{
    if (scanner_accept(scanner, text))
        return true;
    char expected[32];
    snprintf(expected, sizeof expected, "'%s'", text);
    return scanner_fail(scanner, expected);
}

bool scanner_fail_at(struct scanner *scanner, const struct token *token, const char *format, ...)
{
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    error_set(scanner->error, COLLAGE_ERROR_FORMAT, "%.120s:%u:%u: %s", scanner->file, token->line,
              token->column, what);
    return false;
}

bool scanner_fail(struct scanner *scanner, const char *expected)
{
    const struct token *token = &scanner->token;
    if (token->kind == TOKEN_END)
        return scanner_fail_at(scanner, token, "expected %s, not the end of the file", expected);
    char shown[SHOWN + 4];
    size_t length = token->length < SHOWN ? token->length : SHOWN;
    for (size_t k = 0; k < length; k++)
        shown[k] = token->start[k] >= ' ' && token->start[k] <= '~' ? token->start[k] : '?';
    snprintf(shown + length, sizeof shown - length, "%s", length < token->length ? "..." : "");
    return scanner_fail_at(scanner, token, "expected %s, not '%s'", expected, shown);
}

bool scanner_out_of_memory(struct scanner *scanner)
{
    error_memory(scanner->error);
    return false;
}

/* Takes the token, without `cut` bytes at both of its ends. */
static bool take(struct scanner *scanner, size_t cut, const char **out)
{
    size_t length = scanner->token.length - 2 * cut;
    char *copy = arena_alloc(scanner->arena, length + 1);
    if (!copy)
        return scanner_out_of_memory(scanner);
    memcpy(copy, scanner->token.start + cut, length);
    *out = copy;
    scanner_next(scanner);
    return true;
}

bool scanner_word(struct scanner *scanner, const char *what, const char **out)
{
    if (scanner->token.kind != TOKEN_WORD)
        return scanner_fail(scanner, what);
    if (scanner->token.length > LONGEST_NAME)
        return scanner_fail_at(scanner, &scanner->token, "expected %s of at most %d characters",
                               what, LONGEST_NAME);
    return take(scanner, 0, out);
}

bool scanner_string(struct scanner *scanner, const char **out)
{
    if (scanner->token.kind != TOKEN_STRING)
        return scanner_fail(scanner, "a text in quotes");
    if (scanner->token.length > LONGEST_STRING)
        return scanner_fail_at(scanner, &scanner->token, "expected at most %d characters",
                               LONGEST_STRING);
    return take(scanner, 1, out);
}

bool scanner_integer(struct scanner *scanner, const char *what, int64_t *out)
{
    const struct token *token = &scanner->token;
    int64_t value = 0;
    if (token->kind != TOKEN_NUMBER)
        return scanner_fail(scanner, what);
    for (size_t k = 0; k < token->length; k++) {
        if (!is_digit(token->start[k]))
            return scanner_fail(scanner, what);
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, token->start[k] - '0', &value))
            return scanner_fail(scanner, "a smaller number");
    }
    *out = value;
    scanner_next(scanner);
    return true;
}

bool scanner_number(struct scanner *scanner, double *out)
{
    char digits[LONGEST_NUMBER + 1];
    bool negative = scanner_accept(scanner, "-");
    const struct token *token = &scanner->token;
    if (token->kind != TOKEN_NUMBER)
        return scanner_fail(scanner, "a number");
    if (token->length > LONGEST_NUMBER)
        return scanner_fail(scanner, "a shorter number");
    memcpy(digits, token->start, token->length);
    digits[token->length] = '\0';
    double value = strtod(digits, NULL);
    if (!isfinite(value))
        return scanner_fail(scanner, "a smaller number");
    *out = negative ? -value : value;
    scanner_next(scanner);
    return true;
}
