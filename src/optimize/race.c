/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The final race. It is kept in the cost store under what would make it the same race again: the
 * model's files, the machine, and each contestant's plan or library, with its version.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cost/races.h"
#include "optimize/optimizer.h"
#include "optimize/ratio.h"

static bool on_round(void *user, size_t round, size_t rounds)
{
    const struct optimizer *optimizer = user;
    return optimizer_report_progress(optimizer, "race", "", round, rounds, NULL) == COLLAGE_OK;
}

/* The ratio of two contestants is known well enough if it is above 1 for sure, or as narrow as
 * this.
 */
static const double narrow = 0.03;
/* Who is so much slower than the leader for sure rests: the others get more rounds. Where one is to
 * be chosen, and where all are to be compared. */
static const double hopeless = 1.05, clear = 1.1;
enum { ROUNDS_BEFORE_REST = 15 };
/* Of the time for the race: enough if all is clear, and the most if it is not. */
static const double shortest = 0.25, longest = 2;
/* Seconds: a race of no length only verifies. */
static const double worth_profiling = 1; /* and worth heats */

/* The fastest by pairs; SIZE_MAX if none has finished. */
static collage_status find_leader(const struct contestant *contestants, size_t count, size_t *out)
{
    size_t leader = SIZE_MAX;
    for (size_t k = 0; k < count; k++) {
        struct summary ratio = { .median = 0 };
        if (contestants[k].sample_count == 0)
            continue;
        if (leader != SIZE_MAX && !contestant_ratio(&contestants[k], &contestants[leader], &ratio))
            return COLLAGE_ERROR_MEMORY;
        if (ratio.median < 1)
            leader = k;
    }
    *out = leader;
    return COLLAGE_OK;
}

collage_status race_is_open(struct contestant *contestants, size_t count, double far_behind,
                            bool *open)
{
    size_t leader;
    *open = false;
    collage_status status = find_leader(contestants, count, &leader);
    if (status != COLLAGE_OK)
        return status;
    for (size_t k = 0; k < count && leader != SIZE_MAX; k++) {
        struct summary ratio;
        if (k == leader || contestants[k].sample_count == 0 || contestants[k].rests)
            continue;
        if (!contestant_ratio(&contestants[k], &contestants[leader], &ratio))
            return COLLAGE_ERROR_MEMORY;
        contestants[k].rests =
            ratio.low > far_behind && contestants[k].sample_count >= ROUNDS_BEFORE_REST;
        *open = *open || (ratio.low <= 1 && ratio.high - ratio.low > narrow);
    }
    return COLLAGE_OK;
}

static bool wants_more(void *user, double spent)
{
    struct optimizer *optimizer = user;
    const double seconds = optimizer->settings.race_seconds;
    const bool compares = optimizer->settings.race_anew;
    const double far_behind = optimizer->settings.race_whole ? HUGE_VAL
                              : compares                     ? clear
                                                             : hopeless;
    bool open;
    if (race_is_open(optimizer->contestants, optimizer->contestant_count, far_behind, &open) !=
        COLLAGE_OK) {
        optimizer->race_failed = true;
        return false;
    }
    if (optimizer_has_enough(optimizer))
        return false;
    /* A comparison that was asked for takes the time that was asked for. */
    return spent < (compares ? 1 : shortest) * seconds ||
           (!compares && open && spent < longest * seconds);
}

static collage_status run_race(struct optimizer *optimizer, struct error *error)
{
    collage_status status = optimizer_need_reference(optimizer, error);
    if (status != COLLAGE_OK)
        return status;
    uint64_t start = clock_ns();
    const struct optimizer_settings *settings = &optimizer->settings;
    struct worker_setup setup = optimizer_worker_setup(optimizer);
    /* The measuring worker's threads must not disturb the race. */
    worker_destroy(optimizer->worker);
    optimizer->worker = NULL;
    const struct race_rules rules = { .seconds = settings->race_seconds,
                                      .progress = on_round,
                                      .more = wants_more,
                                      .profile = settings->race_seconds >= worth_profiling,
                                      .user = optimizer };
    status = race_run(&setup, settings->registry, optimizer->contestants,
                      optimizer->contestant_count, &rules, error);
    if (status == COLLAGE_OK && optimizer->race_failed)
        status = error_memory(error);
    if (status == COLLAGE_OK && !settings->race_anew && settings->search == COLLAGE_SEARCH_EXACT &&
        settings->race_seconds >= worth_profiling && !optimizer_has_enough(optimizer))
        status = optimizer_run_heats(optimizer, &setup, error);
    optimizer->counts.race_seconds = (double)(clock_ns() - start) * 1e-9;
    return status;
}

