/* SPDX-License-Identifier: Apache-2.0 */
#include "place/order.h"

#include <math.h>
#include <string.h>

struct orderer {
    const struct place_table *table;
    const struct candidate *items;
    const candidate_id *chosen;
    size_t count;
    uint32_t *place_of; /* node by node: the place among the chosen */
    uint32_t *waits;    /* place by place: inputs that are not there yet */
    uint32_t *next;     /* place by place: the next of its list */
    uint32_t *lists;    /* ready ones, by backend; then views. NOBODY ends a list */
    candidate_id *out;
    size_t out_count;
};

#define NOBODY UINT32_MAX

static uint32_t list_of(const struct orderer *orderer, uint32_t place)
{
    const struct candidate *candidate = &orderer->items[orderer->chosen[place]];
    return candidate->view ? orderer->table->backend_count : candidate->backend;
}

static void make_ready(struct orderer *orderer, uint32_t place)
{
    uint32_t *list = &orderer->lists[list_of(orderer, place)];
    orderer->next[place] = *list;
    *list = place;
}

static bool is_computed(const struct orderer *orderer, value_id value)
{
    return orderer->table->graph->values[value].kind == VALUE_COMPUTED;
}

static bool takes(const struct orderer *orderer, uint32_t place, value_id value)
{
    const struct region *region = &orderer->items[orderer->chosen[place]].region;
    for (uint32_t k = 0; k < region->input_count; k++)
        if (region->inputs[k] == value)
            return true;
    return false;
}

/* Takes the first of a list; what waited for it alone becomes ready. */
static void run_first(struct orderer *orderer, uint32_t list)
{
    uint32_t place = orderer->lists[list];
    const struct region *region = &orderer->items[orderer->chosen[place]].region;
    const struct graph_uses *uses = orderer->table->uses;
    orderer->lists[list] = orderer->next[place];
    orderer->out[orderer->out_count++] = orderer->chosen[place];
    for (uint32_t k = 0; k < region->output_count; k++) {
        value_id value = region->outputs[k];
        for (uint32_t u = uses->first[value]; u < uses->first[value + 1]; u++) {
            uint32_t user = orderer->place_of[uses->users[u]];
            if (user == place || user == NOBODY || !place_is_first_use(uses, value, u) ||
                !takes(orderer, user, value))
                continue;
            if (--orderer->waits[user] == 0)
                make_ready(orderer, user);
        }
    }
}

/* Each input counts once for every node in the candidate that takes it, as run_first counts. */
static void count_waits(struct orderer *orderer)
{
    const struct graph_uses *uses = orderer->table->uses;
    for (uint32_t place = 0; place < orderer->count; place++) {
        const struct region *region = &orderer->items[orderer->chosen[place]].region;
        for (uint32_t k = 0; k < region->input_count; k++) {
            value_id value = region->inputs[k];
            for (uint32_t u = uses->first[value]; u < uses->first[value + 1]; u++)
                if (is_computed(orderer, value) && place_is_first_use(uses, value, u) &&
                    orderer->place_of[uses->users[u]] == place)
                    orderer->waits[place]++;
        }
    }
    for (uint32_t place = (uint32_t)orderer->count; place-- > 0;)
        if (orderer->waits[place] == 0)
            make_ready(orderer, place);
}

/* The list to go on with after `last` (backend_count: nothing ran yet): views at once, then the
 * backend that is cheapest to go to. */
static uint32_t choose_list(const struct orderer *orderer, uint32_t last)
{
    const struct place_table *table = orderer->table;
    uint32_t n = table->backend_count, best = NOBODY;
    if (orderer->lists[n] != NOBODY)
        return n;
    double least = HUGE_VAL;
    for (uint32_t b = 0; b < n; b++) {
        double cost = table->switch_ns[last * (n + 1) + b] + (b == last ? 0 : 1e-9);
        if (orderer->lists[b] != NOBODY && cost < least) {
            least = cost;
            best = b;
        }
    }
    return best;
}

static bool make(struct orderer *orderer, struct arena *arena)
{
    size_t nodes = orderer->table->graph->node_count, lists = orderer->table->backend_count + 1;
    orderer->place_of = arena_array(arena, nodes, sizeof(uint32_t));
    orderer->waits = arena_array(arena, orderer->count, sizeof(uint32_t));
    orderer->next = arena_array(arena, orderer->count, sizeof(uint32_t));
    orderer->lists = arena_array(arena, lists, sizeof(uint32_t));
    orderer->out = arena_array(arena, orderer->count, sizeof(candidate_id));
    if (!orderer->place_of || !orderer->waits || !orderer->next || !orderer->lists || !orderer->out)
        return false;
    memset(orderer->lists, 0xff, lists * sizeof(uint32_t)); /* NOBODY */
    memset(orderer->place_of, 0xff, nodes * sizeof(uint32_t));
    for (uint32_t place = 0; place < orderer->count; place++) {
        const struct region *region = &orderer->items[orderer->chosen[place]].region;
        for (uint32_t k = 0; k < region->own_count; k++)
            orderer->place_of[region->own[k]] = place;
    }
    return true;
}

double order_cost(const struct place_table *table, const candidate_id *chosen, size_t count)
{
    uint32_t n = table->backend_count, last = n;
    double cost = 0;
    for (size_t k = 0; table->switch_ns && k < count; k++) {
        const struct candidate *candidate = &table->problem->set->items[chosen[k]];
        if (candidate->view)
            continue;
        cost += table->switch_ns[last * (n + 1) + candidate->backend];
        last = candidate->backend;
    }
    return cost;
}

collage_status order_by_backend(const struct place_table *table, candidate_id *chosen, size_t count,
                                struct error *error)
{
    struct arena *arena = arena_create();
    struct orderer orderer = {
        .table = table, .items = table->problem->set->items, .chosen = chosen, .count = count
    };
    if (!arena || !make(&orderer, arena)) {
        arena_destroy(arena);
        return error_memory(error);
    }
    uint32_t n = table->backend_count, last = n, list;
    count_waits(&orderer);
    while ((list = choose_list(&orderer, last)) != NOBODY) {
        run_first(&orderer, list);
        last = list == n ? last : list;
    }
    memcpy(chosen, orderer.out, count * sizeof *chosen);
    arena_destroy(arena);
    return COLLAGE_OK;
}
