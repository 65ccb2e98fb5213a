/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a plan, or a model on the libraries that run it whole: a race of no length, in which
 * each contestant's outputs are compared with the reference before it starts. */
#include "optimize/optimizer.h"

collage_status optimizer_add_libraries(struct optimizer *optimizer, struct error *error)
{
    const struct registry *registry = optimizer->settings.registry;
    for (uint32_t b = 0; b < registry->count; b++)
        if (optimizer->enabled[b] && registry->entries[b].api->kind == COLLAGE_GRAPH_LEVEL) {
            collage_status status = optimizer_add_library(optimizer, b, error);
            if (status != COLLAGE_OK)
                return status;
        }
    if (optimizer->contestant_count == 0)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "no library that takes a whole model is available; verify a plan instead");
    return COLLAGE_OK;
}

collage_status optimizer_write_verification(const struct optimizer *optimizer,
                                            collage_verification *result, struct error *error)
{
    const struct graph *graph = optimizer->settings.graph;
    result->tolerance = TENSOR_PLAN_TOLERANCE;
    result->outputs = graph->output_count;
    result->elements = 0;
    result->worst_error = 0;
    for (uint32_t k = 0; k < graph->output_count; k++)
        result->elements += (size_t)tensor_elements(&graph->values[graph->outputs[k]].tensor);
    for (size_t k = 0; k < optimizer->contestant_count; k++) {
        const struct contestant *contestant = &optimizer->contestants[k];
        if (contestant->failure[0])
            return error_set(error,
                             contestant->worst_error > TENSOR_PLAN_TOLERANCE
                                 ? COLLAGE_ERROR_WRONG_RESULT
                                 : COLLAGE_ERROR_BACKEND,
                             "%s: %s", optimizer->names[k], contestant->failure);
        if (contestant->worst_error > result->worst_error)
            result->worst_error = contestant->worst_error;
    }
    return COLLAGE_OK;
}
