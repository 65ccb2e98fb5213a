/* SPDX-License-Identifier: Apache-2.0 */
#include "place/pins.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

collage_status pins_create(const struct graph *graph, const struct registry *registry,
                           struct pins **out, struct error *error)
{
    *out = NULL;
    struct arena *arena = arena_create();
    struct pins *pins = arena ? arena_alloc(arena, sizeof *pins) : NULL;
    if (!pins) {
        arena_destroy(arena);
        return error_memory(error);
    }
    size_t nodes = graph->node_count;
    *pins = (struct pins){ .arena = arena,
                           .graph = graph,
                           .registry = registry,
                           .backends = arena_array(arena, nodes, sizeof(uint32_t)),
                           .group_of = arena_array(arena, nodes, sizeof(uint32_t)),
                           .groups = arena_array(arena, nodes, sizeof(struct pin_group)) };
    if (!pins->backends || !pins->group_of || !pins->groups) {
        arena_destroy(arena);
        return error_memory(error);
    }
    memset(pins->backends, 0xff, nodes * sizeof(uint32_t)); /* PINS_FREE */
    memset(pins->group_of, 0xff, nodes * sizeof(uint32_t));
    *out = pins;
    return COLLAGE_OK;
}

void pins_destroy(struct pins *pins)
{
    if (pins)
        arena_destroy(pins->arena); /* the pins themselves lie in it */
}

/* ---- pinning ---- */

/* "node 'conv1' (Conv)"; those without a name have a number. */
static void describe_node(const struct graph *graph, node_id node, char *text, size_t size)
{
    const struct node *named = &graph->nodes[node];
    const char *name = named->base.name;
    if (name && name[0])
        snprintf(text, size, "node '%.100s' (%s)", name, named->op->name);
    else
        snprintf(text, size, "node %u (%s)", node, named->op->name);
}

static const char *backend_name(const struct pins *pins, uint32_t backend)
{
    return backend == PINS_VIEW ? "no backend, as a view" : pins->registry->entries[backend].name;
}

collage_status pins_add_to_group(struct pins *pins, uint32_t number, uint32_t backend, node_id node,
                                 uint32_t *group, struct error *error)
{
    char text[160];
    uint32_t k = pins->group_count;
    while (k > 0 && pins->groups[k - 1].number != number)
        k--; /* files go from group to group: it is mostly the last */
    *group = k > 0 ? k - 1 : pins->group_count;
    if (pins->group_of[node] != PINS_FREE) {
        describe_node(pins->graph, node, text, sizeof text);
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "%s is in two groups: %u and %u", text,
                         pins->groups[pins->group_of[node]].number, number);
    }
    if (k == 0)
        pins->groups[pins->group_count++] = (struct pin_group){ number, backend, 0 };
    struct pin_group *into = &pins->groups[*group];
    if (into->backend != backend)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "group %u is on '%s' and on '%s'", number,
                         backend_name(pins, into->backend), backend_name(pins, backend));
    into->node_count++;
    pins->group_of[node] = *group;
    return COLLAGE_OK;
}

/* Exactly that name first: names may hold what a glob takes for its own. */
static bool has_name(const struct graph *graph, const char *name)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].base.name && strcmp(graph->nodes[n].base.name, name) == 0)
            return true;
    return false;
}

static bool is_meant(const char *name, const char *pattern, bool exactly)
{
    if (!name || !name[0])
        return false;
    return exactly ? strcmp(name, pattern) == 0 : fnmatch(pattern, name, 0) == 0;
}

static collage_status pin_node(struct pins *pins, node_id node, uint32_t backend,
                               struct error *error)
{
    uint32_t group = pins->group_of[node];
    if (group != PINS_FREE && pins->groups[group].backend == PINS_VIEW)
        return COLLAGE_OK;
    if (group != PINS_FREE && pins->groups[group].backend != backend) {
        char text[160];
        describe_node(pins->graph, node, text, sizeof text);
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "%s is placed on '%s', but group %u of the placement has it on '%s'", text,
                         backend_name(pins, backend), pins->groups[group].number,
                         backend_name(pins, pins->groups[group].backend));
    }
    pins->backends[node] = backend;
    return COLLAGE_OK;
}

