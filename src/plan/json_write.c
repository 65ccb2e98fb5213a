/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/json.h"

#include <math.h>
#include <string.h>

#include "base/json_text.h"

/* jansson takes NULL as "failed before" in all its _new functions: failures travel to the root. */

static json_t *number(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

static json_t *hash_text(struct hash hash)
{
    char text[33];
    hash_print(hash, text);
    return json_string(text);
}

static json_t *indices(const uint32_t *items, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < count && list; k++)
        if (json_array_append_new(list, json_integer(items[k])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* An object of the members' names and these values, which it takes over; NULL if one is missing. */
static json_t *object(const struct member *members, json_t *const *values)
{
    json_t *json = json_object();
    bool ok = json != NULL;
    for (size_t k = 0; members[k].name; k++) /* takes or frees every value, even after a failure */
        if (!values[k] || json_object_set_new(json, members[k].name, values[k]) != 0)
            ok = false;
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

/* Appends and tells whether all is well. */
static bool append(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0;
}

static json_t *shape_to_json(const collage_shape *shape)
{
    json_t *dims = json_array();
    for (int32_t d = 0; d < shape->rank && dims; d++)
        if (!append(dims, json_integer(shape->dims[d]))) {
            json_decref(dims);
            dims = NULL;
        }
    json_t *values[] = { json_string(shape->name), dims };
    return object(PLAN_SHAPE_MEMBERS, values);
}

static json_t *model_to_json(const struct plan *plan)
{
    json_t *shapes = json_array();
    bool ok = shapes != NULL;
    for (size_t k = 0; k < plan->shape_count && ok; k++)
        ok = append(shapes, shape_to_json(&plan->shapes[k]));
    json_t *values[] = { json_string(plan->model_path), hash_text(plan->source),
                         hash_text(plan->graph), shapes };
    json_t *json = object(PLAN_MODEL_MEMBERS, values);
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *tensor_to_json(const struct plan_tensor *tensor)
{
    json_t *values[] = { json_integer(tensor->value), json_string(tensor->layout.tag),
                         json_string(plan_place_names[tensor->place]), json_integer(tensor->port),
                         tensor->shares == GRAPH_NONE ? json_null()
                                                      : json_integer(tensor->shares) };
    return object(PLAN_TENSOR_MEMBERS, values);
}

static json_t *operators_of(const struct plan_step *step, const struct graph *graph)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < step->node_count && list; k++)
        if (!append(list, json_string(graph->nodes[step->nodes[k]].base.op_type))) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

static json_t *step_to_json(const struct plan *plan, const struct plan_step *step,
                            const struct graph *graph)
{
    const char *backend = step->backend == GRAPH_NONE ? "" : plan->backends[step->backend].name;
    json_t *values[] = { json_string(plan_step_names[step->kind]),
                         json_string(backend),
                         json_text(step->variant),
                         indices(step->nodes, step->node_count),
                         operators_of(step, graph),
                         indices(step->inputs, step->input_count),
                         indices(step->outputs, step->output_count),
                         number(step->cost_ns),
                         json_text(step->pattern),
                         json_text(step->implementation),
                         step->schedule ? json_text(step->schedule) : json_null(),
                         json_integer(step->lane) };
    json_t *json = object(PLAN_STEP_MEMBERS, values);
    if (json && !step->schedule) /* as if there were no such member */
        json_object_del(json, PLAN_STEP_MEMBERS[STEP_SCHEDULE].name);
    if (json && (plan->lanes == 0 || step->lane == PLAN_WIDE))
        json_object_del(json, PLAN_STEP_MEMBERS[STEP_LANE].name);
    return json;
}

static json_t *backend_to_json(const struct plan_backend *backend)
{
    json_t *values[] = { json_string(backend->name), json_string(backend->version) };
    return object(PLAN_BACKEND_MEMBERS, values);
}

static json_t *result_to_json(const struct plan_result *result)
{
    uint64_t peak = result->peak_bytes < INT64_MAX ? result->peak_bytes : INT64_MAX;
    json_t *values[] = { json_text(result->name),      json_text(result->note),
                         json_boolean(result->chosen), number(result->minimum_ns),
                         number(result->median_ns),    number(result->low_ns),
                         number(result->high_ns),      number(result->ratio),
                         number(result->ratio_low),    number(result->ratio_high),
                         number(result->predicted_ns), number(result->steps_ns),
                         number(result->worst_error),  json_integer((json_int_t)peak) };
    return object(PLAN_RESULT_MEMBERS, values);
}

/* Three long lists; false if one is incomplete. */
static bool write_lists(const struct plan *plan, const struct graph *graph, json_t *backends,
                        json_t *tensors, json_t *steps)
{
    bool ok = backends && tensors && steps;
    for (uint32_t k = 0; k < plan->backend_count && ok; k++)
        ok = append(backends, backend_to_json(&plan->backends[k]));
    for (uint32_t k = 0; k < plan->tensor_count && ok; k++)
        ok = append(tensors, tensor_to_json(&plan->tensors[k]));
    for (uint32_t k = 0; k < plan->step_count && ok; k++)
        ok = append(steps, step_to_json(plan, &plan->steps[k], graph));
    return ok;
}

static json_t *results_to_json(const struct plan *plan)
{
    json_t *results = json_array();
    bool ok = results != NULL;
    for (uint32_t k = 0; k < plan->result_count && ok; k++)
        ok = append(results, result_to_json(&plan->results[k]));
    if (ok)
        return results;
    json_decref(results);
    return NULL;
}

static json_t *objects_to_json(const struct plan *plan)
{
    json_t *objects = json_array();
    bool ok = objects != NULL;
    for (uint32_t k = 0; k < plan->object_count && ok; k++) {
        json_t *values[] = { json_string(plan->objects[k].name),
                             json_string(plan->objects[k].sha256) };
        ok = append(objects, object(PLAN_OBJECT_MEMBERS, values));
    }
    if (ok)
        return objects;
    json_decref(objects);
    return NULL;
}

/* Names that are looked up again must survive as they are. */
static collage_status check_names(const struct plan *plan, struct error *error)
{
    json_t *json = json_string(plan->model_path);
    if (!json)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "a plan cannot name the model '%s': the path is not UTF-8",
                         plan->model_path);
    json_decref(json);
    for (size_t k = 0; k < plan->shape_count; k++) {
        json = json_string(plan->shapes[k].name);
        if (!json)
            return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                             "a plan cannot name the input '%s': the name is not UTF-8",
                             plan->shapes[k].name);
        json_decref(json);
    }
    return COLLAGE_OK;
}

collage_status plan_to_json(const struct plan *plan, const struct graph *graph, json_t **out,
                            struct error *error)
{
    *out = NULL;
    collage_status status = check_names(plan, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *backends = json_array(), *tensors = json_array(), *steps = json_array();
    bool ok = write_lists(plan, graph, backends, tensors, steps);
    json_t *values[] = { json_string(PLAN_FORMAT),
                         json_integer(PLAN_VERSION),
                         json_text(plan->collage_version),
                         model_to_json(plan),
                         json_integer(plan->threads),
                         json_integer(plan->lanes),
                         json_string(PLAN_STRICT),
                         json_text(plan->device),
                         json_text(plan->device_name),
                         number(plan->predicted_ns),
                         json_boolean(plan->optimal),
                         number(plan->bound_ns),
                         json_boolean(plan->standalone),
                         backends,
                         results_to_json(plan),
                         steps,
                         tensors,
                         objects_to_json(plan),
                         plan->evidence ? json_incref(plan->evidence) : json_null() };
    json_t *json = object(PLAN_MEMBERS, values);
    if (!ok || !json) {
        json_decref(json);
        return error_memory(error);
    }
    if (!plan->strict)
        json_object_del(json, PLAN_MEMBERS[PLAN_PRECISION].name);
    if (plan->object_count == 0) /* the usual case: as if there were no such member */
        json_object_del(json, PLAN_MEMBERS[PLAN_OBJECTS].name);
    if (plan->lanes == 0)
        json_object_del(json, PLAN_MEMBERS[PLAN_LANES].name);
    *out = json;
    return COLLAGE_OK;
}
