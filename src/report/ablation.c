/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ablation.h"

#include <jansson.h>

#include "base/json_text.h"
#include "report/parts.h"

/* ---- the table ---- */

enum { NAME_WIDTH = 20, RATIO_WIDTH = 22 };

static void put_ratio(struct text *out, const struct ablation_ratio *ratio)
{
    size_t before = out->count;
    text_string(out, "  ");
    if (ratio->median > 0)
        text_format(out, "%.3f [%.3f, %.3f]", ratio->median, ratio->low, ratio->high);
    else
        text_string(out, "-");
    while (!out->failed && out->count < before + 2 + RATIO_WIDTH)
        text_string(out, " ");
}

static void put_time(struct text *out, double ns)
{
    if (ns > 0)
        text_format(out, " %9.3f", ns / 1e6);
    else
        text_format(out, " %9s", "-");
}

static void end_line(struct text *out)
{
    while (out->count > 0 && out->bytes[out->count - 1] == ' ')
        out->bytes[--out->count] = '\0';
    text_string(out, "\n");
}

/* What does not fit into the columns stands below. */
static void put_remark(struct text *out, const char *remark)
{
    if (!remark[0])
        return;
    text_string(out, "      ");
    report_put(out, remark, 0);
    text_string(out, "\n");
}

static void put_row(struct text *out, const char *sign, const struct ablation_row *row, bool first,
                    bool gains)
{
    text_string(out, sign);
    report_put(out, row->added, NAME_WIDTH);
    put_time(out, row->predicted_ns);
    put_time(out, row->minimum_ns);
    put_time(out, row->median_ns);
    if (first && row->median_ns > 0)
        text_format(out, "  %-*s", RATIO_WIDTH, "1");
    else
        put_ratio(out, &row->speed_up);
    if (gains)
        put_ratio(out, &row->gain);
    end_line(out);
    put_remark(out, row->failure[0] ? row->failure : row->note);
}

/* Who comes first among those that have times: all are compared with it. */
static size_t find_first(const struct ablation *a)
{
    size_t first = 0;
    while (first < a->row_count && !(a->rows[first].median_ns > 0))
        first++;
    return first;
}

static void put_rows(const struct ablation *a, struct text *out)
{
    size_t first = find_first(a);
    for (size_t k = 0; k < a->row_count; k++) {
        const struct ablation_row *row = &a->rows[k];
        const char *sign = k ? "+ " : "  ";
        if (!row->same) {
            put_row(out, sign, row, k == first, k > 0);
            continue;
        }
        text_string(out, sign);
        report_put(out, row->added, NAME_WIDTH);
        text_string(out, " nothing to gain by the costs: the plan of the row above\n");
    }
}

static void put_conclusion(const struct ablation *a, struct text *out)
{
    size_t first = find_first(a);
    if (a->row_count == 0 || first + 1 >= a->row_count)
        return;
    const struct ablation_row *last = &a->rows[a->row_count - 1];
    const struct ablation_ratio *ratio = &last->speed_up;
    if (!(ratio->median > 0))
        return;
    text_format(out, "\nWith %zu libraries the model takes %.3f of the time that it takes with ",
                a->row_count, 1 / ratio->median);
    report_put(out, a->rows[first].added, 0);
    if (first > 0)
        text_string(out, " and those before it");
    text_format(out, ":\n%.3f times as fast (95 %% confidence: %.3f to %.3f)", ratio->median,
                ratio->low, ratio->high);
    text_string(out, ratio->low <= 1 && ratio->high >= 1 ? ", equal within the noise.\n" : ".\n");
}

static void put_text(const struct ablation *a, struct text *out)
{
    report_put(out, a->model, 0);
    text_format(out, ": %d thread%s", (int)a->threads, a->threads == 1 ? "" : "s");
    if (a->device_name[0]) {
        text_string(out, ", ");
        report_put(out, a->device_name, 0);
    }
    text_string(out,
                "\n\nOne library more at a time. What none of them takes, the reference does.\n"
                "  libraries            costs[ms]  min [ms]  med [ms]  speed-up [95 % CI]    "
                "  over the row above\n");
    put_rows(a, out);
    if (a->alone_count > 0)
        text_string(out, "\nLibraries alone.\n");
    for (size_t k = 0; k < a->alone_count; k++)
        put_row(out, "  ", &a->alone[k], false, false);
    put_conclusion(a, out);
}

/* ---- JSON ---- */

static json_t *ratio_json(const struct ablation_ratio *ratio)
{
    if (!(ratio->median > 0))
        return json_null();
    return json_pack("[f,f,f]", ratio->median, ratio->low, ratio->high);
}

/* NULL if out of memory. */
static json_t *row_json(const struct ablation_row *row)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:b,s:f,s:f,s:f,s:f,s:f,s:o,s:o,s:f,s:I}", "added",
                     json_text(row->added), "version", json_text(row->version), "note",
                     json_text(row->note), "failure", json_text(row->failure), "same",
                     (int)row->same, "predicted_ns", row->predicted_ns, "minimum_ns",
                     row->minimum_ns, "median_ns", row->median_ns, "low_ns", row->low_ns, "high_ns",
                     row->high_ns, "speed_up", ratio_json(&row->speed_up), "gain",
                     ratio_json(&row->gain), "worst_error", row->worst_error, "peak_bytes",
                     (json_int_t)row->peak_bytes);
}

/* The names of the rows up to this one go with it. */
static bool add_libraries(const struct ablation *a, size_t row, json_t *json)
{
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t k = 0; k <= row && ok; k++)
        ok = json_array_append_new(list, json_text(a->rows[k].added)) == 0;
    return json_object_set_new(json, "libraries", list) == 0 && ok;
}

/* NULL if out of memory. */
static json_t *ablation_json(const struct ablation *a)
{
    json_t *rows = json_array(), *alone = json_array();
    bool ok = rows && alone;
    for (size_t k = 0; k < a->row_count && ok; k++) {
        json_t *row = row_json(&a->rows[k]);
        ok = row && add_libraries(a, k, row);
        ok = json_array_append_new(rows, row) == 0 && ok;
    }
    for (size_t k = 0; k < a->alone_count && ok; k++)
        ok = json_array_append_new(alone, row_json(&a->alone[k])) == 0;
    json_t *json =
        json_pack("{s:o,s:i,s:o,s:o,s:o}", "model", json_text(a->model), "threads", (int)a->threads,
                  "device_name", json_text(a->device_name), "rows", rows, "alone", alone);
    if (json && ok)
        return json;
    json_decref(json);
    return NULL;
}

static collage_status put_json(const struct ablation *a, struct text *out, struct error *error)
{
    json_t *json = ablation_json(a);
    const bool fine = json_put(json, JSON_INDENT(2), out);
    json_decref(json);
    return fine ? COLLAGE_OK : error_memory(error);
}

collage_status report_ablation(const struct ablation *ablation, collage_format format,
                               struct text *out, struct error *error)
{
    collage_status status = COLLAGE_OK;
    if (format == COLLAGE_FORMAT_JSON)
        status = put_json(ablation, out, error);
    else if (format == COLLAGE_FORMAT_TEXT)
        put_text(ablation, out);
    else
        return error_set(error, COLLAGE_ERROR_ARGUMENT,
                         "an ablation is reported as text or JSON only");
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}
