/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a placement to steps. Candidates are taken in their order; where one needs a value in a
 * layout that is not there yet, the cheapest measured reorder goes before it, and the value is then
 * there in both layouts. Views take no step: their tensor shares the memory of what they show. A
 * Concat that is a view gives its memory to what it puts together. What
 * the model gives back is written straight into the caller's memory wherever a kernel or a reorder
 * makes it, and copied where none does.
 */
#include "plan/build.h"

#include <math.h>
#include <string.h>

#include "graph/parts.h"
#include "tensor/layout.h"

/* A tensor in the making; the tensors of a value form a list. */
struct new_tensor {
    struct plan_tensor tensor;
    uint32_t next;
    bool copied; /* into a part: it stays where it is */
};

struct builder {
    const struct place_problem *problem;
    const struct graph *graph;
    struct plan *plan;
    struct new_tensor *tensors;
    struct new_step *steps;
    size_t tensor_count, tensor_capacity, step_count, step_capacity;
    uint32_t *first_tensor; /* of each value's list */
    uint32_t *backends;     /* registry index to plan's, GRAPH_NONE while unused */
    uint32_t backend_count;
    struct error *error;
};

static const char *value_name(const struct builder *b, value_id value)
{
    return b->graph->values[value].name;
}

/* The first model output that is this value, GRAPH_NONE if none is. */
static uint32_t output_port(const struct graph *graph, value_id value)
{
    for (uint32_t port = 0; port < graph->output_count; port++)
        if (graph->outputs[port] == value)
            return port;
    return GRAPH_NONE;
}

static uint32_t input_port(const struct graph *graph, value_id value)
{
    for (uint32_t port = 0; port < graph->input_count; port++)
        if (graph->inputs[port] == value)
            return port;
    return GRAPH_NONE;
}

static uint32_t find_tensor(const struct builder *b, value_id value, const collage_layout *layout)
{
    uint32_t t = b->first_tensor[value];
    while (t != GRAPH_NONE && !layout_equal(&b->tensors[t].tensor.layout, layout))
        t = b->tensors[t].next;
    return t;
}

/* Adds a tensor; listed ones are found again by later readers. GRAPH_NONE on failure. */
static uint32_t add_tensor(struct builder *b, const struct plan_tensor *tensor, bool listed)
{
    struct layout_form form;
    const struct tensor *shape = &b->graph->values[tensor->value].tensor;
    if (!layout_is_plain(&tensor->layout) && !layout_parse(&tensor->layout, shape->rank, &form)) {
        error_set(b->error, COLLAGE_ERROR_UNSUPPORTED,
                  "'%s' is wanted in the layout '%s', whose size is unknown to the host",
                  value_name(b, tensor->value), tensor->layout.tag);
        return GRAPH_NONE;
    }
    if (!memory_grow((void **)&b->tensors, &b->tensor_capacity, b->tensor_count,
                     sizeof *b->tensors)) {
        error_memory(b->error);
        return GRAPH_NONE;
    }
    uint32_t index = (uint32_t)b->tensor_count++;
    struct new_tensor *added = &b->tensors[index];
    *added = (struct new_tensor){ *tensor, GRAPH_NONE, false };
    if (layout_is_plain(&tensor->layout))
        added->tensor.layout = layout_plain();
    added->tensor.bytes = layout_bytes(&added->tensor.layout, shape);
    if (listed) {
        added->next = b->first_tensor[tensor->value];
        b->first_tensor[tensor->value] = index;
    }
    return index;
}

/* The tensor that a kernel or reorder writes: the caller's memory if it is a row-major output. */
static uint32_t add_written(struct builder *b, value_id value, const collage_layout *layout)
{
    uint32_t port = output_port(b->graph, value);
    bool out = port != GRAPH_NONE && layout_is_plain(layout);
    struct plan_tensor tensor = { .value = value,
                                  .layout = *layout,
                                  .shares = GRAPH_NONE,
                                  .place = out ? PLAN_OUTPUT : PLAN_ARENA,
                                  .port = out ? port : 0 };
    return add_tensor(b, &tensor, true);
}

