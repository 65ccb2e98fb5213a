/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/propose.h"

#include <math.h>
#include <string.h>

#include "place/cover.h"
#include "place/options.h"
#include "tensor/layout.h"

/* Regions tried after each placement, and of each chosen one: neighbours, and places to split. */
enum { MOST_TRIED = 64, NEIGHBOURS = 6, SPLITS = 2 };

/* Of the network's time: who promises less is not measured. */
static const double least_gain = 0.0005;

#define NOBODY UINT32_MAX

struct proposer {
    struct candidate_set *set;
    const struct graph *graph;
    const struct placement *placement;
    struct place_problem problem;
    struct arena *arena;
    uint32_t *owner; /* node by node: the place of who covers it; NOBODY */
    double *paid;    /* node by node: its share of what the placement costs */
    double *profile; /* backend by backend, node by node: the least share of a measured region;
                        HUGE_VAL: none was measured */
    uint8_t *mark;   /* node by node: see hull */
    node_id *nodes;  /* the region being made */
    double total;    /* of what is paid */
    uint32_t tried;
    struct proposals *out;
    struct error *error;
};

static const struct candidate *chosen_at(const struct proposer *p, size_t place)
{
    return &p->set->items[p->placement->chosen[place]];
}

/* ---- what is paid now ---- */

static void charge(struct proposer *p, const struct region *region, double cost)
{
    for (uint32_t k = 0; k < region->own_count; k++)
        p->paid[region->own[k]] += cost / region->own_count;
    p->total += cost;
}

static double conversion_cost(const struct proposer *p, value_id value, const collage_layout *from,
                              const collage_layout *to)
{
    double best = HUGE_VAL;
    for (size_t k = 0; k < p->problem.transition_count; k++) {
        const struct transition *t = &p->problem.transitions[k];
        if (t->value == value && place_is_usable_transition(&p->problem, t) &&
            layout_equal(&t->from, from) && layout_equal(&t->to, to))
            best = fmin(best, t->cost_ns + p->problem.step_ns);
    }
    return best < HUGE_VAL ? best : 0;
}

/* Kernels pay for themselves, for what must be converted for them, and for coming to their backend.
 * (What several take in one layout is charged to each: it would be saved only together.) */
static bool find_paid(struct proposer *p)
{
    const collage_layout **made =
        arena_array(p->arena, p->graph->value_count, sizeof(collage_layout *));
    uint32_t last = NOBODY;
    if (!made)
        return false;
    for (size_t place = 0; place < p->placement->count; place++) {
        const struct candidate *c = chosen_at(p, place);
        const struct region *region = &c->region;
        double cost = c->cost.cost_ns + (c->view ? 0 : p->problem.step_ns);
        for (uint32_t k = 0; k < region->own_count; k++)
            p->owner[region->own[k]] = (uint32_t)place;
        for (uint32_t k = 0; k < region->output_count; k++)
            made[region->outputs[k]] = &c->output_layouts[k];
        for (uint32_t k = 0; k < region->input_count; k++) {
            const collage_layout plain = layout_plain();
            const collage_layout *from = made[region->inputs[k]] ? made[region->inputs[k]] : &plain;
            if (!layout_equal(from, &c->input_layouts[k]))
                cost += conversion_cost(p, region->inputs[k], from, &c->input_layouts[k]);
        }
        if (!c->view && last != NOBODY)
            cost += place_switch_cost(&p->problem, last, c->backend);
        last = c->view ? last : c->backend;
        charge(p, region, cost);
    }
    return true;
}

/* ---- what the libraries could do ---- */

/* A measured region's cost, shared among its nodes as their kernels alone cost on that library,
 * or as is paid for them now. The least share that a node has got is what an optimist hopes for. */
static void share(struct proposer *p, const struct candidate *c, const double *alone)
{
    const size_t row = (size_t)c->backend * p->graph->node_count;
    double sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < c->region.node_count; k++) {
            node_id n = c->region.nodes[k];
            double weight = alone[row + n] < HUGE_VAL ? alone[row + n] : p->paid[n];
            if (pass == 0)
                sum += weight;
            else if (sum > 0)
                p->profile[row + n] = fmin(p->profile[row + n], c->cost.cost_ns * (weight / sum));
        }
}

