/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: runs the chosen cases and writes what came out, or only lists them. */
#include "bench/operators.h"

#include "base/json_text.h"
#include "plan/peaks_write.h"

/* Where results go: text at once, JSON when all are there. */
struct output {
    collage_write_fn write;
    void *user;
    json_t *cases; /* NULL: text */
};

static collage_status hand_over(const struct text *text, const struct output *output,
                                struct error *error)
{
    if (text->failed)
        return error_memory(error);
    if (!text_write(text, output->write, output->user))
        return error_set(error, COLLAGE_ERROR_IO, "the output was not taken");
    return COLLAGE_OK;
}

static collage_status take_result(void *user, const struct bench_result *result,
                                  struct error *error)
{
    struct output *output = user;
    if (output->cases) {
        json_t *json = bench_result_to_json(result);
        return json && json_array_append_new(output->cases, json) == 0 ? COLLAGE_OK
                                                                       : error_memory(error);
    }
    struct text text = { 0 };
    bench_put_result(result, &text);
    collage_status status = hand_over(&text, output, error);
    text_free(&text);
    return status;
}

static collage_status list_cases(const collage_bench_operators_options *options,
                                 const struct output *output, struct error *error)
{
    struct text text = { 0 };
    for (size_t k = 0; k < operator_case_count; k++) {
        const struct operator_case *row = &operator_cases[k];
        if (bench_case_is_chosen(options, row))
            text_format(&text, "%-30s %s\n", row->name, row->text);
    }
    collage_status status = hand_over(&text, output, error);
    text_free(&text);
    return status;
}

static collage_status write_head(int32_t threads, const struct peaks *peaks,
                                 const struct output *output, struct error *error)
{
    struct text text = { 0 };
    bench_put_head(threads, peaks, &text);
    collage_status status = hand_over(&text, output, error);
    text_free(&text);
    return status;
}

static json_t *versions(const struct registry *registry)
{
    json_t *list = json_object();
    for (uint32_t b = 0; list && b < registry->count; b++) {
        const struct backend_entry *entry = &registry->entries[b];
        if (entry->api && !entry->problem[0])
            json_object_set_new(list, entry->name, json_text(entry->version));
    }
    return list;
}

static collage_status write_json(const struct registry *registry, const struct peaks *peaks,
                                 const struct output *output, struct error *error)
{
    json_t *json =
        json_pack("{s:i, s:o, s:o, s:O}", "threads", (int)peaks->threads, "versions",
                  versions(registry), "peaks", peaks_to_json(peaks), "cases", output->cases);
    struct text text = { 0 };
    collage_status status = json_put(json, JSON_INDENT(1), &text) ? hand_over(&text, output, error)
                                                                  : error_memory(error);
    text_free(&text);
    json_decref(json);
    return status;
}

static collage_status report(const struct bench_settings *settings, struct output *output,
                             struct error *error)
{
    int32_t threads = registry_host_target(settings->options->threads).threads;
    size_t wrong = 0;
    struct peaks peaks;
    struct bench_settings with_peaks = *settings;
    collage_status status = peaks_measure(threads, &peaks, error);
    with_peaks.peaks = &peaks;
    if (status == COLLAGE_OK && !output->cases)
        status = write_head(threads, &peaks, output, error);
    if (status == COLLAGE_OK)
        status = bench_run(&with_peaks, take_result, output, &wrong, error);
    if (status == COLLAGE_OK && output->cases)
        status = write_json(settings->registry, &peaks, output, error);
    if (status == COLLAGE_OK && wrong > 0)
        status = error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                           "%zu kernel%s gave a wrong result: see 'failed' in the report", wrong,
                           wrong == 1 ? "" : "s");
    return status;
}

collage_status bench_report(const struct bench_settings *settings, collage_format format,
                            collage_write_fn write, void *user, struct error *error)
{
    struct output output = { .write = write, .user = user };
    collage_status status = bench_check(settings, error);
    if (status != COLLAGE_OK)
        return status;
    if (settings->options->list)
        return list_cases(settings->options, &output, error);
    if (format == COLLAGE_FORMAT_JSON) {
        output.cases = json_array();
        if (!output.cases)
            return error_memory(error);
    }
    status = report(settings, &output, error);
    json_decref(output.cases);
    return status;
}