static struct plan_step *add_step(struct builder *b, enum plan_step_kind kind, candidate_id id,
                                  uint32_t inputs, uint32_t outputs)
{
    if (!memory_grow((void **)&b->steps, &b->step_capacity, b->step_count, sizeof *b->steps)) {
        error_memory(b->error);
        return NULL;
    }
    struct plan_step *step = &b->steps[b->step_count].step;
    *step = (struct plan_step){ .kind = kind,
                                .backend = GRAPH_NONE,
                                .lane = PLAN_WIDE,
                                .input_count = inputs,
                                .output_count = outputs,
                                .variant = "",
                                .pattern = "",
                                .implementation = "" };
    step->inputs = arena_array(b->plan->arena, inputs, sizeof *step->inputs);
    step->outputs = arena_array(b->plan->arena, outputs, sizeof *step->outputs);
    if (!step->inputs || !step->outputs) {
        error_memory(b->error);
        return NULL;
    }
    b->steps[b->step_count++].candidate = id;
    return step;
}

/* The plan's index of a registry entry. */
static uint32_t use_backend(struct builder *b, uint32_t entry)
{
    if (b->backends[entry] == GRAPH_NONE)
        b->backends[entry] = b->backend_count++;
    return b->backends[entry];
}

/* As the solvers see it: measured, and on a backend that may be used. */
static bool is_usable(const struct builder *b, const struct transition *transition)
{
    return transition->backend < b->problem->set->registry->count &&
           b->problem->enabled[transition->backend] && isfinite(transition->cost_ns) &&
           transition->cost_ns >= 0;
}

/* The cheapest reorder to (value, layout) from a layout that is there; NULL if there is none. */
static const struct transition *find_transition(const struct builder *b, value_id value,
                                                const collage_layout *layout, uint32_t *from)
{
    const struct transition *best = NULL;
    for (size_t k = 0; k < b->problem->transition_count; k++) {
        const struct transition *t = &b->problem->transitions[k];
        if (t->value != value || !is_usable(b, t) || (best && t->cost_ns >= best->cost_ns) ||
            !layout_equal(&t->to, layout))
            continue;
        uint32_t source = find_tensor(b, value, &t->from);
        if (source == GRAPH_NONE)
            continue;
        best = t;
        *from = source;
    }
    return best;
}

static uint32_t add_reorder(struct builder *b, value_id value, const collage_layout *layout)
{
    uint32_t from = GRAPH_NONE;
    const struct transition *transition = find_transition(b, value, layout, &from);
    if (!transition) {
        error_set(b->error, COLLAGE_ERROR_UNSUPPORTED,
                  "no measured reorder brings '%s' into the layout '%s'", value_name(b, value),
                  layout->tag);
        return GRAPH_NONE;
    }
    uint32_t to = add_written(b, value, layout);
    struct plan_step *step = to == GRAPH_NONE ? NULL : add_step(b, PLAN_REORDER, GRAPH_NONE, 1, 1);
    if (!step)
        return GRAPH_NONE;
    step->backend = use_backend(b, transition->backend);
    step->inputs[0] = from;
    step->outputs[0] = to;
    step->cost_ns = transition->cost_ns;
    return to;
}

/* Model inputs and constants get their tensor when they are first read. */
static uint32_t add_source(struct builder *b, value_id value)
{
    struct plan_tensor tensor = { .value = value, .shares = GRAPH_NONE, .place = PLAN_CONSTANT };
    if (b->graph->values[value].kind == VALUE_INPUT) {
        tensor.place = PLAN_INPUT;
        tensor.port = input_port(b->graph, value);
    }
    return add_tensor(b, &tensor, true);
}

