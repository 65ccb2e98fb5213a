/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h: what an entry of a pattern file means in a graph, as text: "0,1 2,3". */
#ifndef COLLAGE_TESTS_PATTERN_SETS_H
#define COLLAGE_TESTS_PATTERN_SETS_H

#include "unit/pattern/fixture.h"

#include "base/text.h"
#include "pattern/pattern_file.h"

/* What most entries are tried on. */
static const char features[] =
    "graph \"features\" {\n"
    "  input %x: float32[1x4x6x6]\n"
    "  input %z: float32[1x4x6x6]\n"
    "  const %w: float32[4x4x3x3] = #0123456789abcdef0123456789abcdef\n"
    "  const %b: float32[4] = {1, 2, 3, 4}\n"
    "  const %k: float32[] = {0.125}\n"
    "  %c0: float32[1x4x6x6] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}\n"                     /* 0 */
    "  %s0: float32[1x4x6x6] = Sigmoid(%c0)\n"                                             /* 1 */
    "  %m0: float32[1x4x6x6] = Mul(%s0, %c0)\n"                                            /* 2 */
    "  %c1: float32[1x4x6x6] = Conv(%m0, %w) {pads=[1, 1, 1, 1], group=1}\n"               /* 3 */
    "  %a: float32[1x4x6x6] = Add(%x, %c1)\n"                                              /* 4 */
    "  %r: float32[1x4x6x6] = Relu(%a)\n"                                                  /* 5 */
    "  %q: float32[1x4x6x6] = Mul(%r, %k)\n"                                               /* 6 */
    "  %e: float32[1x4x6x6] = Sub(%q, %z)\n"                                               /* 7 */
    "  %f: float32[1x4x6x6] = Sub(%z, %q)\n"                                               /* 8 */
    "  %h0: float32[1x2x6x6], %h1: float32[1x2x6x6] = Split(%e) {axis=1, num_outputs=2}\n" /* 9 */
    "  %g: float32[1x2x6x6] = Mul(%h0, %h1)\n"                                             /* 10 */
    "  %cat: float32[1x12x6x6] = Concat(%f, %r, %x) {axis=1}\n"                            /* 11 */
    "  %t: float32[1x2x6x6] = LeakyRelu(%g)\n"                                             /* 12 */
    "  %u: float32[1x2x6x6] = Clip(%t, _, %k)\n"                                           /* 13 */
    "  output %cat\n"
    "  output %u\n"
    "}\n";

static inline bool record_set(void *user, const node_id *nodes, uint32_t count)
{
    struct text *text = user;
    for (uint32_t k = 0; k < count; k++)
        text_format(text, "%s%u", k ? "," : text->count ? " " : "", nodes[k]);
    return true;
}

/* Entries for the backend "chains". */
static inline struct pattern_file *parse_entries(const char *entries)
{
    struct text text = { 0 };
    struct pattern_file *file;
    struct error error = { 0 };
    text_format(&text, "collage_patterns 1\nbackend chains\n%s", entries);
    assert_false(text.failed);
    if (pattern_file_parse("test", text.bytes, text.count, &file, &error) != COLLAGE_OK)
        fail_msg("%s\n%s", error.text, entries);
    text_free(&text);
    return file;
}

/* Appends to text; *cut_off as pattern_entry_match says. */
static inline void list_sets(const struct pattern_entry *entry, const struct graph *graph,
                             struct text *text, bool *cut_off)
{
    struct graph_uses uses;
    struct error error = { 0 };
    assert_int_equal(graph_uses_build(graph, &uses, NULL), COLLAGE_OK);
    if (pattern_entry_match(entry, graph, &uses, record_set, text, cut_off, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_false(text->failed);
    graph_uses_free(&uses);
}

static inline void expect_sets(const struct graph *graph, const char *entry, const char *wanted)
{
    struct pattern_file *file = parse_entries(entry);
    struct text text = { 0 };
    bool cut_off;
    list_sets(&file->entries[0], graph, &text, &cut_off);
    assert_false(cut_off);
    if (strcmp(text.bytes ? text.bytes : "", wanted) != 0)
        fail_msg("%s\n  means %s\n  not %s", entry, text.bytes ? text.bytes : "nothing", wanted);
    text_free(&text);
    pattern_file_destroy(file);
}

#endif
