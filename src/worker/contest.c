/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/contest.h"

#include <string.h>

#include "base/clock.h"
#include "graph/subgraph.h"
#include "measure/statistics.h"
#include "plan/lane_schedule.h"
#include "reference/slack.h"
#include "run/session.h"
#include "tensor/layout.h"

enum {
    RUNS_MAX = 4096,
    PROFILES_MAX = 600,
    PASSES_OF_COST = 3 /* a kernel that matters is measured so often; the lowest counts */
};

/* A model's input or output: its tensor has memory of its own. */
struct port {
    char *name;
    struct tensor tensor;
    struct tensor expected; /* outputs */
    double slack;           /* of these (reference/slack.h) */
};

struct contest {
    struct arena *arena;
    struct port *inputs, *outputs;
    uint32_t input_count, output_count;
    const void **input_pointers;
    void **output_pointers;
    /* a plan */
    struct plan *plan;
    struct session *session;
    /* Of each step, the cost that each profile found: [step * PROFILES_MAX + profile]. NULL before
     * the first. Beyond PROFILES_MAX the oldest are overwritten. */
    double *step_ns;
    double *lowest_ns; /* of each step, by the last profile */
    size_t profile_count;
    /* or a library alone */
    const collage_backend_api *api;
    collage_kernel *kernel;
    void *scratch;
    double times[RUNS_MAX];
};

/* ---- tensors ---- */

static collage_status copy_tensor(const struct tensor *from, struct tensor *to, struct error *error)
{
    *to = *from;
    to->data = memory_alloc_aligned((size_t)tensor_bytes(from));
    if (!to->data)
        return error_memory(error);
    memcpy(to->data, from->data, (size_t)tensor_bytes(from));
    return COLLAGE_OK;
}

static collage_status add_ports(struct contest *contest, const struct graph *graph,
                                const struct oracle *oracle, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < graph->input_count && status == COLLAGE_OK; k++) {
        struct port *port = &contest->inputs[k];
        struct tensor value = oracle_value(oracle, graph->inputs[k]);
        port->name = arena_string(contest->arena, graph->values[graph->inputs[k]].name);
        status = port->name ? copy_tensor(&value, &port->tensor, error) : error_memory(error);
        contest->input_pointers[k] = port->tensor.data;
    }
    for (uint32_t k = 0; k < graph->output_count && status == COLLAGE_OK; k++) {
        struct port *port = &contest->outputs[k];
        struct tensor value = oracle_value(oracle, graph->outputs[k]);
        port->name = arena_string(contest->arena, graph->values[graph->outputs[k]].name);
        status = port->name ? copy_tensor(&value, &port->expected, error) : error_memory(error);
        if (status == COLLAGE_OK)
            status = copy_tensor(&value, &port->tensor, error);
        contest->output_pointers[k] = port->tensor.data;
    }
    return status;
}

/* The whole network's, also for a library alone: it may round otherwise wherever we may. */
static collage_status add_slack(struct contest *contest, const struct graph *graph,
                                const struct oracle *oracle, struct error *error)
{
    const struct slack_values values = slack_values_of(oracle);
    double *slack = arena_array(contest->arena, graph->output_count, sizeof *slack);
    if (!slack)
        return error_memory(error);
    collage_status status = slack_find(graph, NULL, &values, slack, error);
    for (uint32_t k = 0; k < graph->output_count && status == COLLAGE_OK; k++)
        contest->outputs[k].slack = slack[k];
    return status;
}

collage_status contest_create(const struct graph *graph, const struct oracle *oracle,
                              struct contest **out, struct error *error)
{
    *out = NULL;
    struct contest *contest = memory_alloc(sizeof *contest);
    struct arena *arena = arena_create();
    if (!contest || !arena) {
        memory_free(contest);
        arena_destroy(arena);
        return error_memory(error);
    }
    contest->arena = arena;
    contest->inputs = arena_array(arena, graph->input_count, sizeof *contest->inputs);
    contest->outputs = arena_array(arena, graph->output_count, sizeof *contest->outputs);
    contest->input_pointers =
        arena_array(arena, graph->input_count, sizeof *contest->input_pointers);
    contest->output_pointers =
        arena_array(arena, graph->output_count, sizeof *contest->output_pointers);
    collage_status status = COLLAGE_ERROR_MEMORY;
    if (contest->inputs && contest->outputs && contest->input_pointers &&
        contest->output_pointers) {
        contest->input_count = graph->input_count;
        contest->output_count = graph->output_count;
        status = add_ports(contest, graph, oracle, error);
        if (status == COLLAGE_OK)
            status = add_slack(contest, graph, oracle, error);
    }
    if (status != COLLAGE_OK) {
        contest_destroy(contest);
        return error_set(error, status, "out of memory");
    }
    *out = contest;
    return COLLAGE_OK;
}

