/* SPDX-License-Identifier: Apache-2.0 */
/* server.c: the worker's side: reads a job, does it, answers; until the parent is gone. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json_text.h"
#include "base/text.h"
#include "canon/canon.h"
#include "cases/case_graph.h"
#include "onnx/onnx.h"
#include "run/session.h"
#include "worker/contest.h"
#include "worker/process.h"
#include "worker/protocol.h"
#include "worker/worker.h"

enum { REQUEST_LIMIT = 80 << 20 }; /* bytes: a plan may have 64 MB */

struct server {
    struct arena *arena; /* what lives as long as the process */
    char *plugins, *model_path;
    const struct operator_case *row; /* instead of a model */
    collage_shape *shapes;
    size_t shape_count;
    collage_target target;
    struct registry *registry;
    struct graph *graph;
    struct oracle *oracle;
    struct bounds *bounds; /* made when strict precision is asked for */
    struct candidate_set *set;
    struct contest *contest;
};

/* Standard error is the parent's log. */
static void log_line(void *user, collage_log_level level, const char *line)
{
    (void)user;
    (void)level;
    dprintf(STDERR_FILENO, "%s\n", line);
}

static collage_status malformed(const char *what, struct error *error)
{
    return error_set(error, COLLAGE_ERROR_INTERNAL, "the request has no proper %s", what);
}

static collage_status pack_answer(json_t *answer, json_t **out, struct error *error)
{
    *out = answer;
    return answer ? COLLAGE_OK : error_memory(error);
}

/* ---- open ---- */

static collage_status keep_setup(struct server *server, const json_t *request, struct error *error)
{
    const char *plugins = json_string_value(json_object_get(request, "plugins"));
    const char *model = json_string_value(json_object_get(request, "model"));
    server->plugins = arena_string(server->arena, plugins ? plugins : "");
    server->model_path = model ? arena_string(server->arena, model) : NULL;
    if (!server->plugins || (model && !server->model_path))
        return error_memory(error);
    const char *row = json_string_value(json_object_get(request, "case"));
    server->row = row ? operator_case_find(row) : NULL;
    if (row && !server->row)
        return malformed("case", error);
    if (!protocol_read_shapes(json_object_get(request, "shapes"), server->arena, &server->shapes,
                              &server->shape_count))
        return malformed("shapes", error);
    for (size_t k = 0; k < server->shape_count; k++) {
        server->shapes[k].name = arena_string(server->arena, server->shapes[k].name);
        if (!server->shapes[k].name)
            return error_memory(error);
    }
    return COLLAGE_OK;
}

static collage_status import(const struct server *server, struct graph **graph, struct error *error)
{
    return onnx_import(server->model_path, server->shapes, server->shape_count, graph, error);
}

/* A case is measured as it is written. */
static collage_status make_case(struct server *server, struct error *error)
{
    struct case_graph made;
    collage_status status = case_graph_parse(server->row, &made, error);
    if (status != COLLAGE_OK)
        return status;
    server->graph = made.graph;
    graph_uses_free(&made.uses);
    return COLLAGE_OK;
}

static collage_status load_graph(struct server *server, struct error *error)
{
    if (server->row)
        return make_case(server, error);
    collage_status status = import(server, &server->graph, error);
    if (status == COLLAGE_OK)
        status = canon_run(server->graph, error);
    return status;
}

/* Node and value ids mean the same here and in the parent only if the graphs are the same. */
static collage_status load_model(struct server *server, const json_t *request, struct error *error)
{
    collage_status status = load_graph(server, error);
    if (status != COLLAGE_OK)
        return status;
    const char *expected = json_string_value(json_object_get(request, "graph"));
    char hash[33];
    hash_print(graph_hash(server->graph), hash);
    if (expected && *expected && strcmp(expected, hash) != 0)
        return error_set(error, COLLAGE_ERROR_MISMATCH,
                         "'%s' has changed while it was being optimised: start again",
                         server->row ? server->row->name : server->model_path);
    if (json_is_true(json_object_get(request, "oracle")))
        status = oracle_open(server->graph, PROCESS_ORACLE, &server->oracle, error);
    if (status == COLLAGE_OK)
        status = candidate_set_create(server->graph, server->registry, &server->target,
                                      &server->set, error);
    return status;
}

