/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handles.h"
#include "api/peers.h"
#include "report/report.h"

enum { OTHERS_MAX = 63 }; /* each is a process with the model's weights */

/* What the caller knows of the options, the rest being defaults: they grow at their end. False if
 * that is too little. */
static bool take_options(const collage_bench_options *given, collage_bench_options *options)
{
    *options = (collage_bench_options){ .struct_size = sizeof *options };
    if (!given)
        return true;
    size_t known = given->struct_size < sizeof *options ? given->struct_size : sizeof *options;
    if (known < offsetof(collage_bench_options, others))
        return false;
    memcpy(options, given, known);
    return true;
}

static collage_status check_other(const collage_context *context, const collage_model *model,
                                  const struct plan *plan, const collage_plan *other,
                                  struct error *error)
{
    if (!other)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "it is NULL");
    collage_status status = plan_check_graph(other->plan, model->graph, error);
    if (status == COLLAGE_OK && other->plan->threads != plan->threads)
        status = error_set(error, COLLAGE_ERROR_ARGUMENT,
                           "it is for %d threads, the first one for %d: they do not compare",
                           other->plan->threads, plan->threads);
    return status == COLLAGE_OK ? check_codes(context, other->plan, error) : status;
}

/* The other plans, each fit to race against the first. */
static collage_status take_others(const collage_context *context, const collage_model *model,
                                  const struct plan *plan, const collage_bench_options *options,
                                  struct arena *arena, struct optimizer_settings *settings,
                                  struct error *error)
{
    const size_t count = options->other_count;
    if (count > OTHERS_MAX || (count > 0 && !options->others))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_bench: 'others' is NULL, or more than %d plans", OTHERS_MAX);
    struct plan **others = arena_array(arena, count, sizeof *others);
    if (!others)
        return error_memory(error);
    for (size_t k = 0; k < count; k++) {
        collage_status status = check_other(context, model, plan, options->others[k], error);
        if (status != COLLAGE_OK) {
            error_prefix(error, "plan %zu", k + 2);
            return status;
        }
        others[k] = options->others[k]->plan;
    }
    for (size_t k = 0; options->names && k <= count; k++)
        if (!options->names[k])
            return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_bench: name %zu is NULL", k);
    settings->others = others;
    settings->other_count = count;
    settings->plan_names = options->names;
    return COLLAGE_OK;
}

collage_status collage_bench(collage_context *context, const collage_model *model,
                             const collage_plan *plan, const collage_bench_options *options,
                             collage_format format, collage_write_fn write, void *user)
{
    struct error *error = context_begin(context);
    collage_bench_options own;
    if (!model || !plan || !write || !take_options(options, &own))
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "collage_bench: a pointer is NULL or struct_size is not set");
    collage_status status = check_codes(context, plan->plan, error);
    if (status != COLLAGE_OK)
        return status;
    struct optimizer_settings settings = settings_of(context, model);
    settings.threads = plan->plan->threads;
    settings.strict = plan->plan->strict;
    if (own.seconds > 0)
        settings.race_seconds = own.seconds;
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct text text = { 0 };
    struct peer *peers = NULL;
    status = take_others(context, model, plan->plan, &own, arena, &settings, error);
    if (status == COLLAGE_OK)
        status = peers_find(own.peers, context->peer_directories, arena, &peers,
                            &settings.peer_count, error);
    settings.peers = peers;
    if (status == COLLAGE_OK)
        status = pipeline_bench(&settings, plan->plan, error);
    if (status == COLLAGE_OK)
        status = report_results(model->graph, plan->plan, format, &text, error);
    if (status == COLLAGE_OK)
        status = hand_over(&text, write, user, error);
    text_free(&text);
    arena_destroy(arena);
    return status;
}

collage_status collage_peers_check(collage_context *context, const char *peers)
{
    struct error *error = context_begin(context);
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    struct peer *found;
    size_t count;
    collage_status status =
        peers_find(peers, context->peer_directories, arena, &found, &count, error);
    arena_destroy(arena);
    return status;
}
