/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline. A model file becomes a canonical graph; the graph becomes a plan. Each line is a
 * stage; each stage is a folder of src/.
 */
#include "canon/canon.h"
#include "graph/verify.h"
#include "onnx/onnx.h"
#include "optimize/optimizer.h"
#include "pipeline.h"
#include "report/ablation.h"
#include "report/explain.h"

collage_status pipeline_load(const char *path, const collage_shape *shapes, size_t shape_count,
                             struct graph **out, struct error *error)
{
    struct graph *graph = NULL;
    collage_status status = onnx_import(path, shapes, shape_count, &graph, error);
    if (status == COLLAGE_OK)
        status = canon_run(graph, error);
    if (status == COLLAGE_OK)
        status = graph_verify(graph, error);
    if (status != COLLAGE_OK) {
        graph_destroy(graph);
        return status;
    }
    *out = graph;
    return COLLAGE_OK;
}

/* Calls the steps in order until one fails. */
typedef collage_status (*optimizer_step)(struct optimizer *optimizer, struct error *error);

static collage_status run_steps(struct optimizer *optimizer, const optimizer_step *steps,
                                size_t count, struct error *error)
{
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < count && status == COLLAGE_OK; k++)
        status = steps[k](optimizer, error);
    return status;
}

/* Another search than ours, to compare: by single operators, or all placements of a small graph. */
static collage_status search(struct optimizer *optimizer, struct error *error)
{
    static const optimizer_step by_operators[] = {
        optimizer_make_candidates,
        optimizer_make_pins,
        optimizer_measure_kernels,
        optimizer_measure_operators,
        optimizer_measure_transitions,
        optimizer_measure_switches,
        optimizer_tune,
        optimizer_place_search,
        optimizer_add_alone,
        optimizer_write_tuning,
        optimizer_race,
    };
    static const optimizer_step brute[] = {
        optimizer_make_candidates,
        optimizer_make_pins,
        optimizer_measure_kernels,
        optimizer_measure_transitions,
        optimizer_measure_regions,
        optimizer_measure_switches,
        optimizer_tune,
        optimizer_place_search,
        optimizer_add_alone,
        optimizer_write_tuning,
        optimizer_race,
    };
    if (optimizer_is_by_operators(optimizer))
        return run_steps(optimizer, by_operators, sizeof by_operators / sizeof *by_operators,
                         error);
    return run_steps(optimizer, brute, sizeof brute / sizeof *brute, error);
}

collage_status pipeline_optimize(const struct optimizer_settings *settings, struct plan **out,
                                 struct error *error)
{
    static const optimizer_step steps[] = {
        optimizer_make_candidates,
        optimizer_make_pins,
        optimizer_measure_kernels,
        optimizer_measure_transitions,
        optimizer_measure_regions,
        optimizer_measure_switches,
        optimizer_tune,
        optimizer_place_mix,
        optimizer_add_pairs,
        optimizer_add_lanes,
        optimizer_add_alone,
        optimizer_add_regions_alone,
        optimizer_write_tuning,
        optimizer_race,
    };
    struct optimizer optimizer;
    *out = NULL;
    collage_status status = optimizer_check_search(settings, error);
    if (status != COLLAGE_OK)
        return status;
    status = optimizer_open(settings, &optimizer, error);
    if (status == COLLAGE_OK && settings->search != COLLAGE_SEARCH_EXACT)
        status = search(&optimizer, error);
    else if (status == COLLAGE_OK)
        status = run_steps(&optimizer, steps, sizeof steps / sizeof *steps, error);
    if (status == COLLAGE_OK)
        status = optimizer_take_winner(&optimizer, out, error);
    if (status == COLLAGE_OK)
        status = optimizer_add_code(&optimizer, *out, error);
    if (status != COLLAGE_OK) {
        plan_destroy(*out);
        *out = NULL;
    }
    optimizer_close(&optimizer);
    return status;
}

collage_status pipeline_bench(const struct optimizer_settings *settings, struct plan *plan,
                              struct error *error)
{
    static const optimizer_step steps[] = {
        optimizer_make_candidates, optimizer_need_kernels, optimizer_measure_transitions,
        optimizer_add_alone,       optimizer_add_peers,    optimizer_race,
    };
    struct optimizer optimizer;
    struct optimizer_settings anew = *settings;
    anew.race_anew = true;
    anew.race_whole = settings->other_count > 0; /* all are to be compared with all */
    collage_status status = optimizer_open(&anew, &optimizer, error);
    if (status == COLLAGE_OK)
        status = optimizer_add_plans(&optimizer, plan, error);
    if (status == COLLAGE_OK)
        status = run_steps(&optimizer, steps, sizeof steps / sizeof *steps, error);
    if (status == COLLAGE_OK)
        status = optimizer_write_results(&optimizer, 0, plan, error);
    optimizer_close(&optimizer);
    return status;
}

collage_status pipeline_ablate(const struct optimizer_settings *settings, collage_format format,
                               struct text *out, struct error *error)
{
    static const optimizer_step steps[] = {
        optimizer_make_candidates,     optimizer_measure_kernels,
        optimizer_measure_transitions, optimizer_measure_regions,
        optimizer_measure_switches,    optimizer_place_ablation,
        optimizer_add_sessions,        optimizer_race,
    };
    struct optimizer optimizer;
    struct optimizer_settings anew = *settings;
    struct ablation ablation;
    anew.race_anew = anew.race_whole = true;
    collage_status status = optimizer_open(&anew, &optimizer, error);
    if (status == COLLAGE_OK)
        status = run_steps(&optimizer, steps, sizeof steps / sizeof *steps, error);
    if (status == COLLAGE_OK)
        status = optimizer_write_ablation(&optimizer, &ablation, error);
    if (status == COLLAGE_OK)
        status = report_ablation(&ablation, format, out, error);
    optimizer_close(&optimizer);
    return status;
}

collage_status pipeline_measure_node(const struct optimizer_settings *settings, node_id node,
                                     struct text *out, struct error *error)
{
    struct optimizer optimizer;
    const char *const *origins = NULL;
    collage_status status = optimizer_open(settings, &optimizer, error);
    if (status == COLLAGE_OK)
        status = optimizer_make_candidates(&optimizer, error);
    if (status == COLLAGE_OK)
        status = optimizer_measure_node(&optimizer, node, &origins, error);
    if (status == COLLAGE_OK) {
        const struct measured_node measured = { .set = optimizer.set,
                                                .node = node,
                                                .origins = origins,
                                                .device_name = optimizer.device.name };
        status = report_measured_node(&measured, out, error);
    }
    optimizer_close(&optimizer);
    return status;
}

collage_status pipeline_verify(const struct optimizer_settings *settings, struct plan *plan,
                               collage_verification *result, struct error *error)
{
    struct optimizer optimizer;
    struct optimizer_settings shortest = *settings;
    shortest.race_seconds = 0.01;
    shortest.race_anew = true;
    collage_status status = optimizer_open(&shortest, &optimizer, error);
    if (status == COLLAGE_OK)
        status = plan ? optimizer_add_plan(&optimizer, "plan", plan, error)
                      : optimizer_add_libraries(&optimizer, error);
    if (status == COLLAGE_OK)
        status = optimizer_race(&optimizer, error);
    if (status == COLLAGE_OK)
        status = optimizer_write_verification(&optimizer, result, error);
    optimizer_close(&optimizer);
    return status;
}
