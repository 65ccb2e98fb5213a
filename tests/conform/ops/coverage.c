/* SPDX-License-Identifier: Apache-2.0 */
#include "coverage.h"

#include "cases/case_graph.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WORD = 64 };

static size_t place_of(const struct op *op)
{
    size_t k = 0;
    while (k < op_count() && op_at(k) != op)
        k++;
    return k;
}

void coverage_add(struct coverage *coverage, const struct op *op, bool passed)
{
    size_t place = place_of(op);
    if (place >= COVERAGE_OPERATORS)
        return;
    if (passed)
        coverage->passed[place] = true;
    else
        coverage->claimed[place] = true;
}

/* The operators of a pattern are its words. */
static void claim_pattern(struct coverage *coverage, const char *text)
{
    while (*text) {
        char word[MAX_WORD];
        size_t count = 0;
        for (; isalnum((unsigned char)*text); text++) {
            if (count + 1 < sizeof word)
                word[count++] = *text;
        }
        word[count] = '\0';
        const struct op *op = count ? op_find(word) : NULL;
        if (op)
            coverage_add(coverage, op, false);
        text += *text ? 1 : 0;
    }
}

bool coverage_check(struct coverage *coverage, const struct backend_entry *backend)
{
    bool fine = op_count() <= COVERAGE_OPERATORS;
    for (size_t k = 0; k < backend->api->pattern_count; k++)
        claim_pattern(coverage, backend->api->patterns[k].text);
    for (size_t k = 0; k < op_count() && k < COVERAGE_OPERATORS; k++) {
        if (coverage->claimed[k] && !coverage->passed[k]) {
            printf("%s claims %s, but no case has passed on it\n", backend->name, op_at(k)->name);
            fine = false;
        }
    }
    return fine;
}

/* Is there a node of the operator in the text: "= Name("? */
static bool is_in_text(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        if (at >= text + 2 && at[-2] == '=' && at[-1] == ' ' && at[length] == '(')
            return true;
    }
    return false;
}

bool coverage_check_table(void)
{
    bool fine = true;
    for (size_t k = 0; k < op_count(); k++) {
        bool found = false;
        for (size_t c = 0; c < operator_case_count && !found; c++)
            found = !operator_cases[c].large && is_in_text(operator_cases[c].text, op_at(k)->name);
        if (!found) {
            printf("no case has a node %s\n", op_at(k)->name);
            fine = false;
        }
    }
    return fine;
}