/* The tensor of a value in a layout, made if need be; GRAPH_NONE on failure. */
static uint32_t need(struct builder *b, value_id value, const collage_layout *layout)
{
    if (b->first_tensor[value] == GRAPH_NONE) {
        if (b->graph->values[value].kind == VALUE_COMPUTED) {
            error_set(b->error, COLLAGE_ERROR_INTERNAL,
                      "the placement uses '%s' before it is computed", value_name(b, value));
            return GRAPH_NONE;
        }
        if (add_source(b, value) == GRAPH_NONE)
            return GRAPH_NONE;
    }
    uint32_t found = find_tensor(b, value, layout);
    return found != GRAPH_NONE ? found : add_reorder(b, value, layout);
}

static bool add_copy(struct builder *b, uint32_t from, uint32_t port)
{
    struct plan_tensor tensor = { .value = b->tensors[from].tensor.value,
                                  .shares = GRAPH_NONE,
                                  .place = PLAN_OUTPUT,
                                  .port = port };
    uint32_t to = add_tensor(b, &tensor, false);
    struct plan_step *step = to == GRAPH_NONE ? NULL : add_step(b, PLAN_COPY, GRAPH_NONE, 1, 1);
    if (!step)
        return false;
    step->inputs[0] = from;
    step->outputs[0] = to;
    return true;
}

/* Brings a value into every model output that it is. */
static bool give_back(struct builder *b, value_id value)
{
    const collage_layout plain = layout_plain();
    for (uint32_t port = 0; port < b->graph->output_count; port++) {
        if (b->graph->outputs[port] != value)
            continue;
        uint32_t tensor = need(b, value, &plain);
        if (tensor == GRAPH_NONE)
            return false;
        const struct plan_tensor *t = &b->tensors[tensor].tensor;
        bool there = t->shares == GRAPH_NONE && t->place == PLAN_OUTPUT && t->port == port;
        if (!there && !add_copy(b, tensor, port))
            return false;
    }
    return true;
}

static bool add_view(struct builder *b, const struct node *node)
{
    const collage_layout plain = layout_plain();
    uint32_t from = need(b, node->base.inputs[0], &plain);
    if (from == GRAPH_NONE)
        return false;
    struct plan_tensor tensor = b->tensors[from].tensor;
    tensor.value = node->base.outputs[0];
    tensor.shares = from;
    return add_tensor(b, &tensor, true) != GRAPH_NONE && give_back(b, tensor.value);
}

/* ---- parts ---- */

/* Is the tensor the result of a Concat that this one begins with? */
static bool begins(const struct builder *b, uint32_t tensor, node_id join)
{
    const struct value *value = &b->graph->values[b->tensors[tensor].tensor.value];
    return value->kind == VALUE_COMPUTED && parts_is_beginning(b->graph, value->producer, join);
}

/* The memory of the longest Concat so far that this one begins with and that its first input is a
 * part of; GRAPH_NONE. */
static uint32_t find_beginning(const struct builder *b, node_id join, uint32_t first)
{
    uint32_t whole = b->tensors[first].tensor.shares;
    if (whole == GRAPH_NONE || !begins(b, whole, join))
        return GRAPH_NONE;
    while (b->tensors[whole].tensor.shares != GRAPH_NONE)
        whole = b->tensors[whole].tensor.shares;
    return begins(b, whole, join) ? whole : GRAPH_NONE;
}

/* The step that joined it. */
static const struct plan_step *find_join(const struct builder *b, uint32_t whole)
{
    for (size_t s = b->step_count; s-- > 0;)
        if (b->steps[s].step.kind == PLAN_JOIN && b->steps[s].step.outputs[0] == whole)
            return &b->steps[s].step;
    return NULL;
}

/* The tensor itself, made in its place in `whole` from now on; a copy there, if it must lie where
 * it does. GRAPH_NONE on failure. */
static uint32_t put_part(struct builder *b, uint32_t part, uint32_t whole)
{
    struct plan_tensor *tensor = &b->tensors[part].tensor;
    if (tensor->place == PLAN_ARENA && tensor->shares == GRAPH_NONE && !b->tensors[part].copied) {
        tensor->shares = whole;
        return part;
    }
    struct plan_tensor copy = { .value = tensor->value, .layout = tensor->layout, .shares = whole };
    uint32_t to = add_tensor(b, &copy, false);
    struct plan_step *step = to == GRAPH_NONE ? NULL : add_step(b, PLAN_COPY, GRAPH_NONE, 1, 1);
    if (!step)
        return GRAPH_NONE;
    b->tensors[part].copied = true;
    step->inputs[0] = part;
    step->outputs[0] = to;
    return to;
}

