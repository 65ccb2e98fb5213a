/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h: what an entry of a pattern file means in a graph, as text: "0,1 2,3". */
#ifndef COLLAGE_TESTS_PATTERN_SETS_H
#define COLLAGE_TESTS_PATTERN_SETS_H

#include "unit/pattern/fixture.h"

#include "base/text.h"
#include "pattern/pattern_file.h"

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
