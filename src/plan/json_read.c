/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a plan from JSON of unknown origin. Every object has exactly the members of its table,
 * every index is checked where it is read; plan_verify then checks what the whole means. Sizes and
 * offsets are not in the file: they follow from the graph.
 */
#include "plan/build.h"
#include "plan/json.h"

#include <inttypes.h>
#include <string.h>

#include "pattern/schedule.h"
#include "plan/lanes.h"
#include "tensor/layout.h"

struct reader {
    struct plan *plan;
    const struct graph *graph; /* NULL: header only */
    struct error *error;
};

#define WRONG(reader, ...)                                                                         \
    (error_set((reader)->error, COLLAGE_ERROR_FORMAT, "the plan is malformed: " __VA_ARGS__), false)

static bool has_kind(const json_t *json, enum member_kind kind)
{
    switch (kind) {
    case MEMBER_TEXT:
    case MEMBER_TEXT_OR_ABSENT:
        return json_is_string(json);
    case MEMBER_INTEGER:
    case MEMBER_INTEGER_OR_ABSENT:
        return json_is_integer(json);
    case MEMBER_NUMBER:
        return json_is_number(json);
    case MEMBER_BOOLEAN:
        return json_is_boolean(json);
    case MEMBER_LIST:
    case MEMBER_LIST_OR_ABSENT:
        return json_is_array(json);
    case MEMBER_OBJECT:
        return json_is_object(json);
    case MEMBER_INTEGER_OR_NULL:
        return json_is_integer(json) || json_is_null(json);
    case MEMBER_OBJECT_OR_NULL:
        return json_is_object(json) || json_is_null(json);
    }
    return false;
}

static bool may_be_absent(enum member_kind kind)
{
    return kind == MEMBER_LIST_OR_ABSENT || kind == MEMBER_TEXT_OR_ABSENT ||
           kind == MEMBER_INTEGER_OR_ABSENT;
}

/* Takes an object apart: values[k] is that of members[k]. No other member may be there. */
static bool take(struct reader *r, const json_t *json, const char *what, size_t index,
                 const struct member *members, json_t **values)
{
    if (!json_is_object(json))
        return WRONG(r, "%s %zu is not an object", what, index);
    size_t count = 0, absent = 0;
    for (; members[count].name; count++) {
        values[count] = json_object_get(json, members[count].name);
        if (!values[count] && may_be_absent(members[count].kind)) {
            absent++;
            continue;
        }
        if (!values[count])
            return WRONG(r, "%s %zu has no '%s'", what, index, members[count].name);
        if (!has_kind(values[count], members[count].kind))
            return WRONG(r, "'%s' of %s %zu has the wrong type", members[count].name, what, index);
    }
    if (json_object_size(json) != count - absent)
        return WRONG(r, "%s %zu has members that do not belong there", what, index);
    return true;
}

static bool take_text(struct reader *r, const json_t *json, const char **out)
{
    *out = arena_string(r->plan->arena, json_string_value(json));
    if (!*out)
        error_memory(r->error);
    return *out != NULL;
}

static bool take_hash(struct reader *r, const json_t *json, struct hash *out)
{
    return hash_parse(json_string_value(json), out) || WRONG(r, "the model's hash is none");
}

static bool take_index(struct reader *r, const json_t *json, size_t limit, const char *what,
                       uint32_t *out)
{
    json_int_t value = json_integer_value(json);
    if (!json_is_integer(json) || value < 0 || (uint64_t)value >= limit)
        return WRONG(r, "a %s is out of range", what);
    *out = (uint32_t)value;
    return true;
}

static bool take_indices(struct reader *r, const json_t *json, size_t limit, const char *what,
                         uint32_t **out, uint32_t *count)
{
    size_t size = json_array_size(json);
    if (size > limit)
        return WRONG(r, "a list of %ss is too long", what);
    *out = arena_array(r->plan->arena, size, sizeof **out);
    if (!*out) {
        error_memory(r->error);
        return false;
    }
    *count = (uint32_t)size;
    for (size_t k = 0; k < size; k++)
        if (!take_index(r, json_array_get(json, k), limit, what, &(*out)[k]))
            return false;
    return true;
}

/* Which of the names it is. */
static bool take_name(struct reader *r, const json_t *json, const char *const *names,
                      const char *what, uint32_t *out)
{
    for (uint32_t k = 0; names[k]; k++)
        if (strcmp(names[k], json_string_value(json)) == 0) {
            *out = k;
            return true;
        }
    return WRONG(r, "'%s' is no %s", json_string_value(json), what);
}