static collage_status set_code_folder(struct server *server, const char *cache, struct error *error)
{
    if (!cache || !*cache)
        return COLLAGE_OK;
    const char *folder = arena_format(server->arena, "%s/%s", cache, PLAN_CODE_FOLDER);
    return folder ? code_set_folder(server->registry->code, folder, error) : error_memory(error);
}

static collage_status do_open(struct server *server, const json_t *request, json_t **answer,
                              struct error *error)
{
    if (server->registry)
        return malformed("place: the worker is open already", error);
    collage_status status = keep_setup(server, request, error);
    if (status == COLLAGE_OK)
        status = registry_create(server->plugins, log_line, NULL, &server->registry, error);
    if (status != COLLAGE_OK)
        return status;
    status = set_code_folder(server, json_string_value(json_object_get(request, "cache")), error);
    if (status != COLLAGE_OK)
        return status;
    server->target =
        registry_host_target((int32_t)json_integer_value(json_object_get(request, "threads")));
    /* A library alone runs with its own defaults. */
    if (!json_is_true(json_object_get(request, "standalone")))
        registry_set_environment(server->registry, server->target.threads);
    if (server->model_path || server->row)
        status = load_model(server, request, error);
    return status == COLLAGE_OK ? pack_answer(json_object(), answer, error) : status;
}

/* ---- describe ---- */

static collage_status find_backend(const struct server *server, const json_t *name, uint32_t *out,
                                   struct error *error)
{
    const char *text = json_string_value(name);
    if (!server->registry || !text)
        return malformed("backend", error);
    *out = registry_find(server->registry, text);
    if (*out == UINT32_MAX || !server->registry->entries[*out].api)
        return error_set(error, COLLAGE_ERROR_BACKEND, "backend %s is not there", text);
    return COLLAGE_OK;
}

static collage_status do_describe(struct server *server, const json_t *request, json_t **answer,
                                  struct error *error)
{
    uint32_t backend = 0;
    collage_status status =
        find_backend(server, json_object_get(request, "backend"), &backend, error);
    if (status != COLLAGE_OK)
        return status;
    const struct backend_entry *entry = &server->registry->entries[backend];
    struct error failure = { 0 };
    if (registry_open(server->registry, backend, &server->target, &failure) != COLLAGE_OK)
        /* the entry's problem is the same without the backend's name, which the parent knows */
        return error_set(error, failure.status, "%s",
                         entry->problem[0] ? entry->problem : failure.text);
    return pack_answer(json_pack("{s:o}", "version", json_text(entry->version)), answer, error);
}

/* ---- measure ---- */

static bool is_candidate(const struct candidate *candidate, uint32_t backend,
                         const struct protocol_candidate *wanted)
{
    const struct region *region = &candidate->region;
    if (candidate->backend != backend || region->node_count != wanted->node_count ||
        region->input_count != wanted->input_count ||
        region->output_count != wanted->output_count ||
        strcmp(candidate->variant, wanted->variant) != 0 ||
        region->copy_count != wanted->copy_count ||
        memcmp(region->nodes, wanted->nodes, wanted->node_count * sizeof *wanted->nodes) != 0 ||
        memcmp(region->copies, wanted->copies, wanted->copy_count * sizeof *wanted->copies) != 0)
        return false;
    for (uint32_t k = 0; k < wanted->input_count; k++)
        if (strcmp(candidate->input_layouts[k].tag, wanted->inputs[k].tag) != 0)
            return false;
    for (uint32_t k = 0; k < wanted->output_count; k++)
        if (strcmp(candidate->output_layouts[k].tag, wanted->outputs[k].tag) != 0)
            return false;
    return true;
}

