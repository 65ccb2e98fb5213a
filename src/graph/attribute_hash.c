/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/attribute_hash.h"

#include <stdlib.h>
#include <string.h>

#include "graph/subgraph.h"

static bool hash_body(struct hash_state *state, const collage_subgraph *body)
{
    struct hash hash = body ? subgraph_hash(body) : (struct hash){ 0 };
    hash_bytes(state, &hash, sizeof hash);
    return !body || !hash_equal(hash, (struct hash){ 0 });
}

/* False if out of memory. */
static bool hash_attribute(struct hash_state *state, const collage_attribute *a)
{
    hash_string(state, a->name);
    hash_u64(state, (uint64_t)a->kind);
    hash_u64(state, a->count);
    switch (a->kind) {
    case COLLAGE_ATTRIBUTE_INT:
        hash_bytes(state, &a->i, sizeof a->i);
        break;
    case COLLAGE_ATTRIBUTE_FLOAT:
        hash_bytes(state, &a->f, sizeof a->f);
        break;
    case COLLAGE_ATTRIBUTE_STRING:
        hash_bytes(state, a->s, a->count);
        break;
    case COLLAGE_ATTRIBUTE_INTS:
        hash_bytes(state, a->ints, a->count * sizeof *a->ints);
        break;
    case COLLAGE_ATTRIBUTE_FLOATS:
        hash_bytes(state, a->floats, a->count * sizeof *a->floats);
        break;
    case COLLAGE_ATTRIBUTE_GRAPH:
        return hash_body(state, a->graph);
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const collage_attribute *const *x = a;
    const collage_attribute *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

bool attribute_hash_all(struct hash_state *state, const collage_node *node)
{
    const collage_attribute **sorted = memory_alloc(node->attribute_count * sizeof(void *));
    if (!sorted)
        return false;
    for (uint32_t k = 0; k < node->attribute_count; k++)
        sorted[k] = &node->attributes[k];
    qsort(sorted, node->attribute_count, sizeof *sorted, compare_names);
    hash_u64(state, node->attribute_count);
    bool done = true;
    for (uint32_t k = 0; k < node->attribute_count; k++)
        done = hash_attribute(state, sorted[k]) && done;
    memory_free(sorted);
    return done;
}

/* By their hashes; of what cannot be hashed for want of memory nothing is equal. */
static bool equal_bodies(const collage_subgraph *a, const collage_subgraph *b)
{
    if (!a || !b)
        return a == b;
    struct hash x = subgraph_hash(a), y = subgraph_hash(b);
    return hash_equal(x, y) && !hash_equal(x, (struct hash){ 0 });
}

/* Floats are compared as bytes: equal NaNs are equal, and 0 is not -0. */
static bool equal_contents(const collage_attribute *a, const collage_attribute *b)
{
    switch (a->kind) {
    case COLLAGE_ATTRIBUTE_INT:
        return a->i == b->i;
    case COLLAGE_ATTRIBUTE_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0;
    case COLLAGE_ATTRIBUTE_STRING:
        return a->count == b->count && memcmp(a->s, b->s, a->count) == 0;
    case COLLAGE_ATTRIBUTE_INTS:
        return a->count == b->count && memcmp(a->ints, b->ints, a->count * sizeof *a->ints) == 0;
    case COLLAGE_ATTRIBUTE_FLOATS:
        return a->count == b->count &&
               memcmp(a->floats, b->floats, a->count * sizeof *a->floats) == 0;
    case COLLAGE_ATTRIBUTE_GRAPH:
        return equal_bodies(a->graph, b->graph);
    }
    return false;
}

bool attribute_all_equal(const collage_node *a, const collage_node *b)
{
    if (a->attribute_count != b->attribute_count)
        return false;
    for (uint32_t k = 0; k < a->attribute_count; k++) {
        const collage_attribute *x = &a->attributes[k];
        const collage_attribute *y = collage_node_attribute(b, x->name, x->kind);
        if (!y || !equal_contents(x, y))
            return false;
    }
    return true;
}
