/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules are searched, not guessed. When all costs are known, a placement says which kernels
 * matter: those that it has chosen, and those that would be chosen if they were somewhat faster.
 * These are measured with each schedule that their backend lists, the largest possible gain first,
 * until the time is over. The cost store remembers each measurement, so a second search repeats
 * none.
 */
#include "optimize/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "optimize/worth.h"
#include "pattern/schedule.h"
#include "place/pins.h"

/* What a schedule may save of a kernel's time, at most: what could not be chosen even then is not
 * looked at. */
static const double hoped_share = 0.3;
/* Of the whole network's time: less cannot matter. */
static const double negligible = 0.0005;
/* A schedule must be so much faster than the backend's own choice, by the lowest of as many
 * measurements of both: the best of many is partly luck. */
static const double least_gain = 0.02;
enum { PASSES = 2 };

/* ---- the log ---- */

static bool is_usable(const struct optimizer *optimizer, const struct tuning_record *record)
{
    const struct registry *registry = optimizer->settings.registry;
    const uint32_t backend = registry_find(registry, record->backend);
    return backend != UINT32_MAX && optimizer->enabled[backend] &&
           registry->entries[backend].version &&
           strcmp(record->version, registry->entries[backend].version) == 0 &&
           strcmp(record->device, optimizer->device.fingerprint) == 0 &&
           record->threads == optimizer->target.threads;
}

collage_status tune_read_log(struct optimizer *optimizer, struct error *error)
{
    const struct optimizer_settings *settings = &optimizer->settings;
    if (!settings->tuning_log)
        return COLLAGE_OK;
    collage_status status = tuning_log_create(&optimizer->tuning, error);
    if (status == COLLAGE_OK)
        status = tuning_log_read(optimizer->tuning, settings->tuning_log,
                                 settings->tune_seconds > 0, error);
    if (status != COLLAGE_OK)
        return status;
    size_t unusable = 0;
    for (size_t k = 0; k < optimizer->tuning->count; k++)
        unusable += !is_usable(optimizer, &optimizer->tuning->records[k]);
    if (unusable && settings->log) {
        char line[512];
        snprintf(line, sizeof line,
                 "'%.300s': %zu of %zu records are for other backends, versions, machines or "
                 "numbers of threads: kept, but not used",
                 settings->tuning_log, unusable, optimizer->tuning->count);
        settings->log(settings->user, COLLAGE_LOG_WARNING, line);
    }
    return COLLAGE_OK;
}

collage_status tuned_schedule(const struct optimizer *optimizer, candidate_id id,
                              const char **schedule, struct error *error)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    const struct cost_conditions conditions = optimizer_conditions(optimizer, candidate->backend);
    const struct tuning_record *record =
        optimizer->tuning ? tuning_log_find(optimizer->tuning, candidate->key, &conditions) : NULL;
    *schedule = NULL;
    if (!record)
        return COLLAGE_OK;
    const char *const *offered;
    size_t count;
    collage_status status = candidate_schedules(optimizer->set, id, &offered, &count, error);
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++)
        if (strcmp(offered[k], record->schedule) == 0)
            *schedule = offered[k];
    return status;
}

/* ---- which kernels ---- */

/* A key that is worth it, by its first candidate. */
struct tunable {
    candidate_id id;
    double hope; /* nanoseconds of the network that could be saved */
};

struct tuner {
    struct optimizer *optimizer;
    struct tunable *items;
    size_t count;
    uint64_t deadline_ns;
};

/* What the network could gain by this candidate with a better schedule. */
static double hope_of(const struct worth *worth, const struct candidate *candidate)
{
    const struct region *region = &candidate->region;
    double price = 0;
    for (uint32_t n = 0; n < region->node_count; n++)
        price += worth->prices[region->nodes[n]];
    if (worth->total <= 0) /* there is no placement */
        return hoped_share * candidate->cost.cost_ns;
    return price - (1 - hoped_share) * candidate->cost.cost_ns;
}