/* Memory for as many items as the list has, at most `limit`. */
static void *take_list(struct reader *r, const json_t *list, size_t limit, size_t item_size,
                       const char *what, uint32_t *count)
{
    size_t size = json_array_size(list);
    if (size > limit) {
        (void)WRONG(r, "it has %zu %s, at most %zu can be", size, what, limit);
        return NULL;
    }
    void *items = arena_array(r->plan->arena, size, item_size);
    if (!items)
        error_memory(r->error);
    *count = (uint32_t)size;
    return items;
}

/* ---- the header ---- */

static bool read_shape(struct reader *r, const json_t *json, size_t index)
{
    json_t *values[SHAPE_MEMBER_COUNT];
    collage_shape *shape = &r->plan->shapes[index];
    if (!take(r, json, "shape", index, PLAN_SHAPE_MEMBERS, values) ||
        !take_text(r, values[SHAPE_NAME], &shape->name))
        return false;
    size_t rank = json_array_size(values[SHAPE_DIMS]);
    if (rank > COLLAGE_MAX_RANK)
        return WRONG(r, "shape %zu has more than %d dimensions", index, COLLAGE_MAX_RANK);
    shape->rank = (int32_t)rank;
    for (size_t d = 0; d < rank; d++) {
        const json_t *dim = json_array_get(values[SHAPE_DIMS], d);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0)
            return WRONG(r, "shape %zu has a dimension that is no size", index);
        shape->dims[d] = json_integer_value(dim);
    }
    return true;
}

static bool read_model(struct reader *r, const json_t *json)
{
    enum { MOST_SHAPES = 4096 };
    json_t *values[MODEL_MEMBER_COUNT];
    struct plan *plan = r->plan;
    uint32_t count;
    if (!take(r, json, "model", 0, PLAN_MODEL_MEMBERS, values) ||
        !take_text(r, values[MODEL_PATH], &plan->model_path) ||
        !take_hash(r, values[MODEL_SOURCE], &plan->source) ||
        !take_hash(r, values[MODEL_GRAPH], &plan->graph))
        return false;
    plan->shapes =
        take_list(r, values[MODEL_SHAPES], MOST_SHAPES, sizeof *plan->shapes, "shapes", &count);
    if (!plan->shapes)
        return false;
    plan->shape_count = count;
    for (uint32_t k = 0; k < count; k++)
        if (!read_shape(r, json_array_get(values[MODEL_SHAPES], k), k))
            return false;
    return true;
}

static bool read_backends(struct reader *r, const json_t *list)
{
    enum { MOST_BACKENDS = 1000 };
    struct plan *plan = r->plan;
    plan->backends =
        take_list(r, list, MOST_BACKENDS, sizeof *plan->backends, "backends", &plan->backend_count);
    for (uint32_t k = 0; plan->backends && k < plan->backend_count; k++) {
        json_t *values[BACKEND_MEMBER_COUNT];
        if (!take(r, json_array_get(list, k), "backend", k, PLAN_BACKEND_MEMBERS, values) ||
            !take_text(r, values[BACKEND_NAME], &plan->backends[k].name) ||
            !take_text(r, values[BACKEND_VERSION], &plan->backends[k].version))
            return false;
    }
    return plan->backends != NULL;
}

static bool read_result(struct reader *r, const json_t *json, uint32_t index)
{
    json_t *values[RESULT_MEMBER_COUNT];
    struct plan_result *result = &r->plan->results[index];
    if (!take(r, json, "result", index, PLAN_RESULT_MEMBERS, values) ||
        !take_text(r, values[RESULT_NAME], &result->name) ||
        !take_text(r, values[RESULT_NOTE], &result->note))
        return false;
    result->chosen = json_boolean_value(values[RESULT_CHOSEN]);
    result->minimum_ns = json_number_value(values[RESULT_MINIMUM]);
    result->median_ns = json_number_value(values[RESULT_MEDIAN]);
    result->low_ns = json_number_value(values[RESULT_LOW]);
    result->high_ns = json_number_value(values[RESULT_HIGH]);
    result->ratio = json_number_value(values[RESULT_RATIO]);
    result->ratio_low = json_number_value(values[RESULT_RATIO_LOW]);
    result->ratio_high = json_number_value(values[RESULT_RATIO_HIGH]);
    result->predicted_ns = json_number_value(values[RESULT_PREDICTED]);
    result->steps_ns = json_number_value(values[RESULT_STEPS]);
    result->worst_error = json_number_value(values[RESULT_ERROR]);
    json_int_t peak = json_integer_value(values[RESULT_PEAK]);
    if (peak < 0)
        return WRONG(r, "result %u has a negative size", index);
    result->peak_bytes = (uint64_t)peak;
    return true;
}