/* Puts all inputs of the Concat into `whole`; what an earlier one has joined is there as it is. */
static bool put_parts(struct builder *b, node_id join, uint32_t *parts, uint32_t whole)
{
    uint32_t count = b->graph->nodes[join].base.input_count, there = 0;
    uint32_t beginning = find_beginning(b, join, parts[0]);
    const struct plan_step *before = beginning == GRAPH_NONE ? NULL : find_join(b, beginning);
    if (before) {
        there = before->input_count;
        memcpy(parts, before->inputs, there * sizeof *parts);
        b->tensors[beginning].tensor.shares = whole;
    }
    for (uint32_t k = there; k < count; k++) {
        parts[k] = put_part(b, parts[k], whole);
        if (parts[k] == GRAPH_NONE)
            return false;
    }
    return true;
}

static bool add_join(struct builder *b, const struct candidate *candidate)
{
    node_id node = candidate->region.nodes[0];
    const collage_node *base = &b->graph->nodes[node].base;
    const collage_layout *layout = &candidate->output_layouts[0];
    uint32_t *parts = arena_array(b->plan->arena, base->input_count, sizeof *parts);
    if (!parts) {
        error_memory(b->error);
        return false;
    }
    for (uint32_t k = 0; k < base->input_count; k++) {
        parts[k] = need(b, base->inputs[k], layout);
        if (parts[k] == GRAPH_NONE)
            return false;
    }
    struct plan_tensor tensor = { .value = base->outputs[0],
                                  .layout = *layout,
                                  .shares = GRAPH_NONE };
    uint32_t whole = add_tensor(b, &tensor, true);
    if (whole == GRAPH_NONE || !put_parts(b, node, parts, whole))
        return false;
    struct plan_step *step = add_step(b, PLAN_JOIN, GRAPH_NONE, base->input_count, 1);
    if (!step)
        return false;
    memcpy(step->inputs, parts, base->input_count * sizeof *parts);
    step->outputs[0] = whole;
    return give_back(b, tensor.value);
}

static bool add_cuts(struct builder *b, const struct candidate *candidate)
{
    const struct region *region = &candidate->region;
    uint32_t from = need(b, region->inputs[0], &candidate->input_layouts[0]);
    if (from == GRAPH_NONE)
        return false;
    if (b->tensors[from].tensor.place != PLAN_ARENA) {
        error_set(b->error, COLLAGE_ERROR_INTERNAL, "'%s' is cut, but not in our memory",
                  value_name(b, region->inputs[0]));
        return false;
    }
    for (uint32_t k = 0; k < region->output_count; k++) {
        struct plan_tensor tensor = { .value = region->outputs[k],
                                      .layout = candidate->output_layouts[k],
                                      .shares = from };
        if (add_tensor(b, &tensor, true) == GRAPH_NONE || !give_back(b, tensor.value))
            return false;
    }
    return true;
}

static bool add_shown(struct builder *b, const struct candidate *candidate)
{
    node_id node = candidate->region.nodes[0];
    if (!candidate->part)
        return add_view(b, &b->graph->nodes[node]);
    return parts_is_join(b->graph, node) ? add_join(b, candidate) : add_cuts(b, candidate);
}

