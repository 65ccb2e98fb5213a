/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern/candidate.h"

#include <string.h>

#include "graph/subgraph.h"
#include "pattern/enumerate.h"
#include "tensor/layout.h"

/* A backend that never ends its list of variants is cut off here. */
enum { MAX_VARIANTS = 64 };

collage_status candidate_set_create(const struct graph *graph, struct registry *registry,
                                    const collage_target *target, struct candidate_set **out,
                                    struct error *error)
{
    *out = NULL;
    struct candidate_set *set = memory_alloc(sizeof *set);
    if (!set)
        return error_memory(error);
    set->graph = graph;
    set->registry = registry;
    set->target = *target;
    set->arena = arena_create();
    if (set->arena) {
        size_t cells = graph->node_count * registry->count;
        set->refusals = arena_array(set->arena, cells, sizeof *set->refusals);
        set->asked = arena_array(set->arena, cells, sizeof *set->asked);
    }
    collage_status status = set->refusals && set->asked ? graph_uses_build(graph, &set->uses, error)
                                                        : error_memory(error);
    if (status) {
        candidate_set_destroy(set);
        return status;
    }
    *out = set;
    return COLLAGE_OK;
}

void candidate_set_destroy(struct candidate_set *set)
{
    if (!set)
        return;
    graph_uses_free(&set->uses);
    memory_free(set->items);
    memory_free(set->seen);
    arena_destroy(set->arena);
    memory_free(set);
}

/* ---- the table of what was tried ---- */

static bool hash_is_empty(struct hash hash)
{
    return hash.low == 0 && hash.high == 0;
}

static struct hash *seen_slot(struct hash *table, size_t capacity, struct hash key)
{
    size_t slot = (size_t)key.low & (capacity - 1);
    while (!hash_is_empty(table[slot]) && !hash_equal(table[slot], key))
        slot = (slot + 1) & (capacity - 1);
    return &table[slot];
}

static bool seen_contains(const struct candidate_set *set, struct hash key)
{
    return set->seen_capacity && !hash_is_empty(*seen_slot(set->seen, set->seen_capacity, key));
}

static bool seen_insert(struct candidate_set *set, struct hash key)
{
    if (2 * (set->seen_count + 1) > set->seen_capacity) {
        size_t capacity = set->seen_capacity ? 2 * set->seen_capacity : 1024;
        struct hash *table = memory_alloc(capacity * sizeof *table);
        if (!table)
            return false;
        for (size_t k = 0; k < set->seen_capacity; k++)
            if (!hash_is_empty(set->seen[k]))
                *seen_slot(table, capacity, set->seen[k]) = set->seen[k];
        memory_free(set->seen);
        set->seen = table;
        set->seen_capacity = capacity;
    }
    *seen_slot(set->seen, set->seen_capacity, key) = key;
    set->seen_count++;
    return true;
}

static bool region_identity(uint32_t backend, const node_id *nodes, uint32_t count,
                            const node_id *copies, uint32_t copy_count, struct hash *out)
{
    struct hash_state *state = hash_begin();
    if (!state)
        return false;
    hash_u64(state, backend);
    hash_bytes(state, nodes, count * sizeof *nodes);
    if (copy_count) {
        hash_u64(state, GRAPH_NONE); /* no node */
        hash_bytes(state, copies, copy_count * sizeof *copies);
    }
    *out = hash_end(state);
    return true;
}

/* ---- one region on one backend ---- */

/* A region being added: what the steps below share. `scratch` lives as long as the attempt. */
struct attempt {
    struct candidate_set *set;
    const collage_backend_api *api;
    uint32_t backend;
    const char *pattern; /* in the set's arena once a variant is added */
    struct region region;
    const collage_subgraph *subgraph;
    struct arena *scratch;
    size_t added;
    struct error *error;
};

static collage_status ask(const struct candidate_set *set, uint32_t backend,
                          const collage_subgraph *subgraph, bool *supported, collage_message *why)
{
    const collage_backend_api *api = set->registry->entries[backend].api;
    why->text[0] = '\0';
    *supported = !api->supports || api->supports(subgraph, &set->target, why);
    why->text[sizeof why->text - 1] = '\0';
    return COLLAGE_OK;
}

static collage_status record_answer(struct candidate_set *set, uint32_t backend, node_id node,
                                    bool supported, const char *why, struct error *error)
{
    size_t cell = (size_t)node * set->registry->count + backend;
    set->asked[cell] = true;
    if (supported) {
        set->refusals[cell] = NULL;
        return COLLAGE_OK;
    }
    set->refusals[cell] = arena_string(set->arena, why[0] ? why : "not supported");
    return set->refusals[cell] ? COLLAGE_OK : error_memory(error);
}

