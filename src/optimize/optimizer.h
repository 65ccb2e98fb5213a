/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer.h: the search for the fastest plan of one graph on one machine: what it knows, and its
 * steps, which src/collage.c calls in order. Each step reads what the ones before it left in struct
 * optimizer.
 */
#ifndef COLLAGE_OPTIMIZE_OPTIMIZER_H
#define COLLAGE_OPTIMIZE_OPTIMIZER_H

#include <stdatomic.h>

#include "cost/device.h"
#include "cost/given.h"
#include "cost/store.h"
#include "cost/tuning_log.h"
#include "plan/ablation.h"
#include "worker/worker.h"

struct optimizer_settings {
    const struct graph *graph;
    const char *model_path;
    const collage_shape *shapes;
    size_t shape_count;
    struct registry *registry;
    const char *plugin_directories, *worker_program, *solver_program, *cache_directory;
    const char *backends; /* comma-separated, NULL: all */
    int32_t threads;
    double budget_seconds;  /* for measuring candidates */
    double tune_seconds;    /* for schedules, beside that; 0: none are searched */
    const char *tuning_log; /* a file; NULL: none */
    double race_seconds;
    bool trust; /* code objects of plans: as plan/object.h */
    bool remeasure;
    bool stored_only; /* what the store lacks of transitions and switches stays unknown */
    bool race_anew;   /* even if this very race was run before */
    bool race_whole;  /* nobody rests: all are to be compared with all */
    /* True from some moment on: the user has enough. Measuring ends then, and the best plan of what
     * is known is made, with the shortest race. NULL: never. Borrowed. */
    const atomic_bool *enough;
    const struct peer *peers; /* who else takes part in it; borrowed */
    size_t peer_count;
    /* Of a comparison: plans that take part beside the first one, and the names of all, the first
     * one's first. NULL: "plan", "plan 2", ... Borrowed. */
    struct plan *const *others;
    size_t other_count;
    const char *const *plan_names;
    collage_search search;
    double kernel_cost_ns; /* op-level, two-level: added for each kernel; 0: the dispatch cost */
    uint64_t search_seed;  /* two-level, as the two below */
    uint32_t search_generations;
    double search_seconds;
    bool recompute;          /* candidates may have copies of cheap nodes */
    bool strict;             /* only kernels within the bound of direct summation */
    const collage_pin *pins; /* borrowed; node and backend are not NULL */
    size_t pin_count;
    const char *placement_path;                /* of a placement to hold to; NULL: none */
    struct pattern_file *const *pattern_files; /* for candidates; borrowed */
    size_t pattern_file_count;
    const struct given_costs *given; /* instead of measured ones; borrowed; NULL: none */
    collage_log_fn log;
    collage_progress_fn progress;
    void *user;
};

/* What the search did: goes into the plan as evidence. */
struct optimizer_counts {
    size_t candidates, keys; /* keys: different ones, each measured once */
    size_t measured, reused, given, failed, confirmed;
    size_t unmeasured, not_worth; /* for want of time; of hope */
    size_t transitions, regions_merged, regions_proposed, rounds, rehearsed, states, solves;
    double reference_seconds, measure_seconds, place_seconds, race_seconds;
    /* Of the two-level search: generations; plans measured end to end; groups that could be moved;
     * what it took. */
    size_t generations, individuals, groups;
    double search_seconds;
    /* Of tuning: keys whose schedules were looked at, of how many of them the best is faster than
     * the backend's own choice; schedules measured, known before, and not reached in time. */
    size_t tuned, faster, schedules_measured, schedules_known, schedules_left;
    double tune_seconds;
};

/* A placement of the exact search, and what it came from: regions that the one before gave reason
 * to, joined or proposed (propose.h), how many of these were then measured, and how many of these
 * it has chosen. */
struct optimizer_round {
    double best_ns; /* predicted */
    size_t proposed, dismissed, measured, kept;
    bool anew; /* a rehearsal has changed costs: what was predicted before does not compare */
};

/* What a contestant must show in the race to become the plan, against the best of those below it:
 * with nothing shown the user gets the library that is the fastest by itself. */
enum proof {
    PROOF_NONE,       /* a library's own session: is it the fastest? */
    PROOF_NOT_SLOWER, /* an op-level library alone: faster, and by 95 % not slower than 1.02 */
    PROOF_FASTER      /* mixes, and regions of ours that one library runs: faster, by 95 % */
};

/* One library more at a time: who joins, and which contestant that makes; SIZE_MAX: there is no
 * placement yet. */
