/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/subgraph.h"

/* One case at work. */
struct job {
    const struct bench_settings *settings;
    collage_target target;
    struct case_graph made;
    struct oracle *oracle;
    struct worker *worker;
    struct candidate_set *set;
    struct bench_result result;
    size_t capacity;
    size_t done, total; /* cases */
};

static const double limit_seconds = 0.06; /* as for the candidates of a network */

/* ---- which ---- */

bool bench_case_is_chosen(const collage_bench_operators_options *options,
                          const struct operator_case *row)
{
    if (options->filter && !strstr(row->name, options->filter))
        return false;
    if (options->case_count == 0)
        return row->large || options->all;
    for (size_t k = 0; k < options->case_count; k++) {
        if (strcmp(options->cases[k], row->name) == 0)
            return true;
    }
    return false;
}

static size_t count_cases(const collage_bench_operators_options *options)
{
    size_t count = 0;
    for (size_t k = 0; k < operator_case_count; k++)
        count += bench_case_is_chosen(options, &operator_cases[k]);
    return count;
}

static collage_status check_cases(const collage_bench_operators_options *options,
                                  struct error *error)
{
    for (size_t k = 0; k < options->case_count; k++) {
        if (!operator_case_find(options->cases[k]))
            return error_set(error, COLLAGE_ERROR_ARGUMENT,
                             "there is no case '%s'; `collage bench-ops --all --list` lists them",
                             options->cases[k]);
    }
    if (count_cases(options) == 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "none of the cases has '%s' in its name",
                         options->filter ? options->filter : "");
    return COLLAGE_OK;
}

/* The reference only if it is asked for: it is slow, and nobody's competitor. */
static bool backend_is_chosen(const struct bench_settings *settings, uint32_t backend)
{
    const struct backend_entry *entry = &settings->registry->entries[backend];
    const char *list = settings->options->backends;
    if (!entry->api || entry->problem[0])
        return false;
    return list ? registry_list_holds(list, entry->name) : backend != REGISTRY_REFERENCE;
}

static collage_status check_backends(const struct bench_settings *settings, struct error *error)
{
    const char *list = settings->options->backends;
    collage_status status = registry_check_names(settings->registry, list, error);
    bool any = false;
    for (uint32_t b = 0; b < settings->registry->count && status == COLLAGE_OK; b++) {
        const struct backend_entry *entry = &settings->registry->entries[b];
        any = any || backend_is_chosen(settings, b);
        if (list && registry_list_holds(list, entry->name) && !backend_is_chosen(settings, b))
            status = error_set(error, COLLAGE_ERROR_BACKEND, "backend %s is not available: %s",
                               entry->name, entry->problem);
    }
    if (status == COLLAGE_OK && !any)
        status = error_set(error, COLLAGE_ERROR_BACKEND,
                           "no library is available; `collage backends` says why");
    return status;
}

collage_status bench_check(const struct bench_settings *settings, struct error *error)
{
    collage_status status = check_cases(settings->options, error);
    if (status == COLLAGE_OK && !settings->options->list)
        status = check_backends(settings, error);
    return status;
}

/* ---- one case ---- */

static bool on_progress(void *user, size_t done, size_t total)
{
    const struct job *job = user;
    (void)done;
    (void)total;
    if (!job->settings->progress)
        return true;
    const collage_progress progress = { .struct_size = sizeof progress,
                                        .stage = "measure",
                                        .detail = job->result.row->name,
                                        .done = job->done,
                                        .total = job->total,
                                        .alone = "" };
    return job->settings->progress(job->settings->user, &progress);
}

static collage_status check_interrupt(struct job *job, struct error *error)
{
    if (on_progress(job, 0, 0))
        return COLLAGE_OK;
    return error_set(error, COLLAGE_ERROR_INTERRUPTED, "interrupted");
}

static void put_shape(char *text, size_t size, const struct tensor *tensor, const char *separator)
{
    char dims[96];
    size_t used = strlen(text);
    dims_print(tensor->dims, tensor->rank, dims, sizeof dims);
    snprintf(text + used, size - used, "%s%s", separator, dims);
}