static bool name_kernel(struct builder *b, const struct candidate *candidate,
                        struct plan_step *step)
{
    struct arena *arena = b->plan->arena;
    const struct cost *cost = &candidate->cost;
    step->node_count = candidate->region.node_count;
    step->nodes = arena_copy(arena, candidate->region.nodes, step->node_count * sizeof(node_id));
    step->variant = arena_string(arena, candidate->variant ? candidate->variant : "");
    step->pattern = arena_string(arena, candidate->pattern ? candidate->pattern : "");
    step->implementation = arena_string(arena, cost->implementation ? cost->implementation : "");
    step->cost_ns = cost->state == COST_MEASURED ? cost->cost_ns : 0;
    step->given = step->cost_ns > 0 && cost->giver;
    b->plan->needs_code = b->plan->needs_code || candidate->code;
    if (cost->schedule)
        step->schedule = arena_string(arena, cost->schedule);
    if ((cost->schedule && !step->schedule) || !step->nodes || !step->variant || !step->pattern ||
        !step->implementation) {
        error_memory(b->error);
        return false;
    }
    return true;
}

static bool add_kernel(struct builder *b, candidate_id id)
{
    const struct candidate *candidate = &b->problem->set->items[id];
    const struct region *region = &candidate->region;
    for (uint32_t k = 0; k < region->input_count; k++) /* reorders go before the kernel */
        if (need(b, region->inputs[k], &candidate->input_layouts[k]) == GRAPH_NONE)
            return false;
    struct plan_step *step =
        add_step(b, PLAN_KERNEL, id, region->input_count, region->output_count);
    if (!step || !name_kernel(b, candidate, step))
        return false;
    step->backend = use_backend(b, candidate->backend);
    for (uint32_t k = 0; k < region->input_count; k++)
        step->inputs[k] = find_tensor(b, region->inputs[k], &candidate->input_layouts[k]);
    for (uint32_t k = 0; k < region->output_count; k++) {
        step->outputs[k] = add_written(b, region->outputs[k], &candidate->output_layouts[k]);
        if (step->outputs[k] == GRAPH_NONE)
            return false;
    }
    for (uint32_t k = 0; k < region->output_count; k++)
        if (!give_back(b, region->outputs[k]))
            return false;
    return true;
}

static bool add_all(struct builder *b, const struct placement *placement)
{
    for (size_t k = 0; k < placement->count; k++) {
        const struct candidate *candidate = &b->problem->set->items[placement->chosen[k]];
        bool ok = candidate->view ? add_shown(b, candidate) : add_kernel(b, placement->chosen[k]);
        if (!ok)
            return false;
    }
    for (uint32_t port = 0; port < b->graph->output_count; port++) {
        value_id value = b->graph->outputs[port];
        if (b->graph->values[value].kind == VALUE_COMPUTED)
            continue; /* given back where it was made */
        bool first = output_port(b->graph, value) == port;
        if (first && !give_back(b, value))
            return false;
    }
    return true;
}

/* Moves what was built into the plan. */
static collage_status finish(struct builder *b)
{
    struct plan *plan = b->plan;
    const struct registry *registry = b->problem->set->registry;
    plan->tensor_count = (uint32_t)b->tensor_count;
    plan->step_count = (uint32_t)b->step_count;
    plan->backend_count = b->backend_count;
    plan->tensors = arena_array(plan->arena, b->tensor_count, sizeof *plan->tensors);
    plan->steps = arena_array(plan->arena, b->step_count, sizeof *plan->steps);
    plan->backends = arena_array(plan->arena, b->backend_count, sizeof *plan->backends);
    if (!plan->tensors || !plan->steps || !plan->backends)
        return error_memory(b->error);
    for (size_t t = 0; t < b->tensor_count; t++)
        plan->tensors[t] = b->tensors[t].tensor;
    for (size_t s = 0; s < b->step_count; s++)
        plan->steps[s] = b->steps[s].step;
    for (uint32_t k = 0; k < registry->count; k++) {
        if (b->backends[k] == GRAPH_NONE)
            continue;
        struct plan_backend *backend = &plan->backends[b->backends[k]];
        const struct backend_entry *entry = &registry->entries[k];
        backend->name = arena_string(plan->arena, entry->name);
        backend->version = arena_string(plan->arena, entry->version ? entry->version : "");
        if (!backend->name || !backend->version)
            return error_memory(b->error);
    }
    collage_status status = plan_order_tensors(plan, b->error);
    return status ? status : plan_share_in_place(plan, b->problem->set, b->steps, b->error);
}