static collage_status find_candidate(struct server *server, const json_t *json, candidate_id *out,
                                     struct error *error)
{
    struct protocol_candidate wanted;
    uint32_t backend = 0;
    if (!server->set || !server->oracle)
        return malformed("model", error);
    if (!protocol_read_candidate(json, server->arena, &wanted))
        return malformed("candidate", error);
    collage_status status = find_backend(server, json_object_get(json, "backend"), &backend, error);
    for (uint32_t k = 0; k < wanted.node_count && status == COLLAGE_OK; k++)
        if (wanted.nodes[k] >= server->graph->node_count ||
            (k > 0 && wanted.nodes[k] <= wanted.nodes[k - 1]))
            status = malformed("node list", error);
    const char *pattern = arena_string(server->arena, wanted.pattern ? wanted.pattern : "");
    if (!pattern)
        return error_memory(error);
    if (status == COLLAGE_OK)
        status = candidate_set_add_copying(server->set, backend, wanted.nodes, wanted.node_count,
                                           wanted.copies, wanted.copy_count, pattern, NULL, error);
    if (status != COLLAGE_OK)
        return status;
    for (size_t k = 0; k < server->set->count; k++)
        if (is_candidate(&server->set->items[k], backend, &wanted)) {
            *out = (candidate_id)k;
            return COLLAGE_OK;
        }
    return error_set(error, COLLAGE_ERROR_BACKEND,
                     "the backend does not offer variant '%s' again in the measuring process",
                     wanted.variant);
}

/* The strings of a cost live in an arena that is dropped once they are in the answer. */
static collage_status answer_cost(const struct cost *cost, struct arena *arena,
                                  collage_status status, json_t **answer, struct error *error)
{
    if (status == COLLAGE_OK)
        status = pack_answer(json_pack("{s:o}", "cost", protocol_cost(cost)), answer, error);
    arena_destroy(arena);
    return status;
}

static collage_status need_bounds(struct server *server, struct sample_conditions *conditions,
                                  struct error *error)
{
    const struct slack_values values = slack_values_of(server->oracle);
    collage_status status = COLLAGE_OK;
    if (conditions->strict && !server->bounds)
        status = bounds_create(server->graph, &values, &server->bounds, error);
    conditions->bounds = server->bounds;
    return status;
}

static collage_status do_measure(struct server *server, const json_t *request, json_t **answer,
                                 struct error *error)
{
    candidate_id id;
    struct sample_conditions conditions;
    if (!protocol_read_conditions(json_object_get(request, "conditions"), &conditions))
        return malformed("conditions", error);
    collage_status status =
        find_candidate(server, json_object_get(request, "candidate"), &id, error);
    if (status == COLLAGE_OK)
        status = need_bounds(server, &conditions, error);
    if (status != COLLAGE_OK)
        return status;
    struct arena *arena = arena_create();
    struct cost cost;
    status =
        arena ? sample_candidate(server->set, id, server->oracle, &conditions, arena, &cost, error)
              : error_memory(error);
    return answer_cost(&cost, arena, status, answer, error);
}

static collage_status do_transition(struct server *server, const json_t *request, json_t **answer,
                                    struct error *error)
{
    uint32_t backend = 0;
    struct sample_conditions conditions;
    collage_layout from, to;
    collage_status status =
        find_backend(server, json_object_get(request, "backend"), &backend, error);
    if (status != COLLAGE_OK)
        return status;
    json_int_t value = json_integer_value(json_object_get(request, "value"));
    if (!server->oracle || value < 0 || (uint64_t)value >= server->graph->value_count)
        return malformed("value", error);
    if (!protocol_read_layout(json_object_get(request, "from"), &from) ||
        !protocol_read_layout(json_object_get(request, "to"), &to))
        return malformed("layouts", error);
    if (!protocol_read_conditions(json_object_get(request, "conditions"), &conditions))
        return malformed("conditions", error);
    struct arena *arena = arena_create();
    struct cost cost;
    status = arena ? sample_transition(server->set, backend, (value_id)value, &from, &to,
                                       server->oracle, &conditions, arena, &cost, error)
                   : error_memory(error);
    return answer_cost(&cost, arena, status, answer, error);
}

