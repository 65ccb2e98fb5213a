/* SPDX-License-Identifier: Apache-2.0 */
#include "report/parts.h"

#include <math.h>
#include <string.h>

enum { NAME_WIDTH = 22 }; /* "onnxruntime + openvino" */

void report_put(struct text *out, const char *string, size_t width)
{
    text_printable(out, string, width);
}

const struct plan_result *report_chosen(const struct plan *plan)
{
    for (uint32_t k = 0; k < plan->result_count; k++)
        if (plan->results[k].chosen)
            return &plan->results[k];
    return NULL;
}

static void put_row(struct text *out, const struct plan_result *result)
{
    text_string(out, result->chosen ? "* " : "  ");
    report_put(out, result->name, NAME_WIDTH);
    if (result->median_ns > 0)
        text_format(out, " %9.3f %9.3f", result->minimum_ns / 1e6, result->median_ns / 1e6);
    else
        text_format(out, " %9s %9s", "-", "-"); /* out of the race: the note says why */
    if (result->median_ns <= 0)
        text_format(out, "  %-22s", "-");
    else if (result->chosen)
        text_format(out, "  %-22s", "1");
    else
        text_format(out, "  %-6.3f [%.3f, %.3f] ", result->ratio, result->ratio_low,
                    result->ratio_high);
    if (result->peak_bytes > 0)
        text_format(out, " %8.1f", (double)result->peak_bytes / (1 << 20));
    else
        text_format(out, " %8s", "-");
    if (result->note[0]) {
        text_string(out, "  ");
        report_put(out, result->note, 0);
    }
    text_string(out, "\n");
}

/* How much faster than the fastest of the others. */
static void put_speed_up(struct text *out, const struct plan *plan)
{
    const struct plan_result *best = NULL;
    for (uint32_t k = 0; k < plan->result_count; k++) {
        const struct plan_result *result = &plan->results[k];
        if (!result->chosen && result->median_ns > 0 &&
            (!best || result->median_ns < best->median_ns))
            best = result;
    }
    if (!best || !report_chosen(plan))
        return;
    if (best->ratio_low <= 1 && best->ratio_high >= 1) {
        text_string(out, "\nThe plan and the next best, ");
        report_put(out, best->name, 0);
        text_format(out,
                    ", are equally fast within the noise (%.3f, 95 %% confidence: ", best->ratio);
    } else {
        text_format(out, "\nThe plan is %.3f times as fast as the next best, ", best->ratio);
        report_put(out, best->name, 0);
        text_string(out, " (95 % confidence: ");
    }
    text_format(out, "%.3f to %.3f).\n", best->ratio_low, best->ratio_high);
}

/* The sum of the costs must predict the time of the whole. Both are made of lower deciles: one of
 * each kernel measured alone, the other of each step timed inside the network. */
static void put_additivity(struct text *out, const struct plan *plan)
{
    const struct plan_result *of = report_chosen(plan);
    for (uint32_t k = 0; k < plan->result_count && (!of || of->steps_ns <= 0); k++)
        of = &plan->results[k]; /* a library alone has no sum of costs: the mix has */
    if (!of || of->predicted_ns <= 0 || of->steps_ns <= 0)
        return;
    report_put(out, of->name, 0);
    text_format(out,
                ": the costs add up to %.3f ms, %+.1f %% of what the steps take in the network"
                " (%.3f ms).\n",
                of->predicted_ns / 1e6, 100 * (of->predicted_ns / of->steps_ns - 1),
                of->steps_ns / 1e6);
}

void report_results_text(const struct graph *graph, const struct plan *plan, struct text *out)
{
    report_put(out, graph->name, 0);
    text_format(out, ": %d thread%s", plan->threads, plan->threads == 1 ? "" : "s");
    if (plan->device_name[0]) {
        text_string(out, ", ");
        report_put(out, plan->device_name, 0);
    }
    text_string(out, "\n");
    if (plan->result_count == 0)
        return;
    text_string(out, "\n  contestant              min [ms]  med [ms]  "
                     "time / plan [95 % CI]   peak [MiB]\n");
    for (uint32_t k = 0; k < plan->result_count; k++)
        put_row(out, &plan->results[k]);
    put_speed_up(out, plan);
    put_additivity(out, plan);
}