static bool read_results(struct reader *r, const json_t *list)
{
    enum { MOST_RESULTS = 1000 };
    struct plan *plan = r->plan;
    plan->results =
        take_list(r, list, MOST_RESULTS, sizeof *plan->results, "results", &plan->result_count);
    for (uint32_t k = 0; plan->results && k < plan->result_count; k++)
        if (!read_result(r, json_array_get(list, k), k))
            return false;
    return plan->results != NULL;
}

static bool read_object(struct reader *r, const json_t *json, uint32_t index)
{
    json_t *values[OBJECT_MEMBER_COUNT];
    struct plan_object *object = &r->plan->objects[index];
    if (!take(r, json, "object", index, PLAN_OBJECT_MEMBERS, values) ||
        !take_text(r, values[OBJECT_NAME], &object->name))
        return false;
    const char *hash = json_string_value(values[OBJECT_SHA256]);
    if (!plan_object_name_is_plain(object->name))
        return WRONG(r, "'%s' is no plain name of a code object", object->name);
    if (!plan_object_hash_is_one(hash))
        return WRONG(r, "code object '%s' has no SHA-256", object->name);
    memcpy(object->sha256, hash, sizeof object->sha256);
    for (uint32_t k = 0; k < index; k++)
        if (strcmp(r->plan->objects[k].name, object->name) == 0)
            return WRONG(r, "code object '%s' is there twice", object->name);
    return true;
}

/* list: NULL if there is none. */
static bool read_objects(struct reader *r, const json_t *list)
{
    struct plan *plan = r->plan;
    plan->objects = take_list(r, list, PLAN_MOST_OBJECTS, sizeof *plan->objects, "objects",
                              &plan->object_count);
    for (uint32_t k = 0; plan->objects && k < plan->object_count; k++)
        if (!read_object(r, json_array_get(list, k), k))
            return false;
    return plan->objects != NULL;
}

/* Format and version before all else: their messages must not be about a missing member. */
static bool check_format(struct reader *r, const json_t *json)
{
    const char *format = json_string_value(json_object_get(json, "format"));
    const json_t *version = json_object_get(json, "version");
    if (!format || strcmp(format, PLAN_FORMAT) != 0)
        return error_set(r->error, COLLAGE_ERROR_FORMAT,
                         "this is not a plan: it does not say \"format\": \"" PLAN_FORMAT "\""),
               false;
    if (!json_is_integer(version) || json_integer_value(version) != PLAN_VERSION)
        return error_set(r->error, COLLAGE_ERROR_UNSUPPORTED,
                         "plan version %" JSON_INTEGER_FORMAT
                         " is unknown, this Collage reads version %d: optimize the model again",
                         json_integer_value(version), PLAN_VERSION),
               false;
    return true;
}

/* json: NULL if steps run one after the other. */
static bool read_lanes(struct reader *r, const json_t *json)
{
    if (!json)
        return true;
    json_int_t lanes = json_integer_value(json);
    if (lanes < 2 || lanes > PLAN_MOST_LANES || lanes > r->plan->threads)
        return WRONG(r, "%" JSON_INTEGER_FORMAT " lanes of %d threads", lanes, r->plan->threads);
    if (r->plan->standalone)
        return WRONG(r, "one library should run the whole model, but there are lanes");
    r->plan->lanes = (uint32_t)lanes;
    return true;
}