/* What the plan says of itself: the model, its shapes, the machine. */
static collage_status describe(struct plan *plan, const struct place_problem *problem,
                               const struct placement *placement, const char *device,
                               struct error *error)
{
    const struct graph *graph = problem->set->graph;
    plan->graph = graph_hash(graph);
    if (hash_equal(plan->graph, (struct hash){ 0 })) /* what it gives out of memory */
        return error_memory(error);
    plan->source = graph->source;
    plan->threads = problem->set->target.threads;
    plan->predicted_ns = placement->cost_ns;
    plan->optimal = placement->optimal;
    plan->bound_ns = placement->bound_ns;
    plan->device = arena_string(plan->arena, device ? device : "");
    plan->device_name = "";
    plan->collage_version = arena_format(plan->arena, "%d.%d.%d", COLLAGE_VERSION_MAJOR,
                                         COLLAGE_VERSION_MINOR, COLLAGE_VERSION_PATCH);
    plan->shape_count = graph->input_count;
    plan->shapes = arena_array(plan->arena, graph->input_count, sizeof *plan->shapes);
    plan->model_path = plan_absolute_path(plan->arena, graph->path ? graph->path : "");
    if (!plan->device || !plan->collage_version || !plan->shapes || !plan->model_path)
        return error_memory(error);
    for (uint32_t k = 0; k < graph->input_count; k++) {
        const struct value *value = &graph->values[graph->inputs[k]];
        collage_shape *shape = &plan->shapes[k];
        shape->name = arena_string(plan->arena, value->name);
        if (!shape->name)
            return error_memory(error);
        shape->rank = value->tensor.rank;
        memcpy(shape->dims, value->tensor.dims, sizeof shape->dims);
    }
    return COLLAGE_OK;
}

static collage_status build(struct builder *b, const struct placement *placement,
                            const char *device)
{
    size_t values = b->graph->value_count, entries = b->problem->set->registry->count;
    b->first_tensor = memory_alloc(values * sizeof *b->first_tensor);
    b->backends = memory_alloc(entries * sizeof *b->backends);
    if (!b->first_tensor || !b->backends)
        return error_memory(b->error);
    memset(b->first_tensor, 0xff, values * sizeof *b->first_tensor); /* GRAPH_NONE */
    memset(b->backends, 0xff, entries * sizeof *b->backends);
    collage_status status = describe(b->plan, b->problem, placement, device, b->error);
    if (status == COLLAGE_OK && !add_all(b, placement))
        status = b->error->status;
    if (status == COLLAGE_OK)
        status = finish(b);
    if (status == COLLAGE_OK)
        status = plan_memory(b->plan, b->graph, b->error);
    if (status == COLLAGE_OK)
        status = plan_verify(b->plan, b->graph, b->error);
    return status;
}

struct plan *plan_create(struct error *error)
{
    struct arena *arena = arena_create();
    struct plan *plan = arena ? arena_alloc(arena, sizeof *plan) : NULL;
    if (!plan) {
        arena_destroy(arena);
        error_memory(error);
        return NULL;
    }
    plan->arena = arena;
    plan->model_path = plan->device = plan->device_name = plan->collage_version = "";
    return plan;
}

collage_status plan_build(const struct place_problem *problem, const struct placement *placement,
                          const char *device, struct plan **out, struct error *error)
{
    *out = NULL;
    struct error own = { 0 }; /* so that helpers can tell by it what went wrong */
    struct plan *plan = plan_create(&own);
    if (!plan)
        return error_set(error, own.status, "%s", own.text);
    struct builder b = {
        .problem = problem, .graph = problem->set->graph, .plan = plan, .error = &own
    };
    collage_status status = build(&b, placement, device);
    memory_free(b.tensors);
    memory_free(b.steps);
    memory_free(b.first_tensor);
    memory_free(b.backends);
    if (status != COLLAGE_OK) {
        plan_destroy(plan);
        return error_set(error, status, "%s", own.text);
    }
    *out = plan;
    return COLLAGE_OK;
}
