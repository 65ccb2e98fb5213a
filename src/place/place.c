/* SPDX-License-Identifier: Apache-2.0 */
#include "place/place.h"

#include <math.h>

#include "place/options.h"

static bool is_cost(double cost)
{
    return isfinite(cost) && cost >= 0;
}

bool place_is_usable(const struct place_problem *problem, const struct candidate *candidate)
{
    return candidate->cost.state == COST_MEASURED && is_cost(candidate->cost.cost_ns) &&
           (candidate->view || problem->enabled[candidate->backend]) &&
           (!problem->pins || pins_allow(problem->pins, candidate));
}

bool place_is_usable_transition(const struct place_problem *problem,
                                const struct transition *transition)
{
    return is_cost(transition->cost_ns) && transition->backend < problem->set->registry->count &&
           problem->enabled[transition->backend];
}

double place_switch_cost(const struct place_problem *problem, uint32_t from, uint32_t to)
{
    if (!problem->switch_ns)
        return 0;
    double cost = problem->switch_ns[(size_t)from * problem->set->registry->count + to];
    return is_cost(cost) ? cost : 0;
}

collage_status place_fail(const struct place_problem *problem, node_id stuck, struct error *error)
{
    const struct candidate_set *set = problem->set;
    const struct graph *graph = set->graph;
    bool *covered = memory_alloc(graph->node_count * sizeof *covered);
    if (!covered)
        return error_memory(error);
    for (size_t c = 0; c < set->count; c++)
        if (place_is_usable(problem, &set->items[c]))
            for (uint32_t k = 0; k < set->items[c].region.node_count; k++)
                covered[set->items[c].region.nodes[k]] = true;
    node_id bare = 0;
    while (bare < graph->node_count && covered[bare])
        bare++;
    memory_free(covered);
    node_id node = bare < graph->node_count ? bare : stuck;
    if (node == bare && problem->pins && pins_hold(problem->pins, node))
        return pins_fail(problem->pins, set, problem->enabled, node, COLLAGE_ERROR_UNSUPPORTED,
                         error);
    const struct node *named = &graph->nodes[node];
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                     node == bare ? "node '%s' (%s): no backend has a working kernel for it"
                                  : "node '%s' (%s): its kernels do not fit those around it (no "
                                    "conversion between their layouts, or no order)",
                     named->base.name, named->op->name);
}

bool placement_is_optimal(const struct placement *placement)
{
    return placement->cost_ns - placement->bound_ns <= 1e-6 * placement->cost_ns;
}

bool placement_has(const struct placement *placement, candidate_id id)
{
    for (size_t k = 0; k < placement->count; k++)
        if (placement->chosen[k] == id)
            return true;
    return false;
}

void placement_free(struct placement *placement)
{
    memory_free(placement->chosen);
    *placement = (struct placement){ 0 };
}
