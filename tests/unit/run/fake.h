/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake.h: graphs, candidates and backends made by hand, for the tests of plan, run and report. The
 * operators are a few of our own making under known names; the fake backends run them on row-major
 * copies and store what comes out in whatever layout the variant says.
 */
#ifndef COLLAGE_TESTS_FAKE_H
#define COLLAGE_TESTS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/subgraph.h"
#include "plan/plan.h"
#include "tensor/layout.h"

#define OK(call) assert_int_equal(call, COLLAGE_OK)

/* ---- operators: none commutes, so that a mix-up shows ---- */

static inline collage_status fake_infer(const struct op_call *call, struct error *error)
{
    (void)call;
    (void)error;
    return COLLAGE_OK;
}

static inline collage_status fake_relu(const struct op_call *call, struct error *error)
{
    (void)error;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tensor_elements(call->inputs[0]); i++)
        y[i] = x[i] < 0 ? -x[i] / 2 : x[i] / 2 + 1;
    return COLLAGE_OK;
}

static inline collage_status fake_add(const struct op_call *call, struct error *error)
{
    (void)error;
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    float *y = call->outputs[0].data;
    for (int64_t i = 0; i < tensor_elements(call->inputs[0]); i++)
        y[i] = a[i] - b[i] / 4;
    return COLLAGE_OK;
}

static inline collage_status fake_split(const struct op_call *call, struct error *error)
{
    (void)error;
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0].data, *z = call->outputs[1].data;
    for (int64_t i = 0; i < tensor_elements(call->inputs[0]); i++) {
        y[i] = x[i] * 0.75f;
        z[i] = 3 - x[i];
    }
    return COLLAGE_OK;
}

static inline collage_status fake_view(const struct op_call *call, struct error *error)
{
    (void)error;
    memcpy(call->outputs[0].data, call->inputs[0]->data, tensor_bytes(call->inputs[0]));
    return COLLAGE_OK;
}

static inline double fake_count(const struct op_call *call)
{
    return (double)tensor_elements(call->inputs[0]);
}

static const struct op fake_ops[] = {
    { "Relu", 1, 1, 1, 1, OP_ELEMENTWISE, fake_infer, fake_relu, fake_count, 2 },
    { "Add", 2, 2, 1, 1, OP_ELEMENTWISE, fake_infer, fake_add, fake_count, 1 },
    { "Split", 1, 1, 2, 2, 0, fake_infer, fake_split, fake_count, 0 },
    { "Reshape", 1, 1, 1, 1, OP_VIEW, fake_infer, fake_view, fake_count, 0 },
    { "Identity", 1, 1, 1, 1, OP_VIEW, fake_infer, fake_view, fake_count, 0 },
};
enum { FAKE_RELU, FAKE_ADD, FAKE_SPLIT, FAKE_RESHAPE, FAKE_IDENTITY, FAKE_OPS };

static inline const struct op *fake_find(const char *name)
{
    for (int k = 0; k < FAKE_OPS; k++)
        if (strcmp(fake_ops[k].name, name) == 0)
            return &fake_ops[k];
    return NULL;
}

/* ---- graphs ---- */

/* Every value has the same number of elements: as an image or as a matrix. */
static inline struct tensor fake_image(void)
{
    return (struct tensor){ .dtype = COLLAGE_FLOAT32, .rank = 4, .dims = { 1, 6, 2, 3 } };
}

static inline struct tensor fake_matrix(void)
{
    return (struct tensor){ .dtype = COLLAGE_FLOAT32, .rank = 2, .dims = { 6, 6 } };
}

static inline value_id fake_value(struct graph *graph, enum value_kind kind,
                                  const struct tensor *tensor)
{
    char name[32];
    snprintf(name, sizeof name, "v%zu", graph->value_count);
    value_id value = graph_add_value(graph, name, kind, tensor);
    assert_int_not_equal(value, GRAPH_NONE);
    return value;
}

/* Adds a node; gives its first output (a second one follows it). shape NULL: as the first input. */
static inline value_id fake_node(struct graph *graph, int op, value_id a, value_id b,
                                 const struct tensor *shape)
{
    struct tensor like = shape ? *shape : graph->values[a].tensor;
    like.data = NULL;
    char name[32];
    snprintf(name, sizeof name, "n%zu", graph->node_count);
    value_id inputs[2] = { a, b }, outputs[2];
    outputs[0] = fake_value(graph, VALUE_COMPUTED, &like);
    outputs[1] = op == FAKE_SPLIT ? fake_value(graph, VALUE_COMPUTED, &like) : GRAPH_NONE;
    node_id node = graph_add_node(graph, &fake_ops[op], name, inputs, op == FAKE_ADD ? 2 : 1,
                                  outputs, op == FAKE_SPLIT ? 2 : 1, NULL, 0);
    assert_int_not_equal(node, GRAPH_NONE);
    return outputs[0];
}