/* Not what the user gave a cost of: that is not measured, and must not get into the store. */
static bool can_be_tuned(const struct optimizer *optimizer, const struct candidate *candidate)
{
    const struct registry *registry = optimizer->settings.registry;
    return !candidate->view && candidate->cost.state == COST_MEASURED && !candidate->cost.giver &&
           registry->entries[candidate->backend].api->schedule &&
           optimizer->enabled[candidate->backend] &&
           (!optimizer->pins || pins_allow(optimizer->pins, candidate));
}

static struct tunable *find_tunable(const struct tuner *tuner, struct hash key)
{
    for (size_t k = 0; k < tuner->count; k++)
        if (hash_equal(tuner->optimizer->set->items[tuner->items[k].id].key, key))
            return &tuner->items[k];
    return NULL;
}

static int compare_tunables(const void *left, const void *right)
{
    const struct tunable *a = left;
    const struct tunable *b = right;
    if (a->hope > b->hope || a->hope < b->hope)
        return a->hope > b->hope ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Equal kernels at several places of the network gain at each. */
static collage_status list_tunables(struct tuner *tuner, struct error *error)
{
    struct optimizer *optimizer = tuner->optimizer;
    const struct candidate_set *set = optimizer->set;
    struct worth worth;
    tuner->items = memory_alloc((set->count + 1) * sizeof *tuner->items);
    if (!tuner->items)
        return error_memory(error);
    collage_status status = worth_create(optimizer, &worth, error);
    if (status != COLLAGE_OK)
        return status;
    for (candidate_id id = 0; id < set->count; id++) {
        const struct candidate *candidate = &set->items[id];
        if (!can_be_tuned(optimizer, candidate))
            continue;
        const double hope = hope_of(&worth, candidate);
        struct tunable *known = hope > 0 ? find_tunable(tuner, candidate->key) : NULL;
        if (known)
            known->hope += hope;
        else if (hope > 0)
            tuner->items[tuner->count++] = (struct tunable){ .id = id, .hope = hope };
    }
    qsort(tuner->items, tuner->count, sizeof *tuner->items, compare_tunables);
    while (tuner->count && tuner->items[tuner->count - 1].hope < negligible * worth.total)
        tuner->count--;
    worth_free(&worth);
    return COLLAGE_OK;
}

/* ---- one kernel ---- */

static bool is_over(const struct tuner *tuner)
{
    return optimizer_has_enough(tuner->optimizer) || clock_ns() > tuner->deadline_ns;
}

/* Known, stored, or measured while there is time; COST_UNKNOWN otherwise. */
static collage_status look_at(const struct tuner *tuner, candidate_id id, const char *schedule,
                              struct cost *cost, struct error *error)
{
    struct optimizer *optimizer = tuner->optimizer;
    const struct cost *now = &optimizer->set->items[id].cost;
    if (now->schedule == schedule ||
        (now->schedule && schedule && strcmp(now->schedule, schedule) == 0)) {
        *cost = *now;
        return COLLAGE_OK;
    }
    collage_status status = optimizer_schedule_cost(optimizer, id, schedule, false, cost, error);
    if (status != COLLAGE_OK)
        return status;
    if (cost->state != COST_UNKNOWN) {
        optimizer->counts.schedules_known++;
        return COLLAGE_OK;
    }
    if (is_over(tuner)) {
        optimizer->counts.schedules_left++;
        return COLLAGE_OK;
    }
    optimizer->counts.schedules_measured++;
    return optimizer_schedule_cost(optimizer, id, schedule, true, cost, error);
}

/* The fastest may have been lucky: both again, as often as each other. */
static collage_status settle(const struct tuner *tuner, candidate_id id, struct cost *own,
                             struct cost *best, struct error *error)
{
    struct cost *const both[] = { own, best };
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < 2; k++)
        while (status == COLLAGE_OK && both[k]->passes < PASSES && !is_over(tuner) &&
               best->cost_ns < own->cost_ns)
            status = optimizer_measure_again(tuner->optimizer, id, both[k], error);
    return status;
}