struct optimizer_ablation {
    uint32_t backend;
    size_t contestant;
};

struct optimizer {
    struct optimizer_settings settings;
    struct arena *arena; /* of strings and small arrays that live as long as the optimizer */
    struct device_facts device;
    collage_target target;
    bool *enabled; /* one for each backend of the registry: available and asked for */
    struct oracle *oracle;
    struct worker *worker;
    struct cost_store *store;
    struct candidate_set *set;
    struct sample_conditions conditions;
    uint32_t working_set_log2;
    bool makes_code; /* there is a C compiler: costs of kernels that need one count */
    uint64_t deadline_ns, look_deadline_ns; /* of measuring; of this part of it */
    struct transition *transitions;
    size_t transition_count, transition_capacity;
    double *switch_ns;
    struct key_table *known;   /* costs by key, of this run */
    struct tuning_log *tuning; /* what the settings' log says and what tuning found; NULL: neither
                                  was asked for */
    candidate_id *tuned;       /* counts.tuned of them, each the first of its key */
    struct pins *pins;         /* NULL: none */
    double *convergence;       /* of the two-level search: the best so far after each generation */
    size_t convergence_capacity;
    struct optimizer_round *rounds; /* of the exact search */
    size_t round_count, round_capacity;
    double best_ns, alone_ns; /* so far, predicted: the best placement; the best library that runs
                                 the whole graph. 0: not known */
    uint32_t alone;           /* that library */
    struct optimizer_ablation *ablation;
    uint32_t ablation_count;
    /* The final race, one element each: the mix or a given plan, and two for each library. */
    struct contestant *contestants;
    struct plan **plans; /* what is ours: NULL for libraries alone and for given plans */
    const char **names, **notes;
    enum proof *proofs;
    size_t contestant_count, contestant_capacity;
    bool race_failed; /* out of memory between two rounds: nobody could say who leads */
    struct optimizer_counts counts;
};

/* COLLAGE_ERROR_ARGUMENT if the model is too large for the search of the settings. */
collage_status optimizer_check_search(const struct optimizer_settings *settings,
                                      struct error *error);
/* The names of `backends` must be known; opens the cost store; starts a worker; asks every library
 * for its version. */
collage_status optimizer_open(const struct optimizer_settings *settings,
                              struct optimizer *optimizer, struct error *error);
void optimizer_close(struct optimizer *optimizer);

collage_status optimizer_make_candidates(struct optimizer *optimizer, struct error *error);
/* What the settings pin, and the candidates that pinned groups are. COLLAGE_ERROR_ARGUMENT or
 * _FORMAT if that cannot be. */
collage_status optimizer_make_pins(struct optimizer *optimizer, struct error *error);
/* Candidates without a cost: from the store, else measured, the most useful first, until their part
 * of the budget is spent. Kernels: the whole graph on each graph-level library, op-level kernels,
 * and the reference where nobody else can. Regions: all else on graph-level libraries. */
collage_status optimizer_measure_kernels(struct optimizer *optimizer, struct error *error);
/* Kernels from the store; measured only if some op-level library alone could not be placed else. */
collage_status optimizer_need_kernels(struct optimizer *optimizer, struct error *error);
collage_status optimizer_measure_regions(struct optimizer *optimizer, struct error *error);
/* For searches by single operators: those of graph-level libraries, and pinned groups, whether they
 * promise anything or not; all of the budget. */
collage_status optimizer_measure_operators(struct optimizer *optimizer, struct error *error);
/* Regions that were added meanwhile: half of the budget that is left. The rest is for confirming.
 */
collage_status optimizer_measure_merged(struct optimizer *optimizer, struct error *error);
/* Single-operator mode: each candidate that covers the node, the smallest first, from the store or
 * measured, until the budget is spent. (*origins)[id]: where the cost of a candidate comes from, in
 * words; NULL: it has none. They live as long as the optimizer. */
collage_status optimizer_measure_node(struct optimizer *optimizer, node_id node,
                                      const char *const **origins, struct error *error);
/* Every conversion between a layout that some candidate makes and one that some candidate wants. */
collage_status optimizer_measure_transitions(struct optimizer *optimizer, struct error *error);
collage_status optimizer_measure_switches(struct optimizer *optimizer, struct error *error);
/* If the settings say so: searches the schedules of the kernels in or near the best placement so
 * far, the largest possible gain first. Costs are then those of the best schedules. */
