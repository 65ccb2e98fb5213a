/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concat, Split and Slice without kernels, the real stages one after the other: networks drawn at
 * random on the built-in backend and on one that runs the same kernels in blocks of channels.
 */
#include "unit/run/fake.h"

#include "base/hash.h"
#include "graph/parts.h"
#include "pattern/enumerate.h"
#include "place/place.h"
#include "run/session.h"
#include "unit/run/lay_in_lanes.h"

enum { SIDE = 4, MAX_VALUES = 40, MAX_JOINED = 4, ROUNDS = 1000 };

static uint64_t seed;

static uint32_t draw(uint32_t limit)
{
    return (uint32_t)(splitmix64(&seed) >> 33) % limit;
}

/* ---- the backend: the reference's kernels, in blocks ---- */

static const struct backend_entry *reference;

/* Behind the name collage_kernel stands the fake's: this one is passed under it. */
struct blocked_kernel {
    collage_kernel *inner;
    uint32_t input_count, output_count;
    struct tensor inputs[MAX_JOINED], outputs[MAX_JOINED];
    collage_layout input_layouts[MAX_JOINED], output_layouts[MAX_JOINED];
    bool in_place;
};

static bool blocked_supports(const collage_subgraph *subgraph, const collage_target *target,
                             collage_message *why)
{
    return subgraph->input_count <= MAX_JOINED && subgraph->output_count <= MAX_JOINED &&
           reference->api->supports(subgraph, target, why);
}

static bool blocked_variant(const collage_subgraph *subgraph, const collage_target *target,
                            size_t index, collage_variant *out)
{
    (void)target;
    snprintf(out->name, sizeof out->name, "blocks");
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (subgraph->values[subgraph->inputs[k]]->rank == 4)
            out->inputs[k] = layout_tag("aBcd8b");
    for (uint32_t k = 0; k < subgraph->output_count; k++)
        if (subgraph->values[subgraph->outputs[k]]->rank == 4)
            out->outputs[k] = layout_tag("aBcd8b");
    return index == 0;
}

static struct tensor row_major(const collage_value *value)
{
    struct tensor tensor = { .dtype = value->dtype, .rank = value->rank };
    memcpy(tensor.dims, value->dims, (size_t)value->rank * sizeof *value->dims);
    tensor.data = calloc(1, value->bytes + 1);
    return tensor;
}

static collage_status blocked_compile(collage_backend *backend,
                                      const collage_compile_request *request, collage_kernel **out,
                                      collage_message *message)
{
    (void)backend;
    const collage_subgraph *s = request->subgraph;
    struct blocked_kernel *kernel = calloc(1, sizeof *kernel);
    collage_layout plain[2 * MAX_JOINED] = { { "" } };
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = plain,
                                .outputs = plain + MAX_JOINED };
    collage_compile_request inner = *request;
    inner.variant = &variant;
    kernel->input_count = s->input_count;
    kernel->output_count = s->output_count;
    for (uint32_t k = 0; k < s->input_count; k++) {
        kernel->inputs[k] = row_major(s->values[s->inputs[k]]);
        kernel->input_layouts[k] = request->variant->inputs[k];
    }
    for (uint32_t k = 0; k < s->output_count; k++) {
        kernel->outputs[k] = row_major(s->values[s->outputs[k]]);
        kernel->output_layouts[k] = request->variant->outputs[k];
    }
    const char *op = s->nodes[0]->op_type;
    kernel->in_place = strcmp(op, "Relu") == 0 || strcmp(op, "Add") == 0;
    *out = (collage_kernel *)(void *)kernel;
    return reference->api->compile(reference->open, &inner, &kernel->inner, message);
}

static void blocked_info(const collage_kernel *given, collage_kernel_info *info)
{
    const struct blocked_kernel *kernel = (const void *)given;
    info->inplace_count = kernel->in_place; /* output 0 in input 0 */
}

/* An output lies on no input, but for the pair of blocked_info. */
static void check_apart(const struct blocked_kernel *kernel, const void *const *inputs,
                        void *const *outputs)
{
    for (uint32_t o = 0; o < kernel->output_count; o++) {
        const char *to = outputs[o];
        uint64_t size = layout_bytes(&kernel->output_layouts[o], &kernel->outputs[o]);
        assert_int_equal((uintptr_t)to % sizeof(float), 0);
        for (uint32_t k = 0; k < kernel->input_count; k++) {
            const char *from = inputs[k];
            uint64_t bytes = layout_bytes(&kernel->input_layouts[k], &kernel->inputs[k]);
            if (kernel->in_place && o == 0 && k == 0 && to == from)
                continue;
            assert_true(to >= from + bytes || from >= to + size);
        }
    }
}

