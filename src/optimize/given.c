/* SPDX-License-Identifier: Apache-2.0 */
/* What users say that candidates cost. */
#include <string.h>

#include "base/text.h"
#include "graph/subgraph.h"
#include "optimize/optimizer.h"

/* Without names: they are the same for all candidates that are alike. */
static void take_tensor(const struct graph *graph, value_id value, collage_tensor_info *info)
{
    const struct tensor *tensor = &graph->values[value].tensor;
    *info = (collage_tensor_info){
        .struct_size = sizeof *info, .name = "", .dtype = tensor->dtype, .rank = tensor->rank
    };
    memcpy(info->dims, tensor->dims, sizeof info->dims);
}

/* All tensors of the region's border; NULL if out of memory. */
static collage_tensor_info *take_tensors(const struct graph *graph, const value_id *values,
                                         uint32_t count, struct arena *arena)
{
    collage_tensor_info *infos = arena_array(arena, count, sizeof *infos);
    for (uint32_t k = 0; infos && k < count; k++)
        take_tensor(graph, values[k], &infos[k]);
    return infos;
}

static char *list_operators(const collage_subgraph *subgraph, struct arena *arena)
{
    struct text text = { 0 };
    for (uint32_t n = 0; n < subgraph->node_count; n++)
        text_format(&text, "%s%s", n ? "+" : "", subgraph->nodes[n]->op_type);
    char *list = text.failed || !text.bytes ? NULL : arena_string(arena, text.bytes);
    text_free(&text);
    return list;
}

static collage_status ask(const struct optimizer *optimizer, candidate_id id, struct arena *arena,
                          struct cost *cost, struct error *error)
{
    const struct candidate_set *set = optimizer->set;
    const struct candidate *candidate = &set->items[id];
    const struct backend_entry *entry = &set->registry->entries[candidate->backend];
    const struct region *region = &candidate->region;
    const collage_subgraph *subgraph;
    collage_status status = candidate_subgraph(set, id, arena, &subgraph, error);
    if (status != COLLAGE_OK)
        return status;
    const collage_cost_question question = {
        .struct_size = sizeof question,
        .backend = entry->name,
        .version = entry->version,
        .operators = list_operators(subgraph, arena),
        .variant = candidate->variant ? candidate->variant : "",
        .inputs = take_tensors(set->graph, region->inputs, region->input_count, arena),
        .outputs = take_tensors(set->graph, region->outputs, region->output_count, arena),
        .input_count = region->input_count,
        .output_count = region->output_count,
        .subgraph = subgraph,
        .threads = optimizer->target.threads,
        .device = optimizer->device.name,
        .fingerprint = optimizer->device.fingerprint,
    };
    if (!question.operators || !question.inputs || !question.outputs)
        return error_memory(error);
    return given_costs_ask(optimizer->settings.given, &question, set->arena, cost, error);
}

collage_status optimizer_ask_given(const struct optimizer *optimizer, candidate_id id,
                                   struct cost *cost, struct error *error)
{
    const struct given_costs *given = optimizer->settings.given;
    *cost = (struct cost){ .state = COST_UNKNOWN };
    if (!given || given->count == 0 || optimizer->set->items[id].view)
        return COLLAGE_OK;
    struct arena *arena = arena_create();
    collage_status status = arena ? ask(optimizer, id, arena, cost, error) : error_memory(error);
    arena_destroy(arena);
    return status;
}