static bool read_header(struct reader *r, const json_t *json, json_t **values)
{
    enum { MOST_THREADS = 4096 };
    struct plan *plan = r->plan;
    if (!check_format(r, json) || !take(r, json, "plan", 0, PLAN_MEMBERS, values) ||
        !take_text(r, values[PLAN_COLLAGE], &plan->collage_version) ||
        !take_text(r, values[PLAN_DEVICE], &plan->device) ||
        !take_text(r, values[PLAN_DEVICE_NAME], &plan->device_name))
        return false;
    json_int_t threads = json_integer_value(values[PLAN_THREADS]);
    if (threads < 1 || threads > MOST_THREADS)
        return WRONG(r, "%" JSON_INTEGER_FORMAT " threads", threads);
    plan->threads = (int32_t)threads;
    const char *precision = json_string_value(values[PLAN_PRECISION]);
    if (precision && strcmp(precision, PLAN_STRICT) != 0)
        return WRONG(r, "its precision is neither strict nor left out");
    plan->strict = precision != NULL;
    plan->predicted_ns = json_number_value(values[PLAN_PREDICTED]);
    plan->optimal = json_boolean_value(values[PLAN_OPTIMAL]);
    plan->bound_ns = json_number_value(values[PLAN_BOUND]);
    plan->standalone = json_boolean_value(values[PLAN_STANDALONE]);
    if (json_is_object(values[PLAN_EVIDENCE]))
        plan->evidence = json_incref(values[PLAN_EVIDENCE]);
    return read_lanes(r, values[PLAN_LANES]) && read_model(r, values[PLAN_MODEL]) &&
           read_backends(r, values[PLAN_BACKENDS]) && read_results(r, values[PLAN_RESULTS]) &&
           read_objects(r, values[PLAN_OBJECTS]);
}

/* ---- tensors and steps ---- */

static bool read_tensor(struct reader *r, const json_t *json, uint32_t index)
{
    json_t *values[TENSOR_MEMBER_COUNT];
    struct plan_tensor *tensor = &r->plan->tensors[index];
    uint32_t place;
    if (!take(r, json, "tensor", index, PLAN_TENSOR_MEMBERS, values) ||
        !take_index(r, values[TENSOR_VALUE], r->graph->value_count, "value", &tensor->value) ||
        !take_name(r, values[TENSOR_PLACE], plan_place_names, "place", &place) ||
        !take_index(r, values[TENSOR_PORT], UINT32_MAX, "port", &tensor->port))
        return false;
    tensor->place = (enum plan_place)place;
    tensor->shares = GRAPH_NONE;
    if (!json_is_null(values[TENSOR_SHARES]) &&
        !take_index(r, values[TENSOR_SHARES], index, "share", &tensor->shares))
        return false;
    const char *tag = json_string_value(values[TENSOR_LAYOUT]);
    if (strlen(tag) >= sizeof tensor->layout.tag)
        return WRONG(r, "the layout of tensor %u is too long", index);
    tensor->layout = layout_tag(tag);
    tensor->bytes = layout_bytes(&tensor->layout, &r->graph->values[tensor->value].tensor);
    return true;
}

static bool check_operators(struct reader *r, const json_t *list, const struct plan_step *step,
                            uint32_t index)
{
    if (json_array_size(list) != step->node_count)
        return WRONG(r, "step %u does not name the operator of each of its nodes", index);
    for (uint32_t k = 0; k < step->node_count; k++) {
        const char *named = json_string_value(json_array_get(list, k));
        const char *found = r->graph->nodes[step->nodes[k]].base.op_type;
        if (!named || strcmp(named, found) != 0)
            return WRONG(r, "step %u: node %u is %s, not %s", index, step->nodes[k], found,
                         named ? named : "nothing");
    }
    return true;
}

static bool find_backend(struct reader *r, const char *name, struct plan_step *step)
{
    step->backend = GRAPH_NONE;
    if ((step->kind == PLAN_COPY || step->kind == PLAN_JOIN) && name[0] == '\0')
        return true;
    for (uint32_t k = 0; k < r->plan->backend_count; k++)
        if (strcmp(r->plan->backends[k].name, name) == 0) {
            step->backend = k;
            return true;
        }
    return WRONG(r, "'%s' is not in its list of backends", name);
}

/* json: NULL if the backend cuts the work as it likes. Whether it knows the schedule is asked when
 * the kernel is compiled. */
static bool read_schedule(struct reader *r, const json_t *json, struct plan_step *step,
                          uint32_t index)
{
    const char *text = json_string_value(json);
    if (!json)
        return true;
    if (!text || strlen(text) != json_string_length(json) || !schedule_is_text(text))
        return WRONG(r, "the schedule of step %u is not 1 to %d printable characters", index,
                     COLLAGE_SCHEDULE_BYTES - 1);
    if (step->kind != PLAN_KERNEL)
        return WRONG(r, "step %u has a schedule, but is no kernel", index);
    return take_text(r, json, &step->schedule);
}