static void hash_hash(struct hash_state *state, struct hash hash)
{
    hash_u64(state, hash.low);
    hash_u64(state, hash.high);
}

/* The plan as it would be saved: steps, variants, layouts, versions, and the costs it was chosen
 * by. */
static collage_status hash_plan(const struct optimizer *optimizer, const struct plan *plan,
                                struct hash_state *state, struct error *error)
{
    json_t *json = NULL;
    collage_status status = plan_to_json(plan, optimizer->settings.graph, &json, error);
    if (status != COLLAGE_OK)
        return status;
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    if (!text)
        return error_memory(error);
    hash_string(state, text);
    free(text);
    return COLLAGE_OK;
}

static collage_status race_key(const struct optimizer *optimizer, struct hash *key,
                               struct error *error)
{
    struct hash graph = graph_hash(optimizer->settings.graph);
    if (hash_equal(graph, (struct hash){ 0 })) /* what it gives out of memory */
        return error_memory(error);
    struct hash_state *state = hash_begin();
    if (!state)
        return error_memory(error);
    collage_status status = COLLAGE_OK;
    hash_hash(state, graph);
    hash_hash(state, optimizer->settings.graph->source);
    hash_string(state, optimizer->device.fingerprint);
    hash_u64(state, (uint64_t)optimizer->target.threads);
    for (size_t k = 0; k < optimizer->contestant_count && status == COLLAGE_OK; k++) {
        const struct contestant *contestant = &optimizer->contestants[k];
        const struct registry *registry = optimizer->settings.registry;
        hash_string(state, optimizer->names[k]);
        if (contestant->plan)
            status = hash_plan(optimizer, contestant->plan, state, error);
        else if (!contestant->peer) /* races with peers are not kept */
            hash_string(state, registry->entries[contestant->backend].version);
    }
    *key = hash_end(state);
    return status;
}

static collage_status recall(struct optimizer *optimizer, struct hash key, bool *found,
                             struct error *error)
{
    size_t count = optimizer->contestant_count;
    struct race_record *records = arena_array(optimizer->arena, count, sizeof *records);
    if (!records)
        return error_memory(error);
    collage_status status =
        cost_store_get_race(optimizer->store, key, optimizer->arena, records, count, found, error);
    for (size_t k = 0; k < count && status == COLLAGE_OK && *found; k++) {
        struct contestant *contestant = &optimizer->contestants[k];
        size_t bytes = records[k].sample_count * sizeof(double);
        contestant->samples = memory_alloc(bytes); /* freed like those of a race */
        if (!contestant->samples)
            return error_memory(error);
        memcpy(contestant->samples, records[k].samples, bytes);
        contestant->sample_count = records[k].sample_count;
        contestant->peak_bytes = records[k].peak_bytes;
        contestant->worst_error = records[k].worst_error;
        contestant->steps_ns = records[k].steps_ns;
        contestant->again = records[k].again;
        snprintf(contestant->failure, sizeof contestant->failure, "%s", records[k].failure);
    }
    return status;
}

static collage_status record(struct optimizer *optimizer, struct hash key, struct error *error)
{
    size_t count = optimizer->contestant_count;
    struct race_record *records = arena_array(optimizer->arena, count, sizeof *records);
    if (!records)
        return error_memory(error);
    for (size_t k = 0; k < count; k++) {
        const struct contestant *contestant = &optimizer->contestants[k];
        records[k] = (struct race_record){ .failure = contestant->failure,
                                           .samples = contestant->samples,
                                           .sample_count = contestant->sample_count,
                                           .peak_bytes = contestant->peak_bytes,
                                           .steps_ns = contestant->steps_ns,
                                           .again = contestant->again,
                                           .worst_error = contestant->worst_error };
    }
    return cost_store_put_race(optimizer->store, key, records, count, error);
}

collage_status optimizer_race(struct optimizer *optimizer, struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    struct hash key;
    bool found = false;
    collage_status status = race_key(optimizer, &key, error);
    if (status == COLLAGE_OK && !settings->remeasure && !settings->race_anew)
        status = recall(optimizer, key, &found, error);
    if (status != COLLAGE_OK || found)
        return status;
    status = run_race(optimizer, error);
    /* One that was cut short is no answer to who asks again. */
    if (status == COLLAGE_OK && !settings->race_anew && !optimizer_has_enough(optimizer))
        status = record(optimizer, key, error);
    return status;
}
