/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/singles.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

/* Times the fastest, up to which a kernel is promising to fuse, and plausible. Beyond the last,
 * nothing that fusing saves (reading and writing of what lies between the operators) makes up. */
static const double promising = 1.1, plausible = 1.3, possible = 1.6;

static const candidate_id none = UINT32_MAX;

static bool is_single(const struct candidate *candidate)
{
    return candidate->region.node_count == 1 && candidate->region.own_count == 1;
}

static double cost_of(const struct candidate *candidate)
{
    if (candidate->view)
        return 0;
    return candidate->cost.state == COST_MEASURED ? candidate->cost.cost_ns : HUGE_VAL;
}

bool singles_create(const struct candidate_set *set, struct singles *out)
{
    size_t nodes = set->graph->node_count;
    *out = (struct singles){ .set = set,
                             .least = memory_alloc((nodes + 1) * sizeof *out->least),
                             .first = memory_alloc((nodes + 1) * sizeof *out->first),
                             .next = memory_alloc((set->count + 1) * sizeof *out->next) };
    if (!out->least || !out->first || !out->next) {
        singles_free(out);
        return false;
    }
    for (size_t n = 0; n < nodes; n++) {
        out->least[n] = HUGE_VAL;
        out->first[n] = none;
    }
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (!is_single(candidate))
            continue;
        node_id node = candidate->region.nodes[0];
        out->least[node] = fmin(out->least[node], cost_of(candidate));
        out->next[id] = out->first[node];
        out->first[node] = id;
    }
    return true;
}

void singles_free(struct singles *singles)
{
    memory_free(singles->least);
    memory_free(singles->first);
    memory_free(singles->next);
    *singles = (struct singles){ 0 };
}

double singles_price(const struct singles *singles, const struct region *region)
{
    double price = 0;
    for (uint32_t n = 0; n < region->node_count; n++)
        if (singles->least[region->nodes[n]] < HUGE_VAL)
            price += singles->least[region->nodes[n]];
    return price;
}

/* The least of this backend and variant for the node; *has: it takes the node, measured or not. */
static double own_cost(const struct singles *singles, const struct candidate *candidate,
                       node_id node, bool *has)
{
    const struct candidate_set *set = singles->set;
    double own = HUGE_VAL; /* with several layouts of one variant, the fastest */
    for (candidate_id id = singles->first[node]; id != none; id = singles->next[id])
        if (set->items[id].backend == candidate->backend &&
            strcmp(set->items[id].variant, candidate->variant) == 0) {
            own = fmin(own, cost_of(&set->items[id]));
            *has = true;
        }
    return own;
}

enum lag singles_lag(const struct singles *singles, const struct candidate *candidate)
{
    node_id costliest = candidate->region.nodes[0];
    for (uint32_t n = 0; n < candidate->region.node_count; n++) {
        node_id node = candidate->region.nodes[n];
        if (singles->least[node] == HUGE_VAL)
            return LAG_SOME;
        if (singles->least[node] > singles->least[costliest])
            costliest = node;
    }
    bool alone = false;
    for (uint32_t n = 0; n < candidate->region.node_count && !alone; n++)
        (void)own_cost(singles, candidate, candidate->region.nodes[n], &alone);
    if (!alone)
        return LAG_NONE;
    const double own = own_cost(singles, candidate, costliest, &alone);
    const double least = singles->least[costliest];
    if (own == HUGE_VAL)
        return LAG_SOME;
    if (own <= plausible * least)
        return own <= promising * least ? LAG_NONE : LAG_SOME;
    return own <= possible * least ? LAG_MUCH : LAG_HOPELESS;
}

static bool same_nodes(const struct region *a, const struct region *b)
{
    return a->node_count == b->node_count && a->own_count == b->own_count &&
           memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0;
}

/* The least of the kernels of just this node. */
static double least_of(const struct candidate_set *set, node_id node)
{
    double least = HUGE_VAL;
    for (size_t c = 0; c < set->count; c++)
        if (is_single(&set->items[c]) && set->items[c].region.nodes[0] == node)
            least = fmin(least, cost_of(&set->items[c]));
    return least;
}

double singles_known_ns(const struct candidate_set *set, const struct candidate *candidate)
{
    double whole = HUGE_VAL, sum = 0;
    for (size_t c = 0; c < set->count; c++)
        if (same_nodes(&set->items[c].region, &candidate->region))
            whole = fmin(whole, cost_of(&set->items[c]));
    for (uint32_t n = 0; n < candidate->region.node_count && sum < HUGE_VAL; n++)
        sum += least_of(set, candidate->region.nodes[n]);
    double known = fmin(whole, sum);
    return known < HUGE_VAL ? known : 0;
}