static inline struct graph *fake_graph(void)
{
    struct graph *graph = graph_create();
    assert_non_null(graph);
    graph->name = "fake";
    graph->path = "";
    return graph;
}

static inline void fake_ports(struct graph *graph, const value_id *inputs, uint32_t input_count,
                              const value_id *outputs, uint32_t output_count)
{
    OK(graph_set_inputs(graph, inputs, input_count, NULL));
    OK(graph_set_outputs(graph, outputs, output_count, NULL));
}

/* The values of the whole graph, row-major; freed with fake_values_free. */
static inline float **fake_evaluate(const struct graph *graph, const void *const *inputs)
{
    float **values = calloc(graph->value_count, sizeof *values);
    for (size_t v = 0; v < graph->value_count; v++) {
        values[v] = calloc(1, tensor_bytes(&graph->values[v].tensor) + 1);
        if (graph->values[v].kind == VALUE_CONSTANT)
            memcpy(values[v], graph->values[v].tensor.data, tensor_bytes(&graph->values[v].tensor));
    }
    for (uint32_t k = 0; k < graph->input_count; k++)
        memcpy(values[graph->inputs[k]], inputs[k],
               tensor_bytes(&graph->values[graph->inputs[k]].tensor));
    for (size_t n = 0; n < graph->node_count; n++) {
        const collage_node *node = &graph->nodes[n].base;
        struct tensor in[2], out[2];
        const struct tensor *ins[2] = { &in[0], &in[1] };
        for (uint32_t k = 0; k < node->input_count; k++) {
            in[k] = graph->values[node->inputs[k]].tensor;
            in[k].data = values[node->inputs[k]];
        }
        for (uint32_t k = 0; k < node->output_count; k++) {
            out[k] = graph->values[node->outputs[k]].tensor;
            out[k].data = values[node->outputs[k]];
        }
        struct op_call call = { node, node->input_count, node->output_count, ins, out };
        graph->nodes[n].op->compute(&call, NULL);
    }
    return values;
}

static inline void fake_values_free(const struct graph *graph, float **values)
{
    for (size_t v = 0; v < graph->value_count; v++)
        free(values[v]);
    free(values);
}

/* ---- the backends ---- */

struct collage_kernel {
    struct collage_backend *backend;
    uint32_t index; /* how many this backend's world compiled before */
    uint32_t value_count, node_count, input_count, output_count;
    struct tensor *tensors; /* with memory of their own for each value, or a constant's */
    bool *constant;
    const struct op **ops;
    uint32_t (*node_inputs)[2], (*node_outputs)[2];
    uint32_t *inputs, *outputs;
    collage_layout *input_layouts, *output_layouts;
};

/* What the fake backends of a test share; user pointers are the test's. */
struct fake_world {
    uint32_t compiled, alive;
    int32_t threads[64]; /* of the first kernels' targets */
    bool no_in_place, no_variants, fail_run;
    void (*after)(struct fake_world *world, uint32_t kernel, const void *const *inputs,
                  void *const *outputs);
    void *user;
};

struct collage_backend {
    struct fake_world *world;
};

static inline bool fake_supports(const collage_subgraph *subgraph, const collage_target *target,
                                 collage_message *why)
{
    (void)target;
    for (uint32_t k = 0; k < subgraph->node_count; k++)
        if (!fake_find(subgraph->nodes[k]->op_type)) {
            snprintf(why->text, sizeof why->text, "no operator of ours");
            return false;
        }
    return true;
}

/* 0: row-major; 1 "block": all images blocked; 2 "mixed": in as NHWC, out blocked. */
static inline bool fake_variant(const collage_subgraph *subgraph, const collage_target *target,
                                size_t index, collage_variant *out)
{
    static const char *const names[] = { "plain", "block", "mixed" };
    static const char *const in[] = { "", "aBcd4b", "acdb" }, *const to[] = { "", "aBcd4b",
                                                                              "aBcd4b" };
    (void)target;
    if (index > 2)
        return false;
    snprintf(out->name, sizeof out->name, "%s", names[index]);
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (subgraph->values[subgraph->inputs[k]]->rank == 4)
            out->inputs[k] = layout_tag(in[index]);
    for (uint32_t k = 0; k < subgraph->output_count; k++)
        if (subgraph->values[subgraph->outputs[k]]->rank == 4)
            out->outputs[k] = layout_tag(to[index]);
    return true;
}

