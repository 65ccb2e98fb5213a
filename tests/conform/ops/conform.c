/* SPDX-License-Identifier: Apache-2.0 */
#include "conform.h"

#include "base/memory.h"
#include "tensor/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GUARD = 64, POISON = 0xFF, MAX_PORTS = 40 };

/* Memory between two guard zones. */
struct zone {
    unsigned char *block;
    unsigned char *data;
    uint64_t bytes;
};

/* One compiled kernel at work. */
struct bench {
    const struct conform_trial *trial;
    collage_kernel *kernel;
    collage_kernel_info info;
    struct zone inputs[MAX_PORTS], copies[MAX_PORTS], outputs[MAX_PORTS], scratch;
    char problem[256];
};

static bool problem(struct bench *bench, const char *what, const char *detail)
{
    if (!bench->problem[0])
        snprintf(bench->problem, sizeof bench->problem, "%s%s%.200s", what, *detail ? ": " : "",
                 detail);
    return false;
}

/* ---- memory ---- */

static bool zone_make(struct zone *zone, uint64_t bytes, size_t offset)
{
    zone->bytes = bytes;
    zone->block = memory_alloc_aligned(bytes + offset + (size_t)2 * GUARD);
    if (!zone->block)
        return false;
    memset(zone->block, POISON, bytes + offset + (size_t)2 * GUARD);
    zone->data = zone->block + GUARD + offset;
    return true;
}

static void zone_free(struct zone *zone)
{
    memory_free_aligned(zone->block);
    memset(zone, 0, sizeof *zone);
}

static bool zone_is_intact(const struct zone *zone)
{
    for (const unsigned char *p = zone->block; p < zone->data; p++) {
        if (*p != POISON)
            return false;
    }
    for (uint64_t k = 0; k < GUARD; k++) {
        if (zone->data[zone->bytes + k] != POISON)
            return false;
    }
    return true;
}

/* Row-major ports may be the caller's own tensors, aligned to their elements only. */
static size_t port_offset(const collage_layout *layout, const struct tensor *tensor, bool unaligned)
{
    return unaligned && layout_is_plain(layout) ? dtype_size(tensor->dtype) : 0;
}

static bool make_ports(struct bench *bench, bool unaligned)
{
    const struct conform_trial *t = bench->trial;
    struct error error = { 0 };
    for (uint32_t k = 0; k < t->subgraph->input_count; k++) {
        const collage_layout *layout = &t->variant->inputs[k];
        uint64_t bytes = layout_bytes(layout, &t->inputs[k]);
        collage_layout plain = layout_plain();
        if ((bytes == 0 && tensor_elements(&t->inputs[k]) != 0) ||
            !zone_make(&bench->inputs[k], bytes, port_offset(layout, &t->inputs[k], unaligned)) ||
            !zone_make(&bench->copies[k], bytes, 0) ||
            layout_convert(&t->inputs[k], &plain, bench->inputs[k].data, layout, &error) !=
                COLLAGE_OK)
            return problem(bench, "an input cannot be made", error.text);
        memcpy(bench->copies[k].data, bench->inputs[k].data, bytes);
    }
    for (uint32_t k = 0; k < t->subgraph->output_count; k++) {
        const collage_layout *layout = &t->variant->outputs[k];
        uint64_t bytes = layout_bytes(layout, &t->outputs[k]);
        if ((bytes == 0 && tensor_elements(&t->outputs[k]) != 0) ||
            !zone_make(&bench->outputs[k], bytes, port_offset(layout, &t->outputs[k], unaligned)))
            return problem(bench, "an output cannot be made", "");
    }
    return zone_make(&bench->scratch, bench->info.scratch_bytes, 0) ||
           problem(bench, "out of memory", "");
}

static void free_ports(struct bench *bench)
{
    for (uint32_t k = 0; k < MAX_PORTS; k++) {
        zone_free(&bench->inputs[k]);
        zone_free(&bench->copies[k]);
        zone_free(&bench->outputs[k]);
    }
    zone_free(&bench->scratch);
}

/* ---- checking ---- */

/* What a variant does not say to be indirect is within the bound of direct summation. */
static bool is_direct(struct bench *bench, uint32_t k, const struct tensor *actual)
{
    const struct conform_trial *t = bench->trial;
    const float *bound = t->bounds ? t->bounds[k] : NULL;
    int64_t count = bound ? tensor_elements(actual) : 0;
    if (t->variant->flags & COLLAGE_VARIANT_INDIRECT)
        return true;
    for (int64_t i = 0; i < count; i++) {
        double error = fabs(tensor_get(actual, i) - tensor_get(&t->outputs[k], i));
        char text[128];
        snprintf(text, sizeof text, "error %.2e at %lld, bound %.2e", error, (long long)i,
                 (double)bound[i]);
        if (error > (double)bound[i])
            return problem(bench, "not within the bound of direct summation", text);
    }
    return true;
}

