/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators.h: times single operators and small chains: the cases of cases/cases.def, each on every
 * backend and in every variant, verified against the reference and timed by a worker process the
 * way candidates of a network are (docs/measuring.md). In: which cases, which backends. Out: a
 * result for each case, as it is done, for the writers below.
 */
#ifndef COLLAGE_BENCH_OPERATORS_H
#define COLLAGE_BENCH_OPERATORS_H

#include <jansson.h>

#include "base/text.h"
#include "cases/case_graph.h"
#include "measure/peaks.h"
#include "worker/worker.h"

struct bench_settings {
    struct registry *registry; /* described: versions and problems are known */
    const char *plugin_directories, *worker_program, *cache_directory;
    const collage_bench_operators_options *options;
    const struct peaks *peaks; /* of the machine; NULL: not known */
    collage_log_fn log;
    collage_progress_fn progress;
    void *user;
};

/* A variant of a case on a backend, or why the backend does not take the case. */
struct bench_row {
    const char *backend, *variant;
    const char *refusal; /* NULL: cost says how it went */
    struct cost cost;
};

/* Rows: the fastest first, then those that failed, then the refusals. */
struct bench_result {
    const struct operator_case *row;
    char shapes[256]; /* "1x64x56x56, 64x64x3x3 -> 1x64x56x56" */
    double work;      /* floating-point operations; 0 if not counted */
    double bound_ns;  /* the least time, by the machine's peaks; 0 if not known */
    struct bench_row *rows;
    size_t count;
};

/* Takes one result; what it points to is gone afterwards. */
typedef collage_status (*bench_result_fn)(void *user, const struct bench_result *result,
                                          struct error *error);

/* Do the cases and backends that the options name exist? */
collage_status bench_check(const struct bench_settings *settings, struct error *error);
/* Is the case among those that the options ask for? */
bool bench_case_is_chosen(const collage_bench_operators_options *options,
                          const struct operator_case *row);
/* Runs the chosen cases. *wrong: how many kernels gave a wrong result. */
collage_status bench_run(const struct bench_settings *settings, bench_result_fn done, void *user,
                         size_t *wrong, struct error *error);

/* Checks, runs, and writes as collage_bench_operators says. */
collage_status bench_report(const struct bench_settings *settings, collage_format format,
                            collage_write_fn write, void *user, struct error *error);

/* ---- writers ---- */

/* peaks may be NULL. */
void bench_put_head(int32_t threads, const struct peaks *peaks, struct text *out);
void bench_put_result(const struct bench_result *result, struct text *out);
/* NULL: out of memory. */
json_t *bench_result_to_json(const struct bench_result *result);

#endif