static inline collage_status fake_open(const collage_host *host, const collage_target *target,
                                       collage_backend **out, collage_message *message)
{
    (void)target;
    (void)message;
    *out = calloc(1, sizeof **out);
    (*out)->world = host->context;
    return COLLAGE_OK;
}

static inline void fake_close(collage_backend *backend)
{
    free(backend);
}

static inline const char *fake_version(const collage_backend *backend)
{
    (void)backend;
    return "1.0";
}

static inline void *fake_copy(const void *data, size_t bytes)
{
    void *copy = calloc(1, bytes + 1);
    memcpy(copy, data, bytes);
    return copy;
}

static inline void fake_copy_values(struct collage_kernel *kernel, const collage_subgraph *subgraph)
{
    kernel->tensors = calloc(subgraph->value_count + 1, sizeof *kernel->tensors);
    kernel->constant = calloc(subgraph->value_count + 1, sizeof *kernel->constant);
    for (uint32_t v = 0; v < subgraph->value_count; v++) {
        const collage_value *value = subgraph->values[v];
        struct tensor *tensor = &kernel->tensors[v];
        tensor->dtype = value->dtype;
        tensor->rank = value->rank;
        memcpy(tensor->dims, value->dims, (size_t)value->rank * sizeof *value->dims);
        kernel->constant[v] = value->data != NULL;
        tensor->data =
            value->data ? fake_copy(value->data, value->bytes) : calloc(1, value->bytes + 1);
    }
}

static inline collage_status fake_compile(collage_backend *backend,
                                          const collage_compile_request *request,
                                          collage_kernel **out, collage_message *message)
{
    (void)message;
    const collage_subgraph *s = request->subgraph;
    struct collage_kernel *kernel = calloc(1, sizeof *kernel);
    kernel->backend = backend;
    kernel->index = backend->world->compiled++;
    if (kernel->index < 64)
        backend->world->threads[kernel->index] = request->target->threads;
    backend->world->alive++;
    kernel->value_count = s->value_count;
    kernel->node_count = s->node_count;
    kernel->input_count = s->input_count;
    kernel->output_count = s->output_count;
    fake_copy_values(kernel, s);
    kernel->ops = calloc(s->node_count, sizeof *kernel->ops);
    kernel->node_inputs = calloc(s->node_count, sizeof *kernel->node_inputs);
    kernel->node_outputs = calloc(s->node_count, sizeof *kernel->node_outputs);
    for (uint32_t n = 0; n < s->node_count; n++) {
        kernel->ops[n] = fake_find(s->nodes[n]->op_type);
        for (uint32_t k = 0; k < s->nodes[n]->input_count && k < 2; k++)
            kernel->node_inputs[n][k] = s->nodes[n]->inputs[k];
        for (uint32_t k = 0; k < s->nodes[n]->output_count && k < 2; k++)
            kernel->node_outputs[n][k] = s->nodes[n]->outputs[k];
    }
    kernel->inputs = fake_copy(s->inputs, s->input_count * sizeof *s->inputs);
    kernel->outputs = fake_copy(s->outputs, s->output_count * sizeof *s->outputs);
    kernel->input_layouts =
        fake_copy(request->variant->inputs, s->input_count * sizeof(collage_layout));
    kernel->output_layouts =
        fake_copy(request->variant->outputs, s->output_count * sizeof(collage_layout));
    *out = kernel;
    return COLLAGE_OK;
}

/* Inputs are copied before anything is written: any pair is in place. */
static inline void fake_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->weight_bytes = 100;
    info->scratch_bytes = 64 * (kernel->index % 3);
    snprintf(info->implementation, sizeof info->implementation, "fake");
    if (kernel->backend->world->no_in_place || kernel->output_count == 0)
        return;
    for (uint32_t k = 0; k < kernel->input_count && k < 4; k++) {
        info->inplace[2 * k] = k % kernel->output_count;
        info->inplace[2 * k + 1] = k;
        info->inplace_count = k + 1;
    }
}

/* May these outputs lie where they lie? Only on one input, as a whole, in a pair that fake_info
 * gives; the fake itself, which copies its inputs first, would not notice. */