static collage_status blocked_run(collage_kernel *given, collage_stream *stream,
                                  const void *const *inputs, void *const *outputs, void *scratch,
                                  collage_message *message)
{
    struct blocked_kernel *kernel = (void *)given;
    const collage_layout plain = layout_plain();
    const void *from[MAX_JOINED];
    void *to[MAX_JOINED];
    check_apart(kernel, inputs, outputs);
    for (uint32_t k = 0; k < kernel->input_count; k++) {
        struct tensor tensor = kernel->inputs[k];
        memcpy(&tensor.data, &inputs[k], sizeof tensor.data);
        OK(layout_convert(&tensor, &kernel->input_layouts[k], kernel->inputs[k].data, &plain,
                          NULL));
        from[k] = kernel->inputs[k].data;
    }
    for (uint32_t k = 0; k < kernel->output_count; k++)
        to[k] = kernel->outputs[k].data;
    collage_status status = reference->api->run(kernel->inner, stream, from, to, scratch, message);
    for (uint32_t k = 0; k < kernel->output_count; k++)
        OK(layout_convert(&kernel->outputs[k], &plain, outputs[k], &kernel->output_layouts[k],
                          NULL));
    return status;
}

static void blocked_destroy(collage_kernel *given)
{
    struct blocked_kernel *kernel = (void *)given;
    reference->api->kernel_destroy(kernel->inner);
    for (uint32_t k = 0; k < kernel->input_count; k++)
        free(kernel->inputs[k].data);
    for (uint32_t k = 0; k < kernel->output_count; k++)
        free(kernel->outputs[k].data);
    free(kernel);
}

static const collage_pattern patterns[] = { { "all", "(Relu|Add|Concat|Slice|Split|Flatten)" } };
static const collage_backend_api blocked_api = { .struct_size = sizeof blocked_api,
                                                 .abi_major = COLLAGE_ABI_MAJOR,
                                                 .name = "blocked",
                                                 .kind = COLLAGE_OP_LEVEL,
                                                 .thread_flags = COLLAGE_THREADS_CONCURRENT,
                                                 .patterns = patterns,
                                                 .pattern_count = 1,
                                                 .supports = blocked_supports,
                                                 .variant = blocked_variant,
                                                 .open = fake_open,
                                                 .close = fake_close,
                                                 .version = fake_version,
                                                 .compile = blocked_compile,
                                                 .kernel_info = blocked_info,
                                                 .run = blocked_run,
                                                 .kernel_destroy = blocked_destroy };

static struct registry *both(struct fake_world *world)
{
    struct registry *registry;
    OK(registry_create("", NULL, NULL, &registry, NULL));
    assert_int_equal(registry->count, 1);
    struct backend_entry *entries = arena_array(registry->arena, 2, sizeof *entries);
    entries[0] = registry->entries[0];
    entries[1] = (struct backend_entry){
        .api = &blocked_api, .name = "blocked", .file = "", .problem = "", .version = "1.0"
    };
    registry->entries = entries;
    registry->count = 2;
    registry->host.context = world;
    reference = &entries[0];
    const collage_target target = registry_host_target(1);
    OK(registry_open(registry, 0, &target, NULL));
    OK(registry_open(registry, 1, &target, NULL));
    return registry;
}

/* ---- networks ---- */

struct network {
    struct graph *graph;
    value_id images[MAX_VALUES]; /* of rank 4 */
    uint32_t count;
    value_id joined[MAX_JOINED]; /* what the last Concat put together */
    uint32_t joined_count;
};

static int64_t channels(const struct network *n, value_id value)
{
    return n->graph->values[value].tensor.dims[1];
}

static value_id add_node(struct network *n, const char *op, const value_id *inputs, uint32_t count,
                         uint32_t output_count, int64_t axis)
{
    const collage_attribute attribute = { .name = "axis",
                                          .kind = COLLAGE_ATTRIBUTE_INT,
                                          .i = axis };
    struct tensor unknown = { .dtype = COLLAGE_FLOAT32 };
    value_id outputs[2];
    for (uint32_t k = 0; k < output_count; k++)
        outputs[k] = fake_value(n->graph, VALUE_COMPUTED, &unknown);
    char name[32];
    snprintf(name, sizeof name, "n%zu", n->graph->node_count);
    node_id node = graph_add_node(n->graph, op_find(op), name, inputs, count, outputs, output_count,
                                  &attribute, axis >= 0);
    assert_int_not_equal(node, GRAPH_NONE);
    OK(graph_infer_node(n->graph, node, NULL));
    for (uint32_t k = 0; k < output_count; k++)
        if (n->graph->values[outputs[k]].tensor.rank == 4)
            n->images[n->count++] = outputs[k];
    return outputs[0];
}