/* What the case has to do as one kernel. */
static collage_status find_work(struct job *job, struct error *error)
{
    const struct graph *graph = job->made.graph;
    struct bench_result *result = &job->result;
    const collage_subgraph *subgraph;
    struct region region;
    uint64_t *scratch = arena_array(graph->arena, graph->value_count + 1, sizeof *scratch);
    if (!scratch)
        return error_memory(error);
    collage_status status =
        case_graph_subgraph(&job->made, 0, (uint32_t)graph->node_count, &region, &subgraph, error);
    if (status != COLLAGE_OK)
        return status;
    struct workload work = region_workload(graph, &region, scratch);
    work.working_set_bytes = graph_touched_bytes(graph);
    result->work = work.flop;
    if (job->settings->peaks)
        result->bound_ns = peaks_bound_ns(job->settings->peaks, &work);
    return COLLAGE_OK;
}

/* The operands of the first node and the outputs of the whole. */
static void describe(struct job *job)
{
    const struct graph *graph = job->made.graph;
    struct bench_result *result = &job->result;
    const collage_node *first = &graph->nodes[0].base;
    for (uint32_t k = 0; k < first->input_count && k < 2; k++) {
        if (first->inputs[k] != GRAPH_NONE)
            put_shape(result->shapes, sizeof result->shapes,
                      &graph->values[first->inputs[k]].tensor, k ? ", " : "");
    }
    for (uint32_t k = 0; k < graph->output_count; k++)
        put_shape(result->shapes, sizeof result->shapes, &graph->values[graph->outputs[k]].tensor,
                  k ? ", " : " -> ");
}

static collage_status prepare(struct job *job, struct error *error)
{
    const struct graph *graph = job->made.graph;
    const struct bench_settings *settings = job->settings;
    struct tensor *inputs = arena_array(graph->arena, graph->input_count + 1, sizeof *inputs);
    if (!inputs)
        return error_memory(error);
    for (uint32_t k = 0; k < graph->input_count; k++)
        inputs[k] = job->made.tensors[graph->inputs[k]];
    collage_status status = oracle_create(graph, inputs, on_progress, job, &job->oracle, error);
    if (status != COLLAGE_OK)
        return status;
    const struct worker_setup setup = { .program = settings->worker_program,
                                        .plugin_directories = settings->plugin_directories,
                                        .case_name = job->result.row->name,
                                        .threads = job->target.threads,
                                        .graph = graph,
                                        .oracle = job->oracle,
                                        .cache_directory = settings->cache_directory,
                                        .log = settings->log,
                                        .log_user = settings->user };
    status = worker_create(&setup, &job->worker, error);
    if (status == COLLAGE_OK)
        status = candidate_set_create(graph, settings->registry, &job->target, &job->set, error);
    if (status == COLLAGE_OK)
        job->set->strict = settings->options->precision == COLLAGE_PRECISION_STRICT;
    return status;
}

static struct bench_row *add_row(struct job *job, uint32_t backend)
{
    struct bench_result *result = &job->result;
    if (result->count == job->capacity) {
        size_t capacity = job->capacity ? 2 * job->capacity : 32;
        struct bench_row *rows = arena_array(job->set->arena, capacity, sizeof *rows);
        if (!rows)
            return NULL;
        if (result->count)
            memcpy(rows, result->rows, result->count * sizeof *rows);
        result->rows = rows;
        job->capacity = capacity;
    }
    struct bench_row *row = &result->rows[result->count++];
    *row = (struct bench_row){ .backend = job->settings->registry->entries[backend].name,
                               .variant = "" };
    return row;
}

/* Why the backend does not take the nodes [first, first + count) as one. */
static collage_status ask(struct job *job, uint32_t backend, node_id first, uint32_t count,
                          bool *taken, collage_message *why, struct error *error)
{
    const collage_subgraph *subgraph;
    struct region region;
    collage_status status =
        case_graph_subgraph(&job->made, first, count, &region, &subgraph, error);
    if (status == COLLAGE_OK)
        *taken =
            job->settings->registry->entries[backend].api->supports(subgraph, &job->target, why);
    return status;
}

static collage_status add_refusal(struct job *job, uint32_t backend, struct error *error)
{
    uint32_t count = (uint32_t)job->made.graph->node_count;
    bool taken = true;
    collage_message why = { "" };
    collage_status status = COLLAGE_OK;
    if (job->settings->registry->entries[backend].api->kind == COLLAGE_OP_LEVEL)
        status = ask(job, backend, 0, count, &taken, &why, error);
    for (node_id n = 0; n < count && taken && status == COLLAGE_OK; n++)
        status = ask(job, backend, n, 1, &taken, &why, error);
    if (status != COLLAGE_OK)
        return status;
    struct bench_row *row = add_row(job, backend);
    if (!row)
        return error_memory(error);
    const char *reason = job->set->strict ? "a view, or all its variants are not strict"
                                          : "a view: nothing is computed";
    row->refusal = arena_string(job->set->arena, taken ? reason : why.text);
    return row->refusal ? COLLAGE_OK : error_memory(error);
}

