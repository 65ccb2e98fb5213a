/* SPDX-License-Identifier: Apache-2.0 */
/* What the user has decided: read, made candidates, and checked before anything is measured. */
#include "optimize/optimizer.h"
#include "plan/placement_log.h"

/* Libraries that take regions are offered the pinned ones as well; others have what they have. */
static collage_status add_groups(struct optimizer *optimizer, struct error *error)
{
    const struct pins *pins = optimizer->pins;
    const struct registry *registry = optimizer->settings.registry;
    node_id *nodes =
        arena_array(optimizer->arena, optimizer->settings.graph->node_count, sizeof *nodes);
    if (!nodes)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    for (uint32_t g = 0; g < pins->group_count && status == COLLAGE_OK; g++) {
        const struct pin_group *group = &pins->groups[g];
        if (group->backend == PINS_VIEW || !optimizer->enabled[group->backend] ||
            registry->entries[group->backend].api->kind != COLLAGE_GRAPH_LEVEL)
            continue;
        pins_list(pins, g, nodes);
        status = candidate_set_add(optimizer->set, group->backend, nodes, group->node_count,
                                   "pinned", NULL, error);
    }
    return status;
}

collage_status optimizer_make_pins(struct optimizer *optimizer, struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    if (settings->pin_count == 0 && !settings->placement_path)
        return COLLAGE_OK;
    collage_status status =
        pins_create(settings->graph, settings->registry, &optimizer->pins, error);
    if (status == COLLAGE_OK && settings->placement_path)
        status = placement_log_read(settings->placement_path, optimizer->pins, error);
    for (size_t k = 0; k < settings->pin_count && status == COLLAGE_OK; k++)
        status =
            pins_add(optimizer->pins, settings->pins[k].node, settings->pins[k].backend, error);
    if (status == COLLAGE_OK)
        status = add_groups(optimizer, error);
    if (status == COLLAGE_OK)
        status = pins_check(optimizer->pins, optimizer->set, optimizer->enabled, error);
    return status;
}