/* json: NULL if the step has all threads. */
static bool read_lane(struct reader *r, const json_t *json, struct plan_step *step)
{
    step->lane = PLAN_WIDE;
    return !json || take_index(r, json, r->plan->lanes, "lane", &step->lane);
}

static bool read_step(struct reader *r, const json_t *json, uint32_t index)
{
    json_t *values[STEP_MEMBER_COUNT];
    struct plan_step *step = &r->plan->steps[index];
    uint32_t kind;
    if (!take(r, json, "step", index, PLAN_STEP_MEMBERS, values) ||
        !take_name(r, values[STEP_KIND], plan_step_names, "kind of step", &kind))
        return false;
    step->kind = (enum plan_step_kind)kind;
    step->cost_ns = json_number_value(values[STEP_COST]);
    return find_backend(r, json_string_value(values[STEP_BACKEND]), step) &&
           take_text(r, values[STEP_VARIANT], &step->variant) &&
           take_text(r, values[STEP_PATTERN], &step->pattern) &&
           take_text(r, values[STEP_IMPLEMENTATION], &step->implementation) &&
           take_indices(r, values[STEP_NODES], r->graph->node_count, "node", &step->nodes,
                        &step->node_count) &&
           take_indices(r, values[STEP_INPUTS], r->plan->tensor_count, "tensor", &step->inputs,
                        &step->input_count) &&
           take_indices(r, values[STEP_OUTPUTS], r->plan->tensor_count, "tensor", &step->outputs,
                        &step->output_count) &&
           check_operators(r, values[STEP_OPERATORS], step, index) &&
           read_schedule(r, values[STEP_SCHEDULE], step, index) &&
           read_lane(r, values[STEP_LANE], step);
}

/* Which steps have a cost that was given. It is for people: what is not right is passed over. */
static void mark_given(struct plan *plan)
{
    const json_t *steps = json_object_get(json_object_get(plan->evidence, "given"), "steps");
    for (size_t k = 0; k < json_array_size(steps); k++) {
        const json_t *step = json_array_get(steps, k);
        json_int_t index = json_is_integer(step) ? json_integer_value(step) : -1;
        if (index >= 0 && (uint64_t)index < plan->step_count)
            plan->steps[index].given = plan->steps[index].kind == PLAN_KERNEL;
    }
}

static bool read_body(struct reader *r, json_t *const *values)
{
    struct plan *plan = r->plan;
    const struct graph *graph = r->graph;
    if (plan_check_graph(plan, graph, r->error) != COLLAGE_OK)
        return false;
    /* A value is in a few layouts at most, and once more in each output of the model. */
    size_t most = 8 * graph->value_count + graph->output_count;
    plan->tensors = take_list(r, values[PLAN_TENSORS], most, sizeof *plan->tensors, "tensors",
                              &plan->tensor_count);
    for (uint32_t k = 0; plan->tensors && k < plan->tensor_count; k++)
        if (!read_tensor(r, json_array_get(values[PLAN_TENSORS], k), k))
            return false;
    if (!plan->tensors)
        return false;
    plan->steps =
        take_list(r, values[PLAN_STEPS], most, sizeof *plan->steps, "steps", &plan->step_count);
    for (uint32_t k = 0; plan->steps && k < plan->step_count; k++)
        if (!read_step(r, json_array_get(values[PLAN_STEPS], k), k))
            return false;
    if (!plan->steps)
        return false;
    mark_given(plan);
    plan->model_path = plan_absolute_path(plan->arena, graph->path);
    if (!plan->model_path) {
        error_memory(r->error);
        return false;
    }
    return plan_memory(plan, graph, r->error) == COLLAGE_OK &&
           plan_verify(plan, graph, r->error) == COLLAGE_OK;
}

collage_status plan_from_json(const json_t *json, const struct graph *graph, struct plan **out,
                              struct error *error)
{
    *out = NULL;
    struct error own = { 0 };
    json_t *values[PLAN_MEMBER_COUNT];
    struct reader r = { .graph = graph, .error = &own };
    r.plan = plan_create(&own);
    bool ok = r.plan && read_header(&r, json, values) && (!graph || read_body(&r, values));
    if (!ok) {
        plan_destroy(r.plan);
        return error_set(error, own.status, "%s", own.text);
    }
    *out = r.plan;
    return COLLAGE_OK;
}