static collage_status measure(struct job *job, candidate_id id, struct error *error)
{
    const struct sample_conditions conditions = { .working_set_bytes =
                                                      graph_touched_bytes(job->made.graph),
                                                  .limit_seconds = limit_seconds,
                                                  .tolerance = TENSOR_KERNEL_TOLERANCE,
                                                  .strict = job->set->strict };
    collage_status status = check_interrupt(job, error);
    if (status != COLLAGE_OK)
        return status;
    struct bench_row *row = add_row(job, job->set->items[id].backend);
    if (!row)
        return error_memory(error);
    row->variant = job->set->items[id].variant;
    return worker_measure(job->worker, job->set, id, &conditions, job->set->arena, &row->cost,
                          error);
}

static collage_status measure_backend(struct job *job, uint32_t backend, struct error *error)
{
    const struct graph *graph = job->made.graph;
    uint32_t count = (uint32_t)graph->node_count;
    size_t added = 0, first = job->set->count;
    node_id *nodes = arena_array(job->set->arena, count, sizeof *nodes);
    if (!nodes)
        return error_memory(error);
    for (uint32_t n = 0; n < count; n++)
        nodes[n] = n;
    collage_status status =
        candidate_set_add(job->set, backend, nodes, count, "case", &added, error);
    if (status == COLLAGE_OK && added == 0)
        status = add_refusal(job, backend, error);
    for (size_t k = 0; k < added && status == COLLAGE_OK; k++)
        status = measure(job, (candidate_id)(first + k), error);
    return status;
}

static int compare_rows(const void *left, const void *right)
{
    const struct bench_row *a = left, *b = right;
    int rank_a = a->refusal ? 2 : a->cost.state != COST_MEASURED;
    int rank_b = b->refusal ? 2 : b->cost.state != COST_MEASURED;
    if (rank_a != rank_b)
        return rank_a - rank_b;
    return rank_a ? strcmp(a->backend, b->backend)
                  : (a->cost.cost_ns > b->cost.cost_ns) - (a->cost.cost_ns < b->cost.cost_ns);
}

static collage_status run_case(struct job *job, bench_result_fn done, void *user, size_t *wrong,
                               struct error *error)
{
    collage_status status = case_graph_parse(job->result.row, &job->made, error);
    if (status != COLLAGE_OK)
        return status;
    describe(job);
    status = find_work(job, error);
    if (status == COLLAGE_OK)
        status = prepare(job, error);
    for (uint32_t b = 0; b < job->settings->registry->count && status == COLLAGE_OK; b++) {
        if (backend_is_chosen(job->settings, b))
            status = measure_backend(job, b, error);
    }
    struct bench_result *result = &job->result;
    if (status == COLLAGE_OK) {
        qsort(result->rows, result->count, sizeof *result->rows, compare_rows);
        for (size_t k = 0; k < result->count; k++)
            *wrong += result->rows[k].cost.state == COST_FAILED && result->rows[k].cost.error > 0;
        status = done(user, result, error);
    }
    worker_destroy(job->worker);
    oracle_destroy(job->oracle);
    candidate_set_destroy(job->set);
    case_graph_destroy(&job->made);
    return status;
}

collage_status bench_run(const struct bench_settings *settings, bench_result_fn done, void *user,
                         size_t *wrong, struct error *error)
{
    size_t total = count_cases(settings->options), finished = 0;
    collage_status status = COLLAGE_OK;
    *wrong = 0;
    for (size_t k = 0; k < operator_case_count && status == COLLAGE_OK; k++) {
        if (!bench_case_is_chosen(settings->options, &operator_cases[k]))
            continue;
        struct job job = { .settings = settings,
                           .target = registry_host_target(settings->options->threads),
                           .result.row = &operator_cases[k],
                           .done = finished++,
                           .total = total };
        status = run_case(&job, done, user, wrong, error);
    }
    return status;
}
