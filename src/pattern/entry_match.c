/* SPDX-License-Identifier: Apache-2.0 */
/* What an entry of a pattern file means in a graph: whatever kind it is of, each set once. */
#include "base/hash.h"
#include "pattern/pattern_file.h"

/* Open addressing; large enough for all sets of an entry. */
enum { SEEN = 4 * PATTERN_ENTRY_SETS };

struct matching {
    pattern_set_fn found;
    void *user;
    struct hash *seen; /* {0, 0}: free */
    uint32_t count;
    bool ended, cut_off;
};

static bool is_new(struct matching *matching, const node_id *nodes, uint32_t count)
{
    struct hash hash = hash_of(nodes, count * sizeof *nodes);
    hash.low |= 1; /* not free */
    size_t slot = (size_t)(hash.high % SEEN);
    for (; matching->seen[slot].low != 0; slot = (slot + 1) % SEEN)
        if (hash_equal(matching->seen[slot], hash))
            return false;
    if (matching->count == PATTERN_ENTRY_SETS)
        return true; /* not kept: take_set ends there */
    matching->seen[slot] = hash;
    return true;
}

static bool take_set(void *user, const node_id *nodes, uint32_t count)
{
    struct matching *matching = user;
    if (matching->ended)
        return false;
    if (!is_new(matching, nodes, count))
        return true;
    if (matching->count == PATTERN_ENTRY_SETS) {
        matching->ended = matching->cut_off = true;
        return false;
    }
    matching->count++;
    matching->ended = !matching->found(matching->user, nodes, count);
    return !matching->ended;
}

collage_status pattern_entry_match(const struct pattern_entry *entry, const struct graph *graph,
                                   const struct graph_uses *uses, pattern_set_fn found, void *user,
                                   bool *cut_off, struct error *error)
{
    collage_status status = COLLAGE_OK;
    struct matching matching = { .found = found,
                                 .user = user,
                                 .seen = memory_alloc(SEEN * sizeof *matching.seen) };
    *cut_off = false;
    if (!matching.seen)
        return error_memory(error);
    if (entry->kind == ENTRY_RULE)
        status =
            rule_grow(&entry->rule, graph, uses, take_set, &matching, &matching.cut_off, error);
    for (node_id n = 0; n < graph->node_count && !matching.ended; n++) {
        if (entry->kind == ENTRY_CHAIN)
            pattern_match(entry->chain, graph, uses, n, take_set, &matching);
        for (uint32_t f = 0; f < entry->form_count && !matching.ended; f++)
            dag_match(&entry->forms[f], graph, uses, n, take_set, &matching, &matching.cut_off);
    }
    memory_free(matching.seen);
    *cut_off = matching.cut_off;
    return status;
}