/* The value, and that the padding of a blocked layout holds zeros. */
static bool check_output(struct bench *bench, uint32_t k, const unsigned char *data)
{
    const struct conform_trial *t = bench->trial;
    const collage_layout *layout = &t->variant->outputs[k];
    collage_layout plain = layout_plain();
    struct error error = { 0 };
    struct tensor from = t->outputs[k], actual = t->outputs[k];
    memcpy(&from.data, &data, sizeof from.data);
    uint64_t bytes = layout_bytes(layout, &from);
    actual.data = memory_alloc_aligned(tensor_bytes(&actual) + 1);
    unsigned char *again = memory_alloc_aligned(bytes);
    bool fine = actual.data && again &&
                layout_convert(&from, layout, actual.data, &plain, &error) == COLLAGE_OK &&
                layout_convert(&actual, &plain, again, layout, &error) == COLLAGE_OK;
    if (!fine) {
        problem(bench, "the output cannot be read", error.text);
    } else {
        struct tensor_difference difference =
            tensor_compare_within(&actual, &t->outputs[k], t->slack ? t->slack[k] : 0);
        char text[128];
        snprintf(text, sizeof text, "error %.2e at %lld: %g, not %g", difference.error,
                 (long long)difference.index, difference.actual, difference.expected);
        fine = difference.error <= TENSOR_KERNEL_TOLERANCE || problem(bench, "wrong result", text);
        fine = fine && is_direct(bench, k, &actual);
        fine = fine &&
               (memcmp(again, data, bytes) == 0 || problem(bench, "the padding is not zero", ""));
    }
    memory_free_aligned(actual.data);
    memory_free_aligned(again);
    return fine;
}

/* in_place: output port that lies in the input port `shared`; -1 for none. */
static bool run_once(struct bench *bench, int in_place, int shared)
{
    const struct conform_trial *t = bench->trial;
    const void *inputs[MAX_PORTS];
    void *outputs[MAX_PORTS];
    collage_message message = { "" };
    for (uint32_t k = 0; k < t->subgraph->input_count; k++)
        inputs[k] = bench->inputs[k].data;
    for (uint32_t k = 0; k < t->subgraph->output_count; k++) {
        memset(bench->outputs[k].data, POISON, bench->outputs[k].bytes);
        outputs[k] = (int)k == in_place ? bench->inputs[shared].data : bench->outputs[k].data;
    }
    if (t->backend->api->run(bench->kernel, NULL, inputs, outputs, bench->scratch.data, &message) !=
        COLLAGE_OK)
        return problem(bench, "run failed", message.text);
    for (uint32_t k = 0; k < t->subgraph->output_count; k++) {
        if (!check_output(bench, k, outputs[k]))
            return false;
        if (!zone_is_intact(&bench->outputs[k]))
            return problem(bench, "it writes beyond an output", "");
    }
    for (uint32_t k = 0; k < t->subgraph->input_count; k++) {
        if (!zone_is_intact(&bench->inputs[k]))
            return problem(bench, "it writes beyond an input", "");
        if ((in_place < 0 || (int)k != shared) &&
            memcmp(bench->inputs[k].data, bench->copies[k].data, bench->inputs[k].bytes) != 0)
            return problem(bench, "it changes an input", "");
    }
    return zone_is_intact(&bench->scratch) || problem(bench, "it writes beyond its scratch", "");
}

static bool run_in_place(struct bench *bench)
{
    for (uint32_t k = 0; k < bench->info.inplace_count; k++) {
        const uint32_t *pair = bench->info.inplace + (size_t)2 * k;
        uint32_t out = pair[0], in = pair[1];
        if (out >= bench->trial->subgraph->output_count ||
            in >= bench->trial->subgraph->input_count ||
            bench->inputs[in].bytes != bench->outputs[out].bytes)
            return problem(bench, "an in-place pair does not fit", "");
        if (!run_once(bench, (int)out, (int)in)) {
            char before[200];
            snprintf(before, sizeof before, "%.199s", bench->problem);
            bench->problem[0] = '\0';
            return problem(bench, "in place", before);
        }
        memcpy(bench->inputs[in].data, bench->copies[in].data, bench->inputs[in].bytes);
    }
    return true;
}

static bool run_all(struct bench *bench)
{
    bool fine = make_ports(bench, false) && run_once(bench, -1, 0) && run_once(bench, -1, 0) &&
                run_in_place(bench) && run_once(bench, -1, 0);
    free_ports(bench);
    fine = fine && make_ports(bench, true) && run_once(bench, -1, 0);
    free_ports(bench);
    return fine;
}

static void report(const struct conform_trial *t, const char *result, const char *detail)
{
    const char *schedule = t->schedule ? t->schedule : "";
    printf("%-12s %-28s %-22s %s%s%-13s %s\n", t->backend->name, t->name, t->variant->name,
           schedule, *schedule ? " " : "", result, detail);
}

void conform_run(const struct conform_trial *trial, struct conform_counts *counts)
{
    const collage_backend_api *api = trial->backend->api;
    struct bench *bench = memory_alloc(sizeof *bench);
    collage_message message = { "" };
    collage_compile_request request = { .struct_size = sizeof request,
                                        .subgraph = trial->subgraph,
                                        .variant = trial->variant,
                                        .target = trial->target,
                                        .schedule = trial->schedule };
    if (!bench || trial->subgraph->input_count > MAX_PORTS) {
        counts->failed++;
        report(trial, "FAILED", "out of memory or too many inputs");
        memory_free(bench);
        return;
    }
    bench->trial = trial;
    bench->info.struct_size = sizeof bench->info;
    if (api->compile(trial->backend->open, &request, &bench->kernel, &message) != COLLAGE_OK) {
        counts->unimplemented++;
        if (trial->verbose)
            report(trial, "unimplemented", message.text);
        memory_free(bench);
        return;
    }
    api->kernel_info(bench->kernel, &bench->info);
    bool fine = run_all(bench);
    *(fine ? &counts->passed : &counts->failed) += 1;
    if (!fine || trial->verbose)
        report(trial, fine ? "passed" : "FAILED",
               fine ? bench->info.implementation : bench->problem);
    api->kernel_destroy(bench->kernel);
    memory_free(bench);
}