static collage_status do_switch(struct server *server, const json_t *request, json_t **answer,
                                struct error *error)
{
    candidate_id a, b;
    double extra_ns;
    collage_status status = find_candidate(server, json_object_get(request, "a"), &a, error);
    if (status == COLLAGE_OK)
        status = find_candidate(server, json_object_get(request, "b"), &b, error);
    if (status == COLLAGE_OK)
        status = sample_switch(server->set, a, b, server->oracle, &extra_ns, error);
    if (status != COLLAGE_OK)
        return status;
    return pack_answer(json_pack("{s:f}", "extra_ns", extra_ns), answer, error);
}

/* ---- races ---- */

/* Frees what only the check needed and forgets the peak so far: from here on, the memory is the
 * library's. The model is imported again as the user wrote it; its weights stay in the file. */
static collage_status become_standalone(struct server *server, struct error *error)
{
    candidate_set_destroy(server->set);
    bounds_destroy(server->bounds);
    oracle_destroy(server->oracle);
    graph_destroy(server->graph);
    server->set = NULL;
    server->bounds = NULL;
    server->oracle = NULL;
    server->graph = NULL;
    collage_status status = import(server, &server->graph, error);
    malloc_trim(0);
    int descriptor = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        ssize_t written = write(descriptor, "5", 1); /* resets VmHWM; without it, peaks are high */
        (void)written;
        close(descriptor);
    }
    return status;
}

/* A plan that comes with its code has it in a folder. */
static collage_status load_plan(struct server *server, const json_t *request, const json_t *plan,
                                struct error *error)
{
    const struct contest_source source = {
        .json = plan,
        .folder = json_string_value(json_object_get(request, "folder")),
        .trust = json_is_true(json_object_get(request, "trust"))
    };
    return contest_load_plan(server->contest, server->graph, server->registry, &source, error);
}

static collage_status load_contestant(struct server *server, const json_t *request,
                                      struct error *error)
{
    const json_t *plan = json_object_get(request, "plan");
    if (plan)
        return load_plan(server, request, plan, error);
    uint32_t backend = 0;
    collage_status status =
        find_backend(server, json_object_get(request, "library"), &backend, error);
    if (status == COLLAGE_OK)
        status = become_standalone(server, error);
    if (status == COLLAGE_OK)
        status = contest_load_library(server->contest, server->graph, server->registry, backend,
                                      &server->target, server->model_path, error);
    return status;
}

static collage_status do_contest(struct server *server, const json_t *request, json_t **answer,
                                 struct error *error)
{
    if (!server->oracle || server->contest)
        return malformed("model", error);
    double worst, run_ns;
    collage_status status = contest_create(server->graph, server->oracle, &server->contest, error);
    if (status == COLLAGE_OK)
        status = load_contestant(server, request, error);
    if (status == COLLAGE_OK)
        status = contest_verify(server->contest, &worst, &run_ns, error);
    if (status != COLLAGE_OK)
        return status;
    return pack_answer(json_pack("{s:f, s:f}", "worst", worst, "run_ns", run_ns), answer, error);
}

static collage_status do_round(struct server *server, const json_t *request, json_t **answer,
                               struct error *error)
{
    if (!server->contest)
        return malformed("contest", error);
    double median_ns;
    json_int_t runs = json_integer_value(json_object_get(request, "runs"));
    collage_status status =
        contest_round(server->contest, json_number_value(json_object_get(request, "warm_seconds")),
                      json_number_value(json_object_get(request, "seconds")),
                      runs > 1 ? (size_t)runs : 1, &median_ns, error);
    if (status != COLLAGE_OK)
        return status;
    return pack_answer(json_pack("{s:f}", "median_ns", median_ns), answer, error);
}

static collage_status do_profile(struct server *server, const json_t *request, json_t **answer,
                                 struct error *error)
{
    if (!server->contest)
        return malformed("contest", error);
    double steps_ns;
    const double *each_ns;
    uint32_t count;
    double seconds = json_number_value(json_object_get(request, "seconds"));
    collage_status status =
        contest_profile(server->contest, seconds, &steps_ns, &each_ns, &count, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *each = json_is_true(json_object_get(request, "each")) ? json_array() : NULL;
    for (uint32_t s = 0; s < count && each; s++)
        if (json_array_append_new(each, json_real(each_ns[s])) != 0) {
            json_decref(each);
            return error_memory(error);
        }
    return pack_answer(json_pack("{s:f, s:o*}", "steps_ns", steps_ns, "each", each), answer, error);
}

/* ---- code ---- */

static json_t *uses_to_json(const struct code_service *code)
{
    json_t *list = json_array();
    for (size_t k = 0; list && k < code->use_count; k++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", code->uses[k].name, "sha256",
                                              code->uses[k].sha256));
    return list;
}