collage_status optimizer_tune(struct optimizer *optimizer, struct error *error);
/* Puts what that has found, and placing has confirmed, into the tuning log, if there is one. */
collage_status optimizer_write_tuning(struct optimizer *optimizer, struct error *error);
/* Places on all enabled backends; merges neighbouring regions, measures, rehearses, places again
 * until nothing improves; adds the plan to the contestants as "mix". */
collage_status optimizer_place_mix(struct optimizer *optimizer, struct error *error);
/* Adds the best placements on two libraries, if they are others than those before and promise about
 * as much. Not if the user has enough. */
collage_status optimizer_add_pairs(struct optimizer *optimizer, struct error *error);
/* Places by the search of the settings, which is not the exact one; adds the plan to the
 * contestants, as the first. */
collage_status optimizer_place_search(struct optimizer *optimizer, struct error *error);
/* If it promises to be faster: adds the best placement, and that on op-level libraries, with steps
 * side by side (plan/lanes.h), after measuring what such steps take on their share of the threads.
 */
collage_status optimizer_add_lanes(struct optimizer *optimizer, struct error *error);
/* Adds each library alone: its own session (graph-level), or the best placement on it (op-level).
 */
collage_status optimizer_add_alone(struct optimizer *optimizer, struct error *error);
/* Adds the best placement on each graph-level library as well: several of its sessions. */
collage_status optimizer_add_regions_alone(struct optimizer *optimizer, struct error *error);
/* Adds a plan that was made before. It is borrowed. */
collage_status optimizer_add_plan(struct optimizer *optimizer, const char *name, struct plan *plan,
                                  struct error *error);
/* Adds such a plan, as the first, and those that the settings compare it with, by their names. */
collage_status optimizer_add_plans(struct optimizer *optimizer, struct plan *plan,
                                   struct error *error);
/* Adds a graph-level library alone: its own session and defaults. */
collage_status optimizer_add_library(struct optimizer *optimizer, uint32_t backend,
                                     struct error *error);
/* Adds every graph-level library alone; COLLAGE_ERROR_BACKEND if there is none. */
collage_status optimizer_add_libraries(struct optimizer *optimizer, struct error *error);
/* The plan that is one library alone; NULL if its region cannot hold the whole model. */
collage_status optimizer_make_standalone(struct optimizer *optimizer, uint32_t backend,
                                         struct plan **out, struct error *error);
/* Adds each graph-level library that takes the whole model: its own session. */
collage_status optimizer_add_sessions(struct optimizer *optimizer, struct error *error);
/* Adds the best placement on 1, 2, ... libraries: the best one, then always the one with which the
 * whole costs least. What none of them takes the reference does. */
collage_status optimizer_place_ablation(struct optimizer *optimizer, struct error *error);
/* After the race of these and of sessions: all that is to be told. Lives as long as the optimizer,
 * and at least as its model. */
collage_status optimizer_write_ablation(struct optimizer *optimizer, struct ablation *out,
                                        struct error *error);
/* Adds the peers of the settings: only to a race that is run anew. */
collage_status optimizer_add_peers(struct optimizer *optimizer, struct error *error);
/* Races the contestants. */
collage_status optimizer_race(struct optimizer *optimizer, struct error *error);
/* The fastest contestant that is a plan, with all results and the evidence; the caller's. If a
 * search other than the exact one was asked for, its plan, however fast. */
collage_status optimizer_take_winner(struct optimizer *optimizer, struct plan **out,
                                     struct error *error);
/* Finds the plan's objects, if it needs any. */
collage_status optimizer_add_code(struct optimizer *optimizer, struct plan *plan,
                                  struct error *error);
/* Fills plan->results from the race, relative to contestant `chosen`. */
collage_status optimizer_write_results(struct optimizer *optimizer, size_t chosen,
                                       struct plan *plan, struct error *error);

/* After a race: how far its contestants are from the reference. COLLAGE_ERROR_WRONG_RESULT if too
 * far. */
collage_status optimizer_write_verification(const struct optimizer *optimizer,
                                            collage_verification *result, struct error *error);

/*
 * Internal to optimize/. Which contestant becomes the plan, by paired ratios: medians of unpaired
 * samples tell as much about the machine's phases as about the contestants. Libraries' own sessions
 * come first; then an op-level library alone, then mixes must show what their proof demands against
 * the best of those before. So nothing of ours is chosen for luck or slower than a library alone,
 * and where there is nothing to gain the plan is the simple one. Only among those whose proof is at
 * most so much. SIZE_MAX if none finished.
 */