static inline bool fake_is_apart(const collage_kernel *kernel, const void *const *inputs,
                                 void *const *outputs)
{
    for (uint32_t o = 0; o < kernel->output_count; o++) {
        uint64_t size =
            layout_bytes(&kernel->output_layouts[o], &kernel->tensors[kernel->outputs[o]]);
        uint32_t overlaps = 0;
        for (uint32_t i = 0; i < kernel->input_count; i++) {
            uint64_t bytes =
                layout_bytes(&kernel->input_layouts[i], &kernel->tensors[kernel->inputs[i]]);
            uintptr_t to = (uintptr_t)outputs[o], from = (uintptr_t)inputs[i];
            if (to >= from + bytes || from >= to + size)
                continue;
            overlaps++;
            if (to != from || i % kernel->output_count != o || i >= 4)
                return false;
        }
        if (overlaps > 1)
            return false;
    }
    return true;
}

static inline collage_status fake_run(collage_kernel *kernel, collage_stream *stream,
                                      const void *const *inputs, void *const *outputs,
                                      void *scratch, collage_message *message)
{
    (void)stream;
    const collage_layout plain = layout_plain();
    struct fake_world *world = kernel->backend->world;
    memset(scratch, 0xff, 64 * (kernel->index % 3));
    if (world->fail_run) {
        snprintf(message->text, sizeof message->text, "told to fail");
        return COLLAGE_ERROR_BACKEND;
    }
    if (!fake_is_apart(kernel, inputs, outputs)) {
        snprintf(message->text, sizeof message->text, "an output lies on an input");
        return COLLAGE_ERROR_INTERNAL;
    }
    for (uint32_t k = 0; k < kernel->input_count; k++) {
        struct tensor *to = &kernel->tensors[kernel->inputs[k]], from = *to;
        memcpy(&from.data, &inputs[k], sizeof from.data);
        layout_convert(&from, &kernel->input_layouts[k], to->data, &plain, NULL);
    }
    for (uint32_t n = 0; n < kernel->node_count; n++) {
        struct tensor in[2] = { kernel->tensors[kernel->node_inputs[n][0]],
                                kernel->tensors[kernel->node_inputs[n][1]] };
        struct tensor out[2] = { kernel->tensors[kernel->node_outputs[n][0]],
                                 kernel->tensors[kernel->node_outputs[n][1]] };
        const struct tensor *ins[2] = { &in[0], &in[1] };
        struct op_call call = { NULL, 2, 2, ins, out };
        kernel->ops[n]->compute(&call, NULL);
    }
    for (uint32_t k = 0; k < kernel->output_count; k++)
        layout_convert(&kernel->tensors[kernel->outputs[k]], &plain, outputs[k],
                       &kernel->output_layouts[k], NULL);
    if (world->after)
        world->after(world, kernel->index, inputs, outputs);
    return COLLAGE_OK;
}

static inline void fake_kernel_destroy(collage_kernel *kernel)
{
    kernel->backend->world->alive--;
    for (uint32_t v = 0; v < kernel->value_count; v++)
        free(kernel->tensors[v].data);
    free(kernel->tensors);
    free(kernel->constant);
    free(kernel->ops);
    free(kernel->node_inputs);
    free(kernel->node_outputs);
    free(kernel->inputs);
    free(kernel->outputs);
    free(kernel->input_layouts);
    free(kernel->output_layouts);
    free(kernel);
}

#define FAKE_API(backend_name)                                                                     \
    {                                                                                              \
        .struct_size = sizeof(collage_backend_api), .abi_major = COLLAGE_ABI_MAJOR,                \
        .name = (backend_name), .kind = COLLAGE_OP_LEVEL,                                          \
        .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_CONCURRENT,                       \
        .supports = fake_supports, .variant = fake_variant, .open = fake_open,                     \
        .close = fake_close, .version = fake_version, .compile = fake_compile,                     \
        .kernel_info = fake_info, .run = fake_run, .kernel_destroy = fake_kernel_destroy           \
    }
static const collage_backend_api fake_alpha = FAKE_API("alpha"), fake_beta = FAKE_API("beta");

/* ---- candidates and problems by hand ---- */

struct fake {
    struct fake_world world;
    struct arena *arena;
    struct backend_entry entries[2];
    struct registry registry;
    struct candidate_set set;
    struct place_problem problem;
    struct transition *transitions;
    candidate_id *chosen;
    size_t chosen_count;
    bool enabled[2];
};

/* Layouts that the fake backends use; between any two of them there is a reorder. */
static const char *const fake_layouts[] = { "", "aBcd4b", "acdb" };

