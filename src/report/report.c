/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include "base/json_text.h"
#include "report/html.h"
#include "report/parts.h"

static collage_status put_json(json_t *json, struct text *out, struct error *error)
{
    const bool fine = json_put(json, JSON_INDENT(2), out);
    json_decref(json);
    return fine ? COLLAGE_OK : error_memory(error);
}

static collage_status put_svg(const struct graph *graph, const struct plan *plan, struct text *out,
                              struct error *error)
{
    struct text dot = { 0 };
    collage_status status = report_dot(graph, plan, &dot, error);
    if (status == COLLAGE_OK)
        status = dot.failed ? error_memory(error) : report_svg(&dot, out, error);
    text_free(&dot);
    return status;
}

static collage_status put_text(const struct graph *graph, const struct plan *plan, struct text *out,
                               struct error *error)
{
    /* What matters most comes last: it is what a terminal still shows. */
    report_steps_text(graph, plan, out);
    collage_status status = report_placement_text(graph, plan, out, error);
    if (status == COLLAGE_OK)
        report_results_text(graph, plan, out);
    return status;
}

collage_status report_plan(const struct graph *graph, const struct plan *plan,
                           collage_format format, struct text *out, struct error *error)
{
    collage_status status = COLLAGE_OK;
    json_t *json;
    switch (format) {
    case COLLAGE_FORMAT_TEXT:
        status = put_text(graph, plan, out, error);
        break;
    case COLLAGE_FORMAT_JSON:
        status = plan_to_json(plan, graph, &json, error);
        if (status == COLLAGE_OK)
            status = put_json(json, out, error);
        break;
    case COLLAGE_FORMAT_DOT:
        status = report_dot(graph, plan, out, error);
        break;
    case COLLAGE_FORMAT_SVG:
        status = put_svg(graph, plan, out, error);
        break;
    case COLLAGE_FORMAT_HTML:
        status = report_html(graph, plan, NULL, out, error);
        break;
    default:
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "a plan is not reported in format %d",
                         (int)format);
    }
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}

/* The members of the plan's object that a comparison is about. */
static collage_status put_results_json(const struct graph *graph, const struct plan *plan,
                                       struct text *out, struct error *error)
{
    static const char *const members[] = { "collage", "model",       "threads",
                                           "device",  "device_name", "results" };
    json_t *whole;
    collage_status status = plan_to_json(plan, graph, &whole, error);
    if (status != COLLAGE_OK)
        return status;
    json_t *json = json_object();
    bool ok = json != NULL;
    for (size_t k = 0; k < sizeof members / sizeof *members && ok; k++)
        ok = json_object_set(json, members[k], json_object_get(whole, members[k])) == 0;
    json_decref(whole);
    if (ok)
        return put_json(json, out, error);
    json_decref(json);
    return error_memory(error);
}

collage_status report_results(const struct graph *graph, const struct plan *plan,
                              collage_format format, struct text *out, struct error *error)
{
    if (format == COLLAGE_FORMAT_JSON) {
        collage_status status = put_results_json(graph, plan, out, error);
        if (status != COLLAGE_OK)
            return status;
    } else if (format == COLLAGE_FORMAT_TEXT) {
        report_results_text(graph, plan, out);
    } else {
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "results are reported as text or JSON only");
    }
    return out->failed ? error_memory(error) : COLLAGE_OK;
}
