/* SPDX-License-Identifier: Apache-2.0 */
/* write.c: results of cases as a table and as JSON. */
#include "bench/operators.h"

#include "base/json_text.h"
#include "plan/peaks_write.h"

static double microseconds(double ns)
{
    return ns / 1e3;
}

/* What the rows of the case are compared with; 0 if none was measured. */
static double best_ns(const struct bench_result *result)
{
    bool any = result->count > 0 && !result->rows[0].refusal &&
               result->rows[0].cost.state == COST_MEASURED;
    return any ? result->rows[0].cost.cost_ns : 0;
}

void bench_put_head(int32_t threads, const struct peaks *peaks, struct text *out)
{
    text_format(out,
                "%d thread%s. Times in microseconds: the least, and where the median lies (95 %% "
                "confidence);\nratio: of the lower decile to the fastest's.\n",
                threads, threads == 1 ? "" : "s");
    if (peaks) {
        text_string(out, "roof: the least time by the machine's peaks, as a part of the lower "
                         "decile; ");
        peaks_put(peaks, out);
    }
    text_format(out, "\n  %-12s %-20s %10s %10s %10s %7s %9s %6s\n", "backend", "variant", "min",
                "median >=", "<=", "ratio", "GFLOP/s", "roof");
}

static void put_measured(const struct bench_result *result, const struct bench_row *row,
                         struct text *out)
{
    const struct cost *cost = &row->cost;
    text_format(out, "  %-12s %-20s %10.2f %10.2f %10.2f %7.2f", row->backend, row->variant,
                microseconds(cost->minimum_ns), microseconds(cost->low_ns),
                microseconds(cost->high_ns),
                best_ns(result) > 0 ? cost->cost_ns / best_ns(result) : 1.0);
    if (result->work > 0 && cost->cost_ns > 0)
        text_format(out, " %9.1f", result->work / cost->cost_ns);
    else
        text_format(out, " %9s", "-");
    if (result->bound_ns > 0 && cost->cost_ns > 0)
        text_format(out, " %5.1f%%", 100 * result->bound_ns / cost->cost_ns);
    else
        text_format(out, " %6s", "-");
    text_string(out, cost->implementation[0] ? "  " : "");
    text_printable(out, cost->implementation, 0);
    text_string(out, "\n");
}

static void put_failed(const struct bench_row *row, struct text *out)
{
    text_format(out, "  %-12s %-20s %s: ", row->backend, row->variant,
                row->refusal ? "refused" : "failed");
    text_printable(out, row->refusal ? row->refusal : row->cost.reason, 0);
    text_string(out, "\n");
}

void bench_put_result(const struct bench_result *result, struct text *out)
{
    text_format(out, "\n%s: %s", result->row->name, result->shapes);
    if (result->work >= 5e4) /* else it would be shown as nothing */
        text_format(out, ", %.4f GFLOP", result->work / 1e9);
    text_string(out, "\n");
    for (size_t k = 0; k < result->count; k++) {
        const struct bench_row *row = &result->rows[k];
        if (!row->refusal && row->cost.state == COST_MEASURED)
            put_measured(result, row, out);
        else
            put_failed(row, out);
    }
}

static json_t *row_to_json(const struct bench_result *result, const struct bench_row *row)
{
    const struct cost *cost = &row->cost;
    if (row->refusal)
        return json_pack("{s:o, s:s, s:o}", "backend", json_text(row->backend), "state", "refused",
                         "reason", json_text(row->refusal));
    if (cost->state != COST_MEASURED)
        return json_pack("{s:o, s:o, s:s, s:o, s:b}", "backend", json_text(row->backend), "variant",
                         json_text(row->variant), "state", "failed", "reason",
                         json_text(cost->reason), "wrong", cost->error > 0);
    json_t *json =
        json_pack("{s:o, s:o, s:s, s:f, s:f, s:f, s:f, s:i, s:f, s:f, s:o}", "backend",
                  json_text(row->backend), "variant", json_text(row->variant), "state", "measured",
                  "minimum_ns", cost->minimum_ns, "decile_ns", cost->cost_ns, "median_low_ns",
                  cost->low_ns, "median_high_ns", cost->high_ns, "samples", (int)cost->sample_count,
                  "ratio", best_ns(result) > 0 ? cost->cost_ns / best_ns(result) : 1.0, "error",
                  cost->error, "implementation", json_text(cost->implementation));
    if (json && result->work > 0 && cost->cost_ns > 0)
        json_object_set_new(json, "gflops", json_real(result->work / cost->cost_ns));
    if (json && result->bound_ns > 0 && cost->cost_ns > 0)
        json_object_set_new(json, "roof", json_real(result->bound_ns / cost->cost_ns));
    return json;
}

json_t *bench_result_to_json(const struct bench_result *result)
{
    json_t *rows = json_array();
    for (size_t k = 0; rows && k < result->count; k++) {
        json_t *row = row_to_json(result, &result->rows[k]);
        if (!row || json_array_append_new(rows, row) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:o}", "case", result->row->name, "text",
                     result->row->text, "shapes", result->shapes, "flop", result->work, "bound_ns",
                     result->bound_ns, "results", rows);
}