static bool find_profiles(struct proposer *p)
{
    size_t cells = p->set->registry->count * p->graph->node_count;
    double *alone = arena_array(p->arena, cells, sizeof *alone);
    p->profile = arena_array(p->arena, cells, sizeof *p->profile);
    if (!alone || !p->profile)
        return false;
    for (size_t k = 0; k < cells; k++)
        alone[k] = p->profile[k] = HUGE_VAL;
    for (int pass = 0; pass < 2; pass++)
        for (size_t id = 0; id < p->set->count; id++) {
            const struct candidate *c = &p->set->items[id];
            if (c->view || !place_is_usable(&p->problem, c))
                continue;
            double *cell = &alone[(size_t)c->backend * p->graph->node_count + c->region.nodes[0]];
            if (pass == 1)
                share(p, c, alone);
            else if (c->region.node_count == 1)
                *cell = fmin(*cell, c->cost.cost_ns);
        }
    return true;
}

/* Within a kernel, what is paid lies where its library is hoped to spend the time. */
static void spread_paid(struct proposer *p)
{
    for (size_t place = 0; place < p->placement->count; place++) {
        const struct candidate *c = chosen_at(p, place);
        const double *profile = p->profile + (size_t)c->backend * p->graph->node_count;
        double paid = 0, sum = 0;
        for (uint32_t k = 0; k < c->region.own_count; k++) {
            paid += p->paid[c->region.own[k]];
            sum += c->view ? 0 : profile[c->region.own[k]];
        }
        for (uint32_t k = 0; k < c->region.own_count && sum > 0 && sum < HUGE_VAL; k++)
            p->paid[c->region.own[k]] = paid * (profile[c->region.own[k]] / sum);
    }
}

/* What the node costs where another library runs it, at best; HUGE_VAL: nobody else can. */
static double elsewhere(const struct proposer *p, uint32_t backend, node_id node)
{
    double best = HUGE_VAL;
    for (uint32_t b = 0; b < p->set->registry->count; b++)
        if (b != backend && p->problem.enabled[b])
            best = fmin(best, p->profile[(size_t)b * p->graph->node_count + node]);
    return best;
}

/* ---- making a candidate ---- */

/* A node that the library has never run is hoped to cost nothing. */
static bool could_gain(const struct proposer *p, uint32_t backend, uint32_t count)
{
    double paid = 0, hoped = p->problem.step_ns;
    for (uint32_t k = 0; k < count; k++) {
        double cost = p->profile[(size_t)backend * p->graph->node_count + p->nodes[k]];
        paid += p->paid[p->nodes[k]];
        hoped += cost < HUGE_VAL ? cost : 0;
    }
    return paid - hoped > least_gain * p->total;
}

static collage_status add_nodes(struct proposer *p, uint32_t backend, uint32_t count,
                                const char *rule)
{
    size_t added = 0;
    if (count < 2 || p->tried >= MOST_TRIED) /* single operators were offered before */
        return COLLAGE_OK;
    collage_status status =
        candidate_set_add(p->set, backend, p->nodes, count, rule, &added, p->error);
    p->out->made += added > 0;
    p->tried += added > 0;
    return status;
}

enum { INSIDE = 1, AFTER = 2, BEFORE = 4 };

static uint8_t marks_around(const struct proposer *p, node_id node, bool makers)
{
    const collage_node *base = &p->graph->nodes[node].base;
    const struct graph_uses *uses = &p->set->uses;
    uint8_t marks = 0;
    for (uint32_t k = 0; makers && k < base->input_count; k++)
        if (base->inputs[k] != GRAPH_NONE &&
            p->graph->values[base->inputs[k]].kind == VALUE_COMPUTED)
            marks |= p->mark[p->graph->values[base->inputs[k]].producer];
    for (uint32_t k = 0; !makers && k < base->output_count; k++) {
        value_id v = base->outputs[k];
        for (uint32_t u = v == GRAPH_NONE ? 0 : uses->first[v];
             v != GRAPH_NONE && u < uses->first[v + 1]; u++)
            marks |= p->mark[uses->users[u]];
    }
    return marks;
}