collage_status pins_add(struct pins *pins, const char *name, const char *backend,
                        struct error *error)
{
    uint32_t index = registry_find(pins->registry, backend);
    if (index == UINT32_MAX)
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "there is no backend '%s'; `collage backends` lists them", backend);
    bool exactly = name[0] && has_name(pins->graph, name), found = false;
    collage_status status = COLLAGE_OK;
    for (node_id n = 0; n < pins->graph->node_count && !status; n++) {
        if (!is_meant(pins->graph->nodes[n].base.name, name, exactly))
            continue;
        found = true;
        status = pin_node(pins, n, index, error);
    }
    if (found)
        return status;
    return error_set(error, COLLAGE_ERROR_ARGUMENT,
                     "no node has the name '%s'; `collage inspect MODEL --text` shows the names",
                     name);
}

/* ---- asking ---- */

bool pins_hold(const struct pins *pins, node_id node)
{
    return pins->backends[node] != PINS_FREE || pins->group_of[node] != PINS_FREE;
}

size_t pins_count(const struct pins *pins)
{
    size_t count = 0;
    for (node_id n = 0; n < pins->graph->node_count; n++)
        count += pins_hold(pins, n);
    return count;
}

static bool fits_group(const struct pins *pins, uint32_t group, const struct candidate *candidate)
{
    const struct region *region = &candidate->region;
    const struct pin_group *wanted = &pins->groups[group];
    if (wanted->node_count != region->node_count ||
        candidate->view != (wanted->backend == PINS_VIEW) ||
        (!candidate->view && candidate->backend != wanted->backend))
        return false;
    for (uint32_t k = 0; k < region->node_count; k++)
        if (pins->group_of[region->nodes[k]] != group)
            return false;
    return true;
}

bool pins_allow(const struct pins *pins, const struct candidate *candidate)
{
    const struct region *region = &candidate->region;
    for (uint32_t k = 0; k < region->node_count; k++) {
        uint32_t group = pins->group_of[region->nodes[k]];
        uint32_t backend = pins->backends[region->nodes[k]];
        if (group != PINS_FREE)
            return fits_group(pins, group, candidate);
        if (backend != PINS_FREE && !candidate->view && candidate->backend != backend)
            return false;
    }
    return true;
}

bool pins_name(const struct pins *pins, const struct candidate *candidate)
{
    uint32_t group = pins->group_of[candidate->region.nodes[0]];
    return group != PINS_FREE && fits_group(pins, group, candidate);
}

bool pins_leave_open(const struct pins *pins, node_id node, uint32_t backend)
{
    return pins->group_of[node] == PINS_FREE &&
           (pins->backends[node] == PINS_FREE || pins->backends[node] == backend);
}

void pins_list(const struct pins *pins, uint32_t group, node_id *nodes)
{
    uint32_t count = 0;
    for (node_id n = 0; n < pins->graph->node_count; n++)
        if (pins->group_of[n] == group)
            nodes[count++] = n;
}

/* ---- when a pin cannot be met ---- */

static bool takes_part(const struct candidate *candidate, const bool *enabled)
{
    return candidate->cost.state != COST_FAILED && (candidate->view || enabled[candidate->backend]);
}

collage_status pins_check(const struct pins *pins, const struct candidate_set *set,
                          const bool *enabled, struct error *error)
{
    size_t nodes = pins->graph->node_count;
    bool *covered = memory_alloc(nodes * sizeof *covered);
    if (!covered)
        return error_memory(error);
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (!takes_part(candidate, enabled) || !pins_allow(pins, candidate))
            continue;
        for (uint32_t k = 0; k < candidate->region.node_count; k++)
            covered[candidate->region.nodes[k]] = true;
    }
    node_id node = 0;
    while (node < nodes && (covered[node] || !pins_hold(pins, node)))
        node++;
    memory_free(covered);
    return node == nodes ? COLLAGE_OK
                         : pins_fail(pins, set, enabled, node, COLLAGE_ERROR_ARGUMENT, error);
}