static value_id integers(struct network *n, int64_t first, int64_t second, int64_t count)
{
    struct tensor tensor = { .dtype = COLLAGE_INT64, .rank = 1, .dims = { count } };
    int64_t *data = arena_array(n->graph->arena, 2, sizeof *data);
    data[0] = first;
    data[1] = second;
    tensor.data = data;
    return fake_value(n->graph, VALUE_CONSTANT, &tensor);
}

static value_id any(const struct network *n)
{
    uint32_t back = draw(n->count < 6 ? n->count : 6); /* rather a new one */
    return n->images[n->count - 1 - back];
}

static void add_concat(struct network *n)
{
    uint32_t count = 0, wanted = 1 + draw(MAX_JOINED);
    int64_t sum = 0;
    if (draw(2) == 0 && n->joined_count + 1 < MAX_JOINED) { /* as dense blocks do */
        count = n->joined_count;
        wanted = count + 1;
    }
    for (uint32_t k = 0; k < wanted; k++) {
        if (k >= count)
            n->joined[k] = any(n);
        sum += channels(n, n->joined[k]);
    }
    n->joined_count = sum > 200 ? 0 : wanted;
    if (n->joined_count)
        add_node(n, "Concat", n->joined, wanted, 1, 1);
}

static void add_cut(struct network *n)
{
    value_id x = any(n);
    int64_t whole = channels(n, x), unit = draw(3) ? 8 : 4;
    if (whole < 2 * unit)
        return;
    int64_t first = unit * (int64_t)draw((uint32_t)(whole / unit));
    if (draw(2) && first > 0) {
        value_id inputs[] = { x, integers(n, first, whole - first, 2) };
        add_node(n, "Split", inputs, 2, 2, 1);
        return;
    }
    int64_t end = first + unit * (1 + (int64_t)draw((uint32_t)((whole - first) / unit)));
    value_id inputs[] = { x, integers(n, first, 0, 1), integers(n, end, 0, 1),
                          integers(n, 1, 0, 1) };
    add_node(n, "Slice", inputs, 4, 1, -1);
}

static void add_any(struct network *n)
{
    value_id x = any(n), inputs[2] = { x, x };
    switch (draw(6)) {
    case 0:
    case 1:
        add_concat(n);
        break;
    case 2:
        add_cut(n);
        break;
    case 3:
        for (int tries = 0; tries < 8 && inputs[1] == x; tries++) {
            value_id other = any(n);
            inputs[1] = channels(n, other) == channels(n, x) ? other : x;
        }
        add_node(n, "Add", inputs, 2, 1, -1);
        break;
    default:
        add_node(n, "Relu", inputs, 1, 1, -1);
        break;
    }
}

/* What nobody uses, and now and then something else, is an output. */
static struct graph *random_network(void)
{
    struct network n = { .graph = fake_graph() };
    for (int k = 0; k < 2; k++) {
        struct tensor image = { .dtype = COLLAGE_FLOAT32,
                                .rank = 4,
                                .dims = { 1, k ? 16 : 12 + 4 * (int64_t)draw(3), SIDE, SIDE } };
        n.images[n.count++] = fake_value(n.graph, VALUE_INPUT, &image);
    }
    value_id inputs[] = { n.images[0], n.images[1] };
    add_node(&n, "Relu", &inputs[0], 1, 1, -1);
    for (uint32_t k = 4 + draw(14); k > 0 && n.count + 2 < MAX_VALUES; k--)
        add_any(&n);
    struct graph_uses uses;
    value_id outputs[MAX_VALUES];
    uint32_t count = 0;
    OK(graph_uses_build(n.graph, &uses, NULL));
    for (uint32_t k = 2; k < n.count; k++)
        if (uses.first[n.images[k]] == uses.first[n.images[k] + 1] || draw(12) == 0)
            outputs[count++] = n.images[k];
    graph_uses_free(&uses);
    fake_ports(n.graph, inputs, 2, outputs, count);
    return n.graph;
}

/* ---- from network to run ---- */

/* How often which way was taken, so that none is left out. */
static struct {
    uint32_t joins, beginnings, copies, cuts, blocked;
} taken;