/* The nodes of both and all on paths between them, into p->nodes. */
static uint32_t hull(struct proposer *p, const struct region *a, const struct region *b)
{
    const node_id nodes = (node_id)p->graph->node_count;
    memset(p->mark, 0, nodes);
    for (uint32_t k = 0; k < a->own_count; k++)
        p->mark[a->own[k]] = INSIDE;
    for (uint32_t k = 0; k < b->own_count; k++)
        p->mark[b->own[k]] = INSIDE;
    for (node_id n = 0; n < nodes; n++)
        if (marks_around(p, n, true) & (INSIDE | AFTER))
            p->mark[n] |= AFTER;
    for (node_id n = nodes; n-- > 0;)
        if (marks_around(p, n, false) & (INSIDE | BEFORE))
            p->mark[n] |= BEFORE;
    uint32_t count = 0;
    for (node_id n = 0; n < nodes; n++)
        if ((p->mark[n] & INSIDE) || p->mark[n] == (AFTER | BEFORE))
            p->nodes[count++] = n;
    return count;
}

/* ---- rules ---- */

/* With each neighbour that runs elsewhere. Those on the same library merge.c joins. */
static collage_status extend(struct proposer *p, size_t place)
{
    const struct candidate *c = chosen_at(p, place);
    uint32_t met[NEIGHBOURS], count = 0;
    collage_status status = COLLAGE_OK;
    const struct region region = c->region;
    const uint32_t backend = c->backend;
    for (uint32_t k = 0; k < region.input_count + region.output_count && !status; k++) {
        bool in = k < region.input_count;
        value_id v = in ? region.inputs[k] : region.outputs[k - region.input_count];
        const struct value *value = &p->graph->values[v];
        uint32_t first = in ? 0 : p->set->uses.first[v], end = in ? 1 : p->set->uses.first[v + 1];
        for (uint32_t u = first; u < end && !status && count < NEIGHBOURS; u++) {
            node_id node = in ? value->producer : p->set->uses.users[u];
            uint32_t other = node == GRAPH_NONE ? NOBODY : p->owner[node];
            bool known =
                other == NOBODY || other == place || chosen_at(p, other)->backend == backend;
            for (uint32_t m = 0; m < count && !known; m++)
                known = met[m] == other;
            if (known)
                continue;
            met[count++] = other;
            uint32_t size = hull(p, &region, &chosen_at(p, other)->region);
            if (could_gain(p, backend, size))
                status = add_nodes(p, backend, size, "extended");
            else
                p->out->dismissed++;
        }
    }
    return status;
}

/* The node without which most could be saved, if it ran elsewhere; NOBODY: no node is worth it. */
static uint32_t find_split(const struct proposer *p, const struct region *region, uint32_t backend,
                           uint32_t before)
{
    const double *profile = p->profile + (size_t)backend * p->graph->node_count;
    double most = 0, paid = 0, hoped = 2 * p->problem.step_ns;
    uint32_t at = NOBODY;
    for (uint32_t k = 0; k < region->own_count; k++) {
        node_id n = region->own[k];
        double saved = profile[n] - elsewhere(p, backend, n);
        paid += p->paid[n];
        hoped += profile[n];
        if (k != before && saved > most) {
            most = saved;
            at = k;
        }
    }
    return paid - (hoped - most) > least_gain * p->total ? at : NOBODY;
}

/* What lies before and after such a node. Both parts are convex: the region is, and nodes are in
 * topological order. */
static collage_status split(struct proposer *p, size_t place)
{
    const struct candidate *c = chosen_at(p, place);
    const struct region region = c->region;
    const uint32_t backend = c->backend;
    uint32_t before = NOBODY;
    collage_status status = COLLAGE_OK;
    for (uint32_t s = 0; s < SPLITS && !status; s++) {
        uint32_t at = find_split(p, &region, backend, before);
        if (at == NOBODY) {
            p->out->dismissed += s == 0;
            break;
        }
        before = at;
        memcpy(p->nodes, region.own, at * sizeof *p->nodes);
        status = add_nodes(p, backend, at, "split");
        uint32_t rest = region.own_count - at - 1;
        memcpy(p->nodes, region.own + at + 1, rest * sizeof *p->nodes);
        if (!status)
            status = add_nodes(p, backend, rest, "split");
    }
    return status;
}