collage_status candidate_set_ask_node(struct candidate_set *set, uint32_t backend, node_id node,
                                      bool *supported, struct error *error)
{
    size_t cell = (size_t)node * set->registry->count + backend;
    if (set->asked[cell]) {
        *supported = !set->refusals[cell];
        return COLLAGE_OK;
    }
    struct arena *scratch = arena_create();
    if (!scratch)
        return error_memory(error);
    struct region region;
    const collage_subgraph *subgraph;
    collage_message why;
    collage_status status = region_make(scratch, set->graph, &set->uses, &node, 1, &region, error);
    if (!status)
        status = subgraph_make(scratch, set->graph, &region, &subgraph, error);
    if (!status)
        status = ask(set, backend, subgraph, supported, &why);
    if (!status)
        status = record_answer(set, backend, node, *supported, why.text, error);
    arena_destroy(scratch);
    return status;
}

/* Op-level backends are asked about the whole region, graph-level ones node by node. */
static collage_status ask_region(struct attempt *attempt, bool *supported)
{
    const struct region *region = &attempt->region;
    if (region->node_count > 1 && attempt->api->kind == COLLAGE_OP_LEVEL) {
        collage_message why;
        return ask(attempt->set, attempt->backend, attempt->subgraph, supported, &why);
    }
    *supported = true;
    for (uint32_t k = 0; k < region->node_count && *supported; k++) {
        collage_status status = candidate_set_ask_node(attempt->set, attempt->backend,
                                                       region->nodes[k], supported, attempt->error);
        if (status)
            return status;
    }
    return COLLAGE_OK;
}

/* Makes the tag canonical ("" for row-major); false if it is malformed. */
static bool check_layouts(const struct graph *graph, const value_id *values, uint32_t count,
                          collage_layout *layouts)
{
    for (uint32_t k = 0; k < count; k++) {
        collage_layout *layout = &layouts[k];
        struct layout_form form;
        if (!memchr(layout->tag, '\0', sizeof layout->tag))
            return false;
        if (layout->tag[0] != '!' && layout->tag[0] != '\0' &&
            !layout_parse(layout, graph->values[values[k]].tensor.rank, &form))
            return false;
        if (layout_is_plain(layout))
            *layout = layout_plain();
    }
    return true;
}

static bool holds_sums(const struct attempt *attempt)
{
    for (uint32_t k = 0; k < attempt->region.node_count; k++)
        if (attempt->set->graph->nodes[attempt->region.nodes[k]].op->flags & OP_SUMS)
            return true;
    return false;
}

static bool candidate_key(const struct attempt *attempt, struct hash content,
                          const collage_variant *variant, struct hash *out)
{
    struct hash_state *state = hash_begin();
    if (!state)
        return false;
    hash_u64(state, content.low);
    hash_u64(state, content.high);
    hash_string(state, attempt->api->name);
    hash_string(state, variant->name);
    for (uint32_t k = 0; k < attempt->region.input_count; k++)
        hash_string(state, variant->inputs[k].tag);
    for (uint32_t k = 0; k < attempt->region.output_count; k++)
        hash_string(state, variant->outputs[k].tag);
    if (attempt->set->strict && holds_sums(attempt))
        hash_string(state, "strict");
    *out = hash_end(state);
    return true;
}

static struct candidate *push(struct candidate_set *set)
{
    if (set->count >= UINT32_MAX - 1 ||
        !memory_grow((void **)&set->items, &set->capacity, set->count, sizeof *set->items))
        return NULL;
    struct candidate *candidate = &set->items[set->count];
    *candidate = (struct candidate){ .cost = { .implementation = "", .reason = "" } };
    return candidate;
}