static inline void fake_setup(struct fake *f, const struct graph *graph)
{
    *f = (struct fake){ .arena = arena_create(), .enabled = { true, true } };
    f->entries[0] = (struct backend_entry){
        .api = &fake_alpha, .name = "alpha", .file = "", .problem = "", .version = "1.0"
    };
    f->entries[1] = (struct backend_entry){
        .api = &fake_beta, .name = "beta", .file = "", .problem = "", .version = "1.0"
    };
    f->registry = (struct registry){ f->arena, f->entries, 2, { .context = &f->world }, NULL };
    f->set = (struct candidate_set){ .arena = f->arena, .graph = graph, .registry = &f->registry };
    f->set.target = (collage_target){ .struct_size = sizeof f->set.target, .threads = 1 };
    OK(graph_uses_build(graph, &f->set.uses, NULL));
    f->set.items = calloc(graph->node_count + 1, sizeof *f->set.items);
    f->chosen = calloc(graph->node_count + 1, sizeof *f->chosen);
    f->transitions = calloc(graph->value_count * 6, sizeof *f->transitions);
    for (value_id v = 0; v < graph->value_count; v++)
        for (int k = 0; k < 9 && graph->values[v].tensor.rank == 4; k++)
            if (k / 3 != k % 3)
                f->transitions[f->problem.transition_count++] =
                    (struct transition){ v, layout_tag(fake_layouts[k / 3]),
                                         layout_tag(fake_layouts[k % 3]), (uint32_t)k % 2,
                                         1000.0 + 10 * k };
    f->problem.set = &f->set;
    f->problem.enabled = f->enabled;
    f->problem.transitions = f->transitions;
}

static inline void fake_teardown(struct fake *f)
{
    for (int k = 0; k < 2; k++)
        if (f->entries[k].open)
            f->entries[k].api->close(f->entries[k].open);
    graph_uses_free(&f->set.uses);
    free(f->set.items);
    free(f->chosen);
    free(f->transitions);
    arena_destroy(f->arena);
}

/* Chooses a candidate: nodes (ascending) on a backend in a variant (0 to 2), or a view. */
static inline struct candidate *fake_choose_copying(struct fake *f, uint32_t backend,
                                                    size_t variant, bool view, const node_id *nodes,
                                                    uint32_t count, const node_id *copies,
                                                    uint32_t copy_count)
{
    struct candidate *c = &f->set.items[f->set.count];
    f->chosen[f->chosen_count++] = (candidate_id)f->set.count++;
    OK(region_make_copying(f->arena, f->set.graph, &f->set.uses, nodes, count, copies, copy_count,
                           &c->region, NULL));
    collage_layout *layouts =
        arena_array(f->arena, c->region.input_count + c->region.output_count + 1, sizeof *layouts);
    const collage_subgraph *subgraph;
    OK(subgraph_make(f->arena, f->set.graph, &c->region, &subgraph, NULL));
    collage_variant v = { .struct_size = sizeof v,
                          .inputs = layouts,
                          .outputs = layouts + c->region.input_count };
    assert_true(fake_variant(subgraph, NULL, variant, &v));
    c->backend = backend;
    c->variant = view ? "" : arena_string(f->arena, v.name);
    c->variant_index = (uint32_t)variant;
    c->input_layouts = v.inputs;
    c->output_layouts = v.outputs;
    c->pattern = "test";
    c->view = view;
    c->cost = (struct cost){
        .state = COST_MEASURED, .cost_ns = view ? 0 : 2000, .implementation = "fake", .reason = ""
    };
    for (uint32_t k = 0; k < c->region.input_count && k < 4 && c->region.output_count; k++) {
        c->cost.inplace[2 * k] = k % c->region.output_count;
        c->cost.inplace[2 * k + 1] = k;
        c->cost.inplace_count = k + 1;
    }
    return c;
}

static inline struct candidate *fake_choose(struct fake *f, uint32_t backend, size_t variant,
                                            bool view, const node_id *nodes, uint32_t count)
{
    return fake_choose_copying(f, backend, variant, view, nodes, count, NULL, 0);
}

static inline struct plan *fake_build(struct fake *f)
{
    struct placement placement = {
        .chosen = f->chosen, .count = f->chosen_count, .cost_ns = 12345, .optimal = true
    };
    struct plan *plan = NULL;
    struct error error = { 0 };
    if (plan_build(&f->problem, &placement, "device", &plan, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    return plan;
}

#endif