static uint32_t find_root(uint32_t *parent, uint32_t n)
{
    while (parent[n] != n)
        n = parent[n] = parent[parent[n]];
    return n;
}

/* parent: a forest whose trees are connected nodes that the library is hoped to run for less than
 * is paid for them. */
static void join_cheaper(const struct proposer *p, const double *profile, uint32_t *parent)
{
    for (node_id n = 0; n < p->graph->node_count; n++) {
        const collage_node *base = &p->graph->nodes[n].base;
        parent[n] = n;
        for (uint32_t k = 0; k < base->input_count && profile[n] < p->paid[n]; k++) {
            value_id v = base->inputs[k];
            node_id maker = v == GRAPH_NONE ? GRAPH_NONE : p->graph->values[v].producer;
            if (maker != GRAPH_NONE && profile[maker] < p->paid[maker])
                parent[find_root(parent, n)] = find_root(parent, maker);
        }
    }
}

/* The library's own profile against what is paid: where it is cheaper node by node, as a whole. */
static collage_status propose_cheaper(struct proposer *p, uint32_t backend)
{
    const node_id nodes = (node_id)p->graph->node_count;
    const double *profile = p->profile + (size_t)backend * nodes;
    uint32_t *parent = arena_array(p->arena, nodes, sizeof *parent);
    uint32_t *size = arena_array(p->arena, nodes, sizeof *size);
    collage_status status = parent && size ? COLLAGE_OK : error_memory(p->error);
    if (!status)
        join_cheaper(p, profile, parent);
    for (node_id n = 0; n < nodes && !status; n++)
        size[find_root(parent, n)]++;
    for (node_id root = 0; root < nodes && !status; root++) {
        uint32_t count = 0;
        if (size[root] < 2 || p->tried >= MOST_TRIED)
            continue;
        for (node_id n = 0; n < nodes; n++)
            if (find_root(parent, n) == root)
                p->nodes[count++] = n;
        if (could_gain(p, backend, count))
            status = add_nodes(p, backend, count, "profiled");
        else
            p->out->dismissed++;
    }
    return status;
}

static collage_status propose_all(struct proposer *p)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t b = 0; b < p->set->registry->count && !status; b++)
        if (p->problem.enabled[b] && cover_is_graph_level(p->set, b))
            status = propose_cheaper(p, b);
    for (size_t place = 0; place < p->placement->count && !status; place++) {
        const struct candidate *c = chosen_at(p, place); /* until there are more candidates */
        const bool large = c->region.own_count > 2;
        if (c->view || c->region.copy_count > 0 || !cover_is_graph_level(p->set, c->backend))
            continue;
        status = extend(p, place);
        if (!status && large)
            status = split(p, place);
    }
    return status;
}

collage_status propose_regions(struct optimizer *optimizer, const struct placement *placement,
                               struct proposals *out, struct error *error)
{
    const struct graph *graph = optimizer->set->graph;
    struct proposer p = { .set = optimizer->set,
                          .graph = graph,
                          .placement = placement,
                          .problem = optimizer_problem(optimizer, optimizer->enabled),
                          .arena = arena_create(),
                          .out = out,
                          .error = error };
    *out = (struct proposals){ 0 };
    if (!p.arena)
        return error_memory(error);
    p.owner = arena_array(p.arena, graph->node_count, sizeof *p.owner);
    p.paid = arena_array(p.arena, graph->node_count, sizeof *p.paid);
    p.mark = arena_array(p.arena, graph->node_count, sizeof *p.mark);
    p.nodes = arena_array(p.arena, graph->node_count, sizeof *p.nodes);
    bool made = p.owner && p.paid && p.mark && p.nodes;
    if (made) {
        memset(p.owner, 0xff, graph->node_count * sizeof *p.owner); /* NOBODY */
        made = find_paid(&p) && find_profiles(&p);
        if (made)
            spread_paid(&p);
    }
    collage_status status = made ? propose_all(&p) : error_memory(error);
    arena_destroy(p.arena);
    return status;
}