static collage_status add_variant(struct attempt *attempt, struct hash content, size_t index,
                                  const collage_variant *variant)
{
    struct candidate_set *set = attempt->set;
    struct arena *arena = set->arena;
    const struct region *region = &attempt->region;
    if (attempt->added == 0) { /* the first: what the variants share moves to the set */
        const struct region made = *region;
        attempt->pattern = arena_string(arena, attempt->pattern);
        collage_status status =
            region_make_copying(arena, set->graph, &set->uses, made.nodes, made.node_count,
                                made.copies, made.copy_count, &attempt->region, attempt->error);
        if (status)
            return status;
    }
    struct candidate *candidate = push(set);
    if (!candidate)
        return error_memory(attempt->error);
    candidate->backend = attempt->backend;
    candidate->region = *region;
    candidate->variant = arena_string(arena, variant->name);
    candidate->variant_index = (uint32_t)index;
    candidate->code = (variant->flags & COLLAGE_VARIANT_CODE) != 0;
    candidate->input_layouts =
        arena_copy(arena, variant->inputs, region->input_count * sizeof *variant->inputs);
    candidate->output_layouts =
        arena_copy(arena, variant->outputs, region->output_count * sizeof *variant->outputs);
    candidate->pattern = attempt->pattern;
    if (!candidate->variant || !candidate->input_layouts || !candidate->output_layouts ||
        !candidate->pattern || !candidate_key(attempt, content, variant, &candidate->key))
        return error_memory(attempt->error);
    set->count++;
    attempt->added++;
    return COLLAGE_OK;
}

static collage_status add_variants(struct attempt *attempt)
{
    const collage_backend_api *api = attempt->api;
    const struct region *region = &attempt->region;
    const struct graph *graph = attempt->set->graph;
    size_t inputs = region->input_count, outputs = region->output_count;
    collage_variant variant = { .struct_size = sizeof variant };
    variant.inputs = arena_array(attempt->scratch, inputs, sizeof(collage_layout));
    variant.outputs = arena_array(attempt->scratch, outputs, sizeof(collage_layout));
    if (!variant.inputs || !variant.outputs)
        return error_memory(attempt->error);
    struct hash content = subgraph_hash(attempt->subgraph);
    if (hash_is_empty(content)) /* what it gives out of memory; all kernels would share a cost */
        return error_memory(attempt->error);
    for (size_t index = 0; index < (api->variant ? MAX_VARIANTS : 1); index++) {
        memset(variant.name, 0, sizeof variant.name);
        variant.flags = 0;
        memset(variant.inputs, 0, inputs * sizeof(collage_layout));
        memset(variant.outputs, 0, outputs * sizeof(collage_layout));
        if (api->variant &&
            !api->variant(attempt->subgraph, &attempt->set->target, index, &variant))
            return COLLAGE_OK;
        if (!memchr(variant.name, '\0', sizeof variant.name) ||
            !check_layouts(graph, region->inputs, region->input_count, variant.inputs) ||
            !check_layouts(graph, region->outputs, region->output_count, variant.outputs))
            continue; /* malformed: not usable */
        if (attempt->set->strict && (variant.flags & COLLAGE_VARIANT_INDIRECT))
            continue;
        collage_status status = add_variant(attempt, content, index, &variant);
        if (status)
            return status;
    }
    return COLLAGE_OK;
}

/* Plans tell copies by what leaves a region: one that nobody else needs would be none there. */
static collage_status check_copies(struct attempt *attempt, bool *told)
{
    const struct region *region = &attempt->region;
    struct region made;
    *told = true;
    if (region->copy_count == 0)
        return COLLAGE_OK;
    collage_status status = region_make_giving(
        attempt->scratch, attempt->set->graph, &attempt->set->uses, region->nodes,
        region->node_count, region->outputs, region->output_count, &made, attempt->error);
    *told = !status && made.copy_count == region->copy_count &&
            memcmp(made.copies, region->copies, made.copy_count * sizeof *made.copies) == 0;
    for (uint32_t k = 0; k < region->copy_count; k++)
        *told = *told &&
                region_uses(region, attempt->set->graph, &attempt->set->uses, region->copies[k]);
    return status;
}

static collage_status add_region(struct attempt *attempt, const node_id *nodes, uint32_t count,
                                 const node_id *copies, uint32_t copy_count)
{
    struct candidate_set *set = attempt->set;
    collage_status status =
        region_make_copying(attempt->scratch, set->graph, &set->uses, nodes, count, copies,
                            copy_count, &attempt->region, attempt->error);
    bool told = false;
    if (!status)
        status = check_copies(attempt, &told);
    if (status || !told || !region_is_convex(set->graph, &set->uses, &attempt->region))
        return status;
    status = subgraph_make(attempt->scratch, set->graph, &attempt->region, &attempt->subgraph,
                           attempt->error);
    bool supported = false;
    if (!status)
        status = ask_region(attempt, &supported);
    if (!status && supported)
        status = add_variants(attempt);
    return status;
}