static void count_ways(const struct plan *plan)
{
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const struct plan_tensor *to = &plan->tensors[step->outputs[0]];
        taken.joins += step->kind == PLAN_JOIN;
        taken.blocked += step->kind == PLAN_JOIN && to->layout.tag[0] != '\0';
        taken.beginnings += step->kind == PLAN_JOIN && to->shares != GRAPH_NONE;
        taken.copies += step->kind == PLAN_COPY && to->shares != GRAPH_NONE;
    }
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        taken.cuts += plan->tensors[t].shares != GRAPH_NONE && plan->tensors[t].offset != 0;
}

static bool are_distinct(const collage_node *base)
{
    for (uint32_t k = 0; k < base->input_count; k++)
        for (uint32_t other = 0; other < k; other++)
            if (base->inputs[other] == base->inputs[k])
                return false;
    return true;
}

/* Beyond what is offered: Concat of what cannot all be made in its place. */
static void offer_more(struct candidate_set *set)
{
    static const char *const tags[] = { "", "aBcd8b" };
    for (node_id node = 0; node < set->graph->node_count; node++)
        for (int k = 0; k < 2; k++) {
            const collage_layout layout = layout_tag(tags[k]);
            const collage_node *base = &set->graph->nodes[node].base;
            if (draw(3) == 0 && are_distinct(base) && parts_join(set->graph, node, &layout, NULL))
                OK(candidate_set_add_part(set, node, &layout, NULL));
        }
}

static void set_costs(struct candidate_set *set)
{
    for (size_t k = 0; k < set->count; k++) {
        struct candidate *c = &set->items[k];
        if (c->view)
            continue;
        c->cost = (struct cost){
            .state = COST_MEASURED, .cost_ns = 100 + draw(100), .implementation = "", .reason = ""
        };
        const char *op = set->graph->nodes[c->region.nodes[0]].op->name;
        c->cost.inplace_count =
            c->backend == 1 && (strcmp(op, "Relu") == 0 || strcmp(op, "Add") == 0);
    }
}

static struct plan *make_plan(const struct graph *graph, struct registry *registry, bool more)
{
    const bool enabled[] = { true, true };
    const collage_layout plain = layout_plain(), blocks = layout_tag("aBcd8b");
    const collage_target target = registry_host_target(1);
    struct candidate_set *set;
    struct placement placement;
    struct plan *plan = NULL;
    struct error error = { 0 };
    OK(candidate_set_create(graph, registry, &target, &set, &error));
    OK(candidate_set_enumerate(set, enabled, &error));
    if (more)
        offer_more(set);
    set_costs(set);
    struct transition *transitions = calloc(2 * graph->value_count, sizeof *transitions);
    struct place_problem problem = { .set = set, .enabled = enabled, .transitions = transitions };
    for (value_id v = 0; v < graph->value_count; v++) {
        if (graph->values[v].tensor.rank != 4)
            continue;
        transitions[problem.transition_count++] = (struct transition){ v, plain, blocks, 1, 40 };
        transitions[problem.transition_count++] = (struct transition){ v, blocks, plain, 1, 40 };
    }
    if (place_dynamic(&problem, &placement, &error) != COLLAGE_OK ||
        plan_build(&problem, &placement, "", &plan, &error) != COLLAGE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.text);
    placement_free(&placement);
    candidate_set_destroy(set);
    free(transitions);
    return plan;
}