static collage_status tune_one(const struct tuner *tuner, candidate_id id, struct error *error)
{
    struct optimizer *optimizer = tuner->optimizer;
    const char *const *schedules;
    size_t count;
    struct cost own, best;
    collage_status status = candidate_schedules(optimizer->set, id, &schedules, &count, error);
    if (status != COLLAGE_OK || count == 0)
        return status;
    status = look_at(tuner, id, NULL, &own, error);
    best = own;
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++) {
        struct cost cost;
        status = look_at(tuner, id, schedules[k], &cost, error);
        if (status == COLLAGE_OK && cost.state == COST_MEASURED &&
            (best.state != COST_MEASURED || cost.cost_ns < best.cost_ns))
            best = cost;
    }
    if (status == COLLAGE_OK && own.state == COST_MEASURED && best.schedule)
        status = settle(tuner, id, &own, &best, error);
    if (status != COLLAGE_OK)
        return status;
    if (own.state == COST_MEASURED && best.cost_ns > (1 - least_gain) * own.cost_ns)
        best = own;
    optimizer->tuned[optimizer->counts.tuned++] = id;
    optimizer->counts.faster += best.schedule != NULL;
    return optimizer_set_cost(optimizer, optimizer->set->items[id].key, &best, error);
}

/* ---- what was found ---- */

static collage_status write_one(const struct optimizer *optimizer, candidate_id id,
                                struct tuning_log *log, struct error *error)
{
    const struct candidate *candidate = &optimizer->set->items[id];
    const struct cost_conditions conditions = optimizer_conditions(optimizer, candidate->backend);
    if (!candidate->cost.schedule) {
        tuning_log_remove(log, candidate->key, &conditions);
        return COLLAGE_OK;
    }
    const struct tuning_record record = { .backend = conditions.backend,
                                          .version = conditions.version,
                                          .device = conditions.device,
                                          .threads = conditions.threads,
                                          .key = candidate->key,
                                          .ns = candidate->cost.cost_ns,
                                          .schedule = candidate->cost.schedule };
    return tuning_log_put(log, &record, error);
}

/* Somebody else may have written to the file meanwhile: it is read again, and only what was tuned
 * here is replaced. */
collage_status optimizer_write_tuning(struct optimizer *optimizer, struct error *error)
{
    const char *path = optimizer->settings.tuning_log;
    struct tuning_log *log = NULL;
    if (!path || !(optimizer->settings.tune_seconds > 0))
        return COLLAGE_OK;
    collage_status status = tuning_log_create(&log, error);
    if (status == COLLAGE_OK)
        status = tuning_log_read(log, path, true, error);
    for (size_t k = 0; k < optimizer->counts.tuned && status == COLLAGE_OK; k++)
        status = write_one(optimizer, optimizer->tuned[k], log, error);
    if (status == COLLAGE_OK)
        status = tuning_log_write(log, path, error);
    tuning_log_destroy(log);
    return status;
}

/* ---- all of them ---- */

static collage_status tune_all(struct tuner *tuner, struct error *error)
{
    struct optimizer *optimizer = tuner->optimizer;
    const struct candidate_set *set = optimizer->set;
    collage_status status = list_tunables(tuner, error);
    if (status != COLLAGE_OK)
        return status;
    optimizer->tuned = arena_array(optimizer->arena, tuner->count, sizeof *optimizer->tuned);
    if (!optimizer->tuned)
        return error_memory(error);
    for (size_t k = 0; k < tuner->count && status == COLLAGE_OK; k++) {
        const uint32_t backend = set->items[tuner->items[k].id].backend;
        status = optimizer_report_progress(optimizer, "tune",
                                           optimizer->settings.registry->entries[backend].name, k,
                                           tuner->count, error);
        if (status == COLLAGE_OK)
            status = tune_one(tuner, tuner->items[k].id, error);
    }
    return status;
}

collage_status optimizer_tune(struct optimizer *optimizer, struct error *error)
{
    if (!(optimizer->settings.tune_seconds > 0))
        return COLLAGE_OK;
    const uint64_t start = clock_ns();
    struct tuner tuner = { .optimizer = optimizer,
                           .deadline_ns =
                               start + (uint64_t)(optimizer->settings.tune_seconds * 1e9) };
    collage_status status = tune_all(&tuner, error);
    memory_free(tuner.items);
    const uint64_t spent = clock_ns() - start;
    optimizer->deadline_ns += spent; /* the budget for measuring is another one */
    optimizer->counts.tune_seconds = (double)spent * 1e-9;
    return status;
}