static void put_operators(struct text *text, const struct graph *graph, const struct region *region)
{
    enum { SHOWN = 4 };
    for (uint32_t k = 0; k < region->node_count && k <= SHOWN; k++)
        text_format(text, "%s%s", k ? "+" : "",
                    k < SHOWN ? graph->nodes[region->nodes[k]].op->name : "...");
}

/* "; there is Conv on reference, Conv+Relu on onednn": the variants of a candidate are one. */
static void put_existing(struct text *text, const struct pins *pins,
                         const struct candidate_set *set, const bool *enabled, node_id node)
{
    enum { LISTED = 6 };
    uint32_t listed = 0;
    const struct candidate *last = NULL;
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (!takes_part(candidate, enabled) || !region_has(&candidate->region, node) ||
            (last && last->backend == candidate->backend &&
             last->region.nodes == candidate->region.nodes))
            continue;
        last = candidate;
        if (++listed > LISTED)
            break;
        text_string(text, listed == 1 ? "; there is " : ", ");
        put_operators(text, pins->graph, &candidate->region);
        if (candidate->view)
            text_string(text, " as a view");
        else
            text_format(text, " on %s", pins->registry->entries[candidate->backend].name);
    }
    if (listed > LISTED)
        text_string(text, ", ...");
}

/* Why the kernel of the node, or of its group, failed, or what the backend said about one of these
 * nodes; "" if neither is known. */
static const char *find_reason(const struct pins *pins, const struct candidate_set *set,
                               uint32_t backend, node_id node)
{
    uint32_t group = pins->group_of[node];
    for (size_t c = 0; c < set->count; c++) {
        const struct candidate *candidate = &set->items[c];
        if (!candidate->view && candidate->backend == backend &&
            candidate->cost.state == COST_FAILED && candidate->cost.reason &&
            pins_allow(pins, candidate) && region_has(&candidate->region, node))
            return candidate->cost.reason;
    }
    for (node_id n = 0; n < pins->graph->node_count && set->refusals; n++) {
        const char *refusal = set->refusals[(size_t)n * set->registry->count + backend];
        bool meant = n == node || (group != PINS_FREE && pins->group_of[n] == group);
        if (meant && refusal)
            return refusal;
    }
    return "";
}

static void put_pin(struct text *text, const struct pins *pins, node_id node)
{
    char name[160];
    uint32_t group = pins->group_of[node];
    describe_node(pins->graph, node, name, sizeof name);
    if (group == PINS_FREE) {
        text_format(text, "%s cannot run on '%s'", name, backend_name(pins, pins->backends[node]));
        return;
    }
    const struct pin_group *wanted = &pins->groups[group];
    text_format(text, "%s: group %u of the placement (", name, wanted->number);
    text_format(text, "%u node%s) is no candidate of '%s'", wanted->node_count,
                wanted->node_count == 1 ? "" : "s", backend_name(pins, wanted->backend));
}

collage_status pins_fail(const struct pins *pins, const struct candidate_set *set,
                         const bool *enabled, node_id node, collage_status status,
                         struct error *error)
{
    struct text text = { 0 };
    uint32_t group = pins->group_of[node];
    uint32_t backend = group == PINS_FREE ? pins->backends[node] : pins->groups[group].backend;
    put_pin(&text, pins, node);
    if (backend != PINS_VIEW && !enabled[backend]) {
        text_string(&text, ", which is not available or not asked for");
    } else if (backend != PINS_VIEW) {
        const char *reason = find_reason(pins, set, backend, node);
        text_format(&text, "%s%.200s", reason[0] ? ": " : "", reason);
    }
    put_existing(&text, pins, set, enabled, node);
    status = text.failed ? error_memory(error) : error_set(error, status, "%s", text.bytes);
    text_free(&text);
    return status;
}