static struct plan *save_and_read(struct plan *plan, const struct graph *graph)
{
    struct error error = { 0 };
    struct plan *read = NULL;
    json_t *json;
    OK(plan_to_json(plan, graph, &json, &error));
    if (plan_from_json(json, graph, &read, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(read->arena_bytes, plan->arena_bytes);
    json_decref(json);
    plan_destroy(plan);
    return read;
}

/* All values, row-major, by the operators' own functions. */
static void evaluate(const struct graph *graph, struct tensor *values)
{
    for (node_id node = 0; node < graph->node_count; node++) {
        const collage_node *base = &graph->nodes[node].base;
        const struct tensor *inputs[MAX_JOINED];
        struct tensor outputs[2];
        for (uint32_t k = 0; k < base->input_count; k++)
            inputs[k] = &values[base->inputs[k]];
        for (uint32_t k = 0; k < base->output_count; k++)
            outputs[k] = values[base->outputs[k]];
        struct op_call call = { base, base->input_count, base->output_count, inputs, outputs };
        OK(graph->nodes[node].op->compute(&call, NULL));
    }
}

static void run_and_compare(const struct graph *graph, const struct plan *plan,
                            struct registry *registry)
{
    struct session *session = NULL;
    struct error error = { 0 };
    struct tensor *values = calloc(graph->value_count, sizeof *values);
    const void *inputs[2];
    void *outputs[MAX_VALUES];
    if (session_create(graph, plan, registry, &session, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    for (value_id v = 0; v < graph->value_count; v++) {
        values[v] = graph->values[v].tensor;
        if (graph->values[v].kind != VALUE_CONSTANT)
            values[v].data = calloc(1, tensor_bytes(&values[v]));
    }
    for (uint32_t k = 0; k < graph->output_count; k++)
        outputs[k] = calloc(1, tensor_bytes(&values[graph->outputs[k]]));
    for (int run = 0; run < 2; run++) {
        for (uint32_t k = 0; k < 2; k++) {
            float *data = values[graph->inputs[k]].data;
            inputs[k] = data;
            for (int64_t i = 0; i < tensor_elements(&values[graph->inputs[k]]); i++)
                data[i] = (float)draw(1000) / 100 - 5;
        }
        evaluate(graph, values);
        if (session_run(session, inputs, outputs, &error) != COLLAGE_OK)
            fail_msg("%s", error.text);
        for (uint32_t k = 0; k < graph->output_count; k++)
            assert_memory_equal(outputs[k], values[graph->outputs[k]].data,
                                tensor_bytes(&values[graph->outputs[k]]));
    }
    session_destroy(session);
    for (uint32_t k = 0; k < graph->output_count; k++)
        free(outputs[k]);
    for (value_id v = 0; v < graph->value_count; v++)
        if (graph->values[v].kind != VALUE_CONSTANT)
            free(values[v].data);
    free(values);
}

static void random_networks_run(void **state)
{
    (void)state;
    struct fake_world world = { 0 };
    struct registry *registry = both(&world);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        seed = round;
        struct graph *graph = random_network();
        struct plan *plan = make_plan(graph, registry, round % 3 == 0);
        count_ways(plan);
        plan = save_and_read(plan, graph);
        run_and_compare(graph, plan, registry);
        plan_destroy(plan);
        graph_destroy(graph);
    }
    registry_destroy(registry);
    assert_true(taken.joins > ROUNDS / 4 && taken.blocked > 60 && taken.beginnings > 30);
    assert_true(taken.copies > 20 && taken.cuts > ROUNDS / 4);
}

/* ---- side by side ---- */

static void random_networks_run_in_lanes(void **state)
{
    (void)state;
    struct fake_world world = { 0 };
    struct registry *registry = both(&world);
    uint32_t in_lanes = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        seed = 10000 + round;
        struct graph *graph = random_network();
        struct plan *plan = make_plan(graph, registry, round % 3 == 0);
        plan = save_and_read(lay_in_lanes(plan, graph, &seed, &in_lanes), graph);
        run_and_compare(graph, plan, registry);
        plan_destroy(plan);
        graph_destroy(graph);
    }
    registry_destroy(registry);
    assert_true(in_lanes > ROUNDS);
}

/* ---- plans of unknown origin ---- */

/* What shares, and where tensors lie, is changed at random: whatever passes runs rightly. */
static void changed_plans_are_refused(void **state)
{
    (void)state;
    struct fake_world world = { 0 };
    struct registry *registry = both(&world);
    uint32_t refused = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        seed = round;
        struct graph *graph = random_network();
        struct plan *plan = make_plan(graph, registry, true);
        struct error error = { 0 };
        uint32_t t = draw(plan->tensor_count), s = draw(plan->step_count);
        struct plan_step *step = &plan->steps[s];
        switch (draw(4)) {
        case 0:
            plan->tensors[t].shares = t > 0 ? draw(t) : GRAPH_NONE;
            break;
        case 1:
            plan->tensors[t].shares = GRAPH_NONE;
            break;
        case 2:
            step->outputs[0] = t;
            break;
        default:
            if (step->input_count > 0)
                step->inputs[draw(step->input_count)] = t;
            break;
        }
        collage_status status = plan_memory(plan, graph, &error);
        if (status == COLLAGE_OK)
            status = plan_verify(plan, graph, &error);
        if (status == COLLAGE_OK) { /* a kernel may refuse to write into that input */
            struct session *session = NULL;
            status = session_create(graph, plan, registry, &session, &error);
            session_destroy(session);
            assert_true(status == COLLAGE_OK || status == COLLAGE_ERROR_MISMATCH);
        }
        if (status == COLLAGE_OK)
            run_and_compare(graph, plan, registry);
        refused += status != COLLAGE_OK;
        plan_destroy(plan);
        graph_destroy(graph);
    }
    registry_destroy(registry);
    assert_true(refused > ROUNDS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_networks_run),
        cmocka_unit_test(random_networks_run_in_lanes),
        cmocka_unit_test(changed_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