void contest_destroy(struct contest *contest)
{
    if (!contest)
        return;
    session_destroy(contest->session);
    plan_destroy(contest->plan);
    if (contest->kernel)
        contest->api->kernel_destroy(contest->kernel);
    memory_free_aligned(contest->scratch);
    for (uint32_t k = 0; k < contest->input_count; k++)
        memory_free_aligned(contest->inputs[k].tensor.data);
    for (uint32_t k = 0; k < contest->output_count; k++) {
        memory_free_aligned(contest->outputs[k].tensor.data);
        memory_free_aligned(contest->outputs[k].expected.data);
    }
    arena_destroy(contest->arena);
    memory_free(contest);
}

/* ---- loading ---- */

collage_status contest_load_plan(struct contest *contest, const struct graph *graph,
                                 struct registry *registry, const struct contest_source *source,
                                 struct error *error)
{
    collage_status status = plan_from_json(source->json, graph, &contest->plan, error);
    if (status != COLLAGE_OK)
        return status;
    if (contest->plan->object_count == 0) /* one that is being made: code is made, too */
        return session_create(graph, contest->plan, registry, &contest->session, error);
    struct plan_codes codes;
    contest->plan->folder = source->folder;
    status = plan_codes_load(contest->plan, source->trust, &codes, error);
    if (status == COLLAGE_OK)
        status =
            session_create_with(graph, contest->plan, &codes, registry, &contest->session, error);
    plan_codes_free(&codes);
    contest->plan->folder = NULL; /* it was the request's */
    return status;
}

/* The whole model; its inputs and outputs in the model's order, so that they are also those of the
 * kernel. */
static collage_status whole_model(struct contest *contest, const struct graph *graph,
                                  const collage_subgraph **out, struct error *error)
{
    node_id *nodes = arena_array(contest->arena, graph->node_count, sizeof *nodes);
    if (!nodes)
        return error_memory(error);
    for (size_t k = 0; k < graph->node_count; k++)
        nodes[k] = (node_id)k;
    const struct region region = { .nodes = nodes,
                                   .node_count = (uint32_t)graph->node_count,
                                   .inputs = graph->inputs,
                                   .input_count = graph->input_count,
                                   .outputs = graph->outputs,
                                   .output_count = graph->output_count };
    return subgraph_make(contest->arena, graph, &region, out, error);
}

static collage_status check_ports(const struct contest *contest, const struct graph *graph,
                                  struct error *error)
{
    bool same =
        graph->input_count == contest->input_count && graph->output_count == contest->output_count;
    for (uint32_t k = 0; same && k < graph->input_count; k++)
        same = strcmp(graph->values[graph->inputs[k]].name, contest->inputs[k].name) == 0;
    for (uint32_t k = 0; same && k < graph->output_count; k++)
        same = strcmp(graph->values[graph->outputs[k]].name, contest->outputs[k].name) == 0;
    return same ? COLLAGE_OK
                : error_set(error, COLLAGE_ERROR_INTERNAL,
                            "the canonical graph has other inputs or outputs than the model");
}

static collage_layout *plain_layouts(struct contest *contest, uint32_t count)
{
    return arena_array(contest->arena, count, sizeof(collage_layout)); /* zero is "": row-major */
}

collage_status contest_load_library(struct contest *contest, const struct graph *graph,
                                    struct registry *registry, uint32_t backend,
                                    const collage_target *target, const char *model_path,
                                    struct error *error)
{
    const collage_subgraph *subgraph;
    collage_status status = check_ports(contest, graph, error);
    if (status == COLLAGE_OK)
        status = whole_model(contest, graph, &subgraph, error);
    if (status == COLLAGE_OK)
        status = registry_open(registry, backend, target, error);
    if (status != COLLAGE_OK)
        return status;
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = plain_layouts(contest, contest->input_count),
                                .outputs = plain_layouts(contest, contest->output_count) };
    if (!variant.inputs || !variant.outputs)
        return error_memory(error);
    const collage_compile_request request = { .struct_size = sizeof request,
                                              .subgraph = subgraph,
                                              .variant = &variant,
                                              .target = target,
                                              .flags = COLLAGE_COMPILE_STANDALONE,
                                              .model_path = model_path };
    collage_message message = { .text = "" };
    const struct backend_entry *entry = &registry->entries[backend];
    contest->api = entry->api;
    status = entry->api->compile(entry->open, &request, &contest->kernel, &message);
    if (status != COLLAGE_OK || !contest->kernel)
        return error_from_message(error, COLLAGE_ERROR_BACKEND, entry->name, &message);
    collage_kernel_info info = { .struct_size = sizeof info };
    entry->api->kernel_info(contest->kernel, &info);
    contest->scratch = memory_alloc_aligned((size_t)info.scratch_bytes);
    return contest->scratch ? COLLAGE_OK : error_memory(error);
}