/* Compiles all kernels of a plan: what they ask for is the code that it needs. */
static collage_status do_code(struct server *server, const json_t *request, json_t **answer,
                              struct error *error)
{
    if (!server->graph)
        return malformed("model", error);
    struct plan *plan = NULL;
    struct session *session = NULL;
    collage_status status =
        plan_from_json(json_object_get(request, "plan"), server->graph, &plan, error);
    code_begin(server->registry->code);
    if (status == COLLAGE_OK)
        status = session_create(server->graph, plan, server->registry, &session, error);
    session_destroy(session);
    plan_destroy(plan);
    if (status != COLLAGE_OK)
        return status;
    return pack_answer(json_pack("{s:o}", "objects", uses_to_json(server->registry->code)), answer,
                       error);
}

/* ---- the loop ---- */

static const struct job {
    const char *name;
    collage_status (*run)(struct server *server, const json_t *request, json_t **answer,
                          struct error *error);
} jobs[] = {
    { "open", do_open },       { "describe", do_describe },     { "measure", do_measure },
    { "switch", do_switch },   { "contest", do_contest },       { "round", do_round },
    { "profile", do_profile }, { "transition", do_transition }, { "code", do_code },
};

static json_t *serve_job(struct server *server, const json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "job"));
    struct error error = { 0 };
    json_t *answer = NULL;
    const struct job *job = NULL;
    for (size_t k = 0; name && k < sizeof jobs / sizeof *jobs; k++)
        if (strcmp(jobs[k].name, name) == 0)
            job = &jobs[k];
    if (job)
        job->run(server, request, &answer, &error);
    else
        malformed("job", &error);
    if (answer)
        return answer;
    return json_pack("{s:o, s:i}", "error", json_text(error.text), "status", (int)error.status);
}

/* Reads up to a newline, which is dropped; false at the end. */
static bool read_line(struct text *line)
{
    line->count = 0;
    for (;;) {
        char bytes[65536];
        ssize_t n = recv(PROCESS_SOCKET, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text_append(line, bytes, (size_t)n);
        if (line->failed || line->count > REQUEST_LIMIT)
            return false;
        if (bytes[n - 1] == '\n') { /* the parent waits for the answer: nothing follows */
            line->count--;
            return true;
        }
    }
}

static bool write_line(const json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    if (!text)
        return false;
    size_t count = strlen(text);
    text[count] = '\n'; /* instead of the terminator */
    bool ok = true;
    for (size_t sent = 0; ok && sent <= count;) {
        ssize_t n = send(PROCESS_SOCKET, text + sent, count + 1 - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else
            ok = n < 0 && errno == EINTR;
    }
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    release(text);
    return ok;
}

static void serve(struct server *server)
{
    struct text line = { 0 };
    bool going = true;
    while (going && read_line(&line)) {
        json_t *request = json_loadb(line.bytes, line.count, 0, NULL);
        json_t *answer = serve_job(server, request);
        json_decref(request);
        going = answer && write_line(answer);
        json_decref(answer);
    }
    text_free(&line);
}

/* Dies with its parent; leaves no core files where the user happens to be. */
static void set_up_process(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
}

int worker_serve(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], PROCESS_PEER_OPTION) == 0)
        return process_become_peer(argv + 2);
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(PROCESS_SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
        return 2; /* not started by the library */
    set_up_process();
    struct server server = { .arena = arena_create() };
    if (server.arena)
        serve(&server);
    contest_destroy(server.contest);
    candidate_set_destroy(server.set);
    bounds_destroy(server.bounds);
    oracle_destroy(server.oracle);
    graph_destroy(server.graph);
    registry_destroy(server.registry);
    arena_destroy(server.arena);
    return 0;
}