collage_status optimizer_find_winner(struct optimizer *optimizer, enum proof most, size_t *winner,
                                     struct error *error);
/* After a race: a winner that is no library's own session meets the best of these again, in new
 * processes, and must not be slower (heats.c); else the next best does, and so on. */
collage_status optimizer_run_heats(struct optimizer *optimizer, const struct worker_setup *setup,
                                   struct error *error);

/* Internal to optimize/: the reference runs, and a measuring worker starts, when first needed: a
 * second run that finds all in the store needs neither. */
collage_status optimizer_need_reference(struct optimizer *optimizer, struct error *error);
collage_status optimizer_need_worker(struct optimizer *optimizer, struct error *error);
struct worker_setup optimizer_worker_setup(const struct optimizer *optimizer);

/* Internal to optimize/: "exact", "op-level", ... */
const char *optimizer_search_name(collage_search search);
/* Does the search choose among single operators (and patterns), not regions? */
bool optimizer_is_by_operators(const struct optimizer *optimizer);
/* Adds a plan of several libraries to the contestants, which own it from then on. */
collage_status optimizer_add_mix(struct optimizer *optimizer, const char *name, struct plan *plan,
                                 struct error *error);
/* The best placement on these backends only; settle: merged and confirmed as the mix is. *plan is
 * NULL if there is none. */
collage_status optimizer_place_on(struct optimizer *optimizer, bool *only, bool settle,
                                  struct plan **plan, struct error *error);
/* Do both run the same kernels in the same order? */
bool optimizer_same_steps(const struct plan *a, const struct plan *b);
/* "with reference for Gather, Shape": what the plan's libraries could not do themselves. "" if they
 * did all, NULL if out of memory. */
const char *optimizer_note_reference(struct optimizer *optimizer, const struct plan *plan);
/* The placement problem as it stands, over these backends. */
struct place_problem optimizer_problem(const struct optimizer *optimizer, const bool *enabled);
/* Measures again what matters for a placement's choice and is not settled: the chosen candidates
 * and those hardly dearer for the same nodes, until `passes` measurements in a row found no lower
 * cost. *again: how many. */
collage_status optimizer_confirm(struct optimizer *optimizer, const struct placement *placement,
                                 uint32_t passes, size_t *again, struct error *error);
/* The cost of a candidate with a schedule (NULL: the backend's own choice): stored, or measured now
 * and kept if `measure`; else COST_UNKNOWN. */
collage_status optimizer_schedule_cost(struct optimizer *optimizer, candidate_id id,
                                       const char *schedule, bool measure, struct cost *cost,
                                       struct error *error);
/* Measures a candidate again with the schedule of *best, which becomes the lower cost, and keeps
 * it. */
collage_status optimizer_measure_again(struct optimizer *optimizer, candidate_id id,
                                       struct cost *best, struct error *error);
/* For all candidates of that key, also those to come. */
collage_status optimizer_set_cost(struct optimizer *optimizer, struct hash key,
                                  const struct cost *cost, struct error *error);
/* Gives one candidate its cost: known, stored, or measured now and kept if `measure`. *origin:
 * which of these, in words; NULL: none. */
collage_status optimizer_find_cost(struct optimizer *optimizer, candidate_id id, bool measure,
                                   const char **origin, struct error *error);
/* The cost of a conversion of one value: known, stored, or measured now and kept. */
collage_status optimizer_transition_cost(struct optimizer *optimizer, uint32_t backend,
                                         value_id value, const collage_layout *from,
                                         const collage_layout *to, struct cost *cost,
                                         struct error *error);
/* What the user says that the candidate costs; COST_UNKNOWN: nothing. */
collage_status optimizer_ask_given(const struct optimizer *optimizer, candidate_id id,
                                   struct cost *cost, struct error *error);
/* Has the user enough of measuring? */
bool optimizer_has_enough(const struct optimizer *optimizer);
/* COLLAGE_ERROR_INTERRUPTED if that is wanted, also when the user has enough before anything is
 * known. */
collage_status optimizer_report_progress(const struct optimizer *optimizer, const char *stage,
                                         const char *detail, size_t done, size_t total,
                                         struct error *error);
struct cost_conditions optimizer_conditions(const struct optimizer *optimizer, uint32_t backend);
/* Bytes that one run of the network touches, as costs have it in their key: a power of 2. */
uint32_t optimizer_working_set_log2(const struct graph *graph);

#endif