/* ---- running ---- */

static collage_status run_once(struct contest *contest, double *ns, struct error *error)
{
    uint64_t start = clock_ns();
    if (contest->session) {
        collage_status status =
            session_run(contest->session, contest->input_pointers, contest->output_pointers, error);
        *ns = (double)(clock_ns() - start);
        return status;
    }
    collage_message message;
    message.text[0] = '\0';
    collage_status status = contest->api->run(contest->kernel, NULL, contest->input_pointers,
                                              contest->output_pointers, contest->scratch, &message);
    *ns = (double)(clock_ns() - start);
    return status == COLLAGE_OK
               ? COLLAGE_OK
               : error_from_message(error, COLLAGE_ERROR_BACKEND, contest->api->name, &message);
}

collage_status contest_verify(struct contest *contest, double *worst, double *run_ns,
                              struct error *error)
{
    *worst = 0;
    for (uint32_t k = 0; k < contest->output_count; k++)
        memset(contest->outputs[k].tensor.data, 0xff,
               (size_t)tensor_bytes(&contest->outputs[k].tensor));
    collage_status status = run_once(contest, run_ns, error);
    for (uint32_t k = 0; k < contest->output_count && status == COLLAGE_OK; k++) {
        const struct port *port = &contest->outputs[k];
        struct tensor_difference difference =
            tensor_compare_within(&port->tensor, &port->expected, port->slack);
        if (!(difference.error <= *worst))
            *worst = difference.error;
        if (!(difference.error <= TENSOR_PLAN_TOLERANCE))
            status = error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                               "wrong result: output '%s' differs by %.2g of its largest value at "
                               "element %lld (%.9g, expected %.9g)",
                               port->name, difference.error, (long long)difference.index,
                               difference.actual, difference.expected);
    }
    return status;
}

/* Runs until `seconds` have passed and `runs` are done; *count: how many, at most RUNS_MAX. */
static collage_status run_for(struct contest *contest, double seconds, size_t runs, size_t *count,
                              struct error *error)
{
    double total = 0;
    *count = 0;
    while (*count < RUNS_MAX && (*count < runs || total < seconds * 1e9)) {
        double ns;
        collage_status status = run_once(contest, &ns, error);
        if (status != COLLAGE_OK)
            return status;
        contest->times[(*count)++] = ns;
        total += ns;
    }
    return COLLAGE_OK;
}

collage_status contest_round(struct contest *contest, double warm_seconds, double seconds,
                             size_t runs, double *median_ns, struct error *error)
{
    size_t count;
    collage_status status = COLLAGE_OK;
    if (warm_seconds > 0)
        status = run_for(contest, warm_seconds, 1, &count, error);
    if (status == COLLAGE_OK)
        status = run_for(contest, seconds, runs, &count, error);
    if (status != COLLAGE_OK)
        return status;
    struct summary summary;
    if (!summary_of(contest->times, count, &summary))
        return error_memory(error);
    *median_ns = summary.median;
    return COLLAGE_OK;
}

collage_status contest_profile(struct contest *contest, double seconds, double *steps_ns,
                               const double **each_ns, uint32_t *step_count, struct error *error)
{
    *steps_ns = 0;
    *each_ns = NULL;
    *step_count = 0;
    if (!contest->session)
        return COLLAGE_OK;
    const uint32_t steps = contest->plan->step_count;
    if (!contest->step_ns) {
        contest->step_ns =
            arena_array(contest->arena, ((size_t)steps + 1) * PROFILES_MAX, sizeof(double));
        contest->lowest_ns = arena_array(contest->arena, (size_t)steps + 1, sizeof(double));
    }
    double *lowest = contest->lowest_ns;
    if (!contest->step_ns || !lowest)
        return error_memory(error);
    *each_ns = lowest;
    *step_count = steps;
    size_t count;
    collage_status status = session_set_profiling(contest->session, true, error);
    if (status == COLLAGE_OK)
        status = run_for(contest, seconds, 1, &count, error);
    for (uint32_t k = 0; k < steps && status == COLLAGE_OK; k++) {
        double *found = &contest->step_ns[(size_t)k * PROFILES_MAX];
        found[contest->profile_count % PROFILES_MAX] =
            session_step_profile(contest->session, k).decile_ns;
        size_t profiles = contest->profile_count + 1;
        if (!lowest_decile(found, profiles < PROFILES_MAX ? profiles : PROFILES_MAX, PASSES_OF_COST,
                           &lowest[k]))
            status = error_memory(error);
    }
    if (status == COLLAGE_OK)
        status = lane_schedule_time(contest->plan, lowest, steps_ns, error);
    contest->profile_count++;
    struct error ignored = { 0 };
    (void)session_set_profiling(contest->session, false, &ignored);
    return status;
}