static collage_status check_request(const struct candidate_set *set, uint32_t backend,
                                    const node_id *nodes, uint32_t count, const node_id *copies,
                                    uint32_t copy_count, struct error *error)
{
    if (backend >= set->registry->count || !set->registry->entries[backend].api)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "backend %u cannot be used", backend);
    for (uint32_t k = 0; k < count; k++)
        if (nodes[k] >= set->graph->node_count || (k > 0 && nodes[k] <= nodes[k - 1]))
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "the nodes of a region must be ascending and in the graph");
    for (uint32_t k = 0; k < copy_count; k++)
        if (!node_list_has(nodes, count, copies[k]) || (k > 0 && copies[k] <= copies[k - 1]))
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "the copies of a region must be ascending and among its nodes");
    if (count == copy_count)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "a region needs a node of its own");
    return COLLAGE_OK;
}

bool candidate_node_is_view(const struct graph *graph, node_id node)
{
    const collage_node *base = &graph->nodes[node].base;
    if (!(graph->nodes[node].op->flags & OP_VIEW) || base->input_count == 0 ||
        base->output_count != 1 || base->inputs[0] == GRAPH_NONE ||
        graph_is_constant(graph, base->inputs[0]))
        return false;
    for (uint32_t k = 1; k < base->input_count; k++)
        if (base->inputs[k] != GRAPH_NONE && !graph_is_constant(graph, base->inputs[k]))
            return false;
    return true;
}

static bool only_views(const struct graph *graph, const node_id *nodes, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!candidate_node_is_view(graph, nodes[k]))
            return false;
    return true;
}

collage_status candidate_set_add(struct candidate_set *set, uint32_t backend, const node_id *nodes,
                                 uint32_t count, const char *pattern, size_t *added,
                                 struct error *error)
{
    return candidate_set_add_copying(set, backend, nodes, count, NULL, 0, pattern, added, error);
}

collage_status candidate_set_add_copying(struct candidate_set *set, uint32_t backend,
                                         const node_id *nodes, uint32_t count,
                                         const node_id *copies, uint32_t copy_count,
                                         const char *pattern, size_t *added, struct error *error)
{
    if (added)
        *added = 0;
    collage_status status = check_request(set, backend, nodes, count, copies, copy_count, error);
    if (status || only_views(set->graph, nodes, count))
        return status;
    struct hash identity;
    if (!region_identity(backend, nodes, count, copies, copy_count, &identity))
        return error_memory(error);
    if (seen_contains(set, identity))
        return COLLAGE_OK;
    struct attempt attempt = { .set = set,
                               .api = set->registry->entries[backend].api,
                               .backend = backend,
                               .pattern = pattern,
                               .scratch = arena_create(),
                               .error = error };
    status = attempt.scratch ? add_region(&attempt, nodes, count, copies, copy_count)
                             : error_memory(error);
    arena_destroy(attempt.scratch);
    if (!status && !seen_insert(set, identity))
        status = error_memory(error);
    if (added)
        *added = attempt.added;
    return status;
}

static collage_status add_view(struct candidate_set *set, node_id node,
                               const collage_layout *layout, bool part, struct error *error)
{
    struct region region;
    collage_status status =
        region_make(set->arena, set->graph, &set->uses, &node, 1, &region, error);
    if (status)
        return status;
    struct candidate *candidate = push(set);
    if (!candidate)
        return error_memory(error);
    candidate->backend = REGISTRY_REFERENCE;
    candidate->region = region;
    candidate->variant = "";
    candidate->pattern = part ? "part" : "view";
    candidate->view = true;
    candidate->part = part;
    candidate->cost.state = COST_MEASURED;
    collage_layout *inputs = arena_array(set->arena, region.input_count, sizeof *inputs);
    collage_layout *outputs = arena_array(set->arena, region.output_count, sizeof *outputs);
    candidate->input_layouts = inputs;
    candidate->output_layouts = outputs;
    if (!inputs || !outputs)
        return error_memory(error);
    for (uint32_t k = 0; k < region.input_count; k++)
        inputs[k] = *layout;
    for (uint32_t k = 0; k < region.output_count; k++)
        outputs[k] = *layout;
    set->count++;
    return COLLAGE_OK;
}

collage_status candidate_set_add_view(struct candidate_set *set, node_id node, struct error *error)
{
    const collage_layout plain = layout_plain();
    return add_view(set, node, &plain, false, error);
}

collage_status candidate_set_add_part(struct candidate_set *set, node_id node,
                                      const collage_layout *layout, struct error *error)
{
    return add_view(set, node, layout, true, error);
}

collage_status candidate_subgraph(const struct candidate_set *set, candidate_id id,
                                  struct arena *arena, const collage_subgraph **out,
                                  struct error *error)
{
    return subgraph_make(arena, set->graph, &set->items[id].region, out, error);
}
