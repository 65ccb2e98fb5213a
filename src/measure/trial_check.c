/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "measure/trial_internal.h"
#include "tensor/layout.h"

static const char *output_name(const struct trial *trial, uint32_t k)
{
    const collage_subgraph *subgraph = trial->spec->subgraph;
    return subgraph->values[subgraph->outputs[k]]->name;
}

static const char *input_name(const struct trial *trial, uint32_t k)
{
    const collage_subgraph *subgraph = trial->spec->subgraph;
    return subgraph->values[subgraph->inputs[k]]->name;
}

/* ---- one output ---- */

/* "[0,3,1]" of an index into a row-major tensor. */
static void print_position(const struct tensor *tensor, int64_t index, char *text, size_t size)
{
    int64_t position[COLLAGE_MAX_RANK];
    for (int32_t d = tensor->rank - 1; d >= 0; d--) {
        int64_t dim = tensor->dims[d] > 0 ? tensor->dims[d] : 1;
        position[d] = index % dim;
        index /= dim;
    }
    size_t used = (size_t)snprintf(text, size, "[");
    for (int32_t d = 0; d < tensor->rank && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, d ? ",%lld" : "%lld",
                                 (long long)position[d]);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

/* Is each element within its bound? What is not finite was compared before. */
static collage_status compare_bounds(const struct trial *trial, uint32_t k,
                                     const struct tensor *actual, struct error *error)
{
    const struct tensor *expected = &trial->spec->expected[k];
    const float *bound = trial->spec->bounds ? trial->spec->bounds[k] : NULL;
    double worst = 1;
    int64_t at = -1, count = bound ? tensor_elements(expected) : 0;
    for (int64_t i = 0; i < count; i++) {
        double error_here = fabs(tensor_get(actual, i) - tensor_get(expected, i));
        if (error_here > worst * (double)bound[i]) {
            worst = error_here / (double)bound[i];
            at = i;
        }
    }
    if (at < 0)
        return COLLAGE_OK;
    char position[192];
    print_position(actual, at, position, sizeof position);
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                     "not strict: output '%s' at %s is %.9g, expected %.9g; direct summation would "
                     "be within %.2g",
                     output_name(trial, k), position, tensor_get(actual, at),
                     tensor_get(expected, at), (double)bound[at]);
}

/* `actual`: row-major. */
static collage_status compare_output(const struct trial *trial, uint32_t k,
                                     const struct tensor *actual, double *worst,
                                     struct error *error)
{
    double slack = trial->spec->slack ? trial->spec->slack[k] : 0;
    struct tensor_difference difference =
        tensor_compare_within(actual, &trial->spec->expected[k], slack);
    if (!(difference.error <= *worst))
        *worst = difference.error;
    if (difference.error <= trial->spec->tolerance)
        return compare_bounds(trial, k, actual, error);
    char position[192];
    print_position(actual, difference.index, position, sizeof position);
    if (!isfinite(difference.error))
        return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                         "wrong result: output '%s' at %s is %.9g, expected %.9g",
                         output_name(trial, k), position, difference.actual, difference.expected);
    return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                     "wrong result: output '%s' differs by %.2g of its largest value at %s (%.9g, "
                     "expected %.9g)",
                     output_name(trial, k), difference.error, position, difference.actual,
                     difference.expected);
}

/* Other kernels read the padding of a blocked layout and count on zeros. */
static collage_status check_padding(const struct trial *trial, uint32_t k, const void *written,
                                    const struct tensor *plain_tensor, struct error *error)
{
    uint64_t bytes = trial->outputs[k].bytes;
    if (bytes == tensor_bytes(plain_tensor))
        return COLLAGE_OK;
    const collage_layout plain = layout_plain();
    void *padded = memory_alloc_aligned((size_t)bytes);
    if (!padded)
        return error_memory(error);
    collage_status status =
        layout_convert(plain_tensor, &plain, padded, &trial->output_layouts[k], error);
    if (status == COLLAGE_OK && memcmp(padded, written, (size_t)bytes) != 0)
        status = error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                           "wrong result: the padding of output '%s' in layout %s is not zero",
                           output_name(trial, k), trial->output_layouts[k].tag);
    memory_free_aligned(padded);
    return status;
}

static collage_status check_output(const struct trial *trial, uint32_t k, double *worst,
                                   struct error *error)
{
    const struct tensor *expected = &trial->spec->expected[k];
    const collage_layout *layout = &trial->output_layouts[k];
    struct tensor actual = *expected;
    actual.data = trial->output_pointers[k];
    if (layout_is_plain(layout))
        return compare_output(trial, k, &actual, worst, error);
    struct tensor written = actual;
    actual.data = memory_alloc_aligned((size_t)tensor_bytes(&actual));
    if (!actual.data)
        return error_memory(error);
    const collage_layout plain = layout_plain();
    collage_status status = layout_convert(&written, layout, actual.data, &plain, error);
    if (status == COLLAGE_OK)
        status = compare_output(trial, k, &actual, worst, error);
    if (status == COLLAGE_OK)
        status = check_padding(trial, k, written.data, &actual, error);
    memory_free_aligned(actual.data);
    return status;
}

static collage_status check_outputs(const struct trial *trial, double *worst, struct error *error)
{
    for (uint32_t k = 0; k < trial->spec->subgraph->output_count; k++) {
        collage_status status = check_output(trial, k, worst, error);
        if (status != COLLAGE_OK)
            return status;
    }
    return COLLAGE_OK;
}

/* ---- what must not be written ---- */

static collage_status overrun(const char *what, const char *name, struct error *error)
{
    return error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                     "wrong result: it writes outside the memory of its %s%s%s%s", what,
                     name ? " '" : "", name ? name : "", name ? "'" : "");
}

collage_status trial_check_guards(const struct trial *trial, struct error *error)
{
    const collage_subgraph *subgraph = trial->spec->subgraph;
    for (uint32_t k = 0; k < subgraph->output_count; k++)
        if (!guarded_intact(&trial->outputs[k]))
            return overrun("output", output_name(trial, k), error);
    for (uint32_t k = 0; k < subgraph->input_count; k++)
        if (!guarded_intact(&trial->inputs[k]))
            return overrun("input", input_name(trial, k), error);
    return guarded_intact(&trial->scratch) ? COLLAGE_OK : overrun("scratch", NULL, error);
}

static struct hash input_hash(const struct trial *trial, uint32_t k)
{
    return hash_of(trial->inputs[k].data, (size_t)trial->inputs[k].bytes);
}

/* ---- whole runs ---- */

/* Runs and checks with the memory as it is shared now. */
static collage_status checked_run(struct trial *trial, double *worst, double *run_ns,
                                  struct error *error)
{
    uint32_t input_count = trial->spec->subgraph->input_count;
    struct hash *before = memory_alloc(input_count * sizeof *before);
    if (!before)
        return error_memory(error);
    for (uint32_t k = 0; k < input_count; k++)
        before[k] = input_hash(trial, k);
    for (uint32_t k = 0; k < trial->spec->subgraph->output_count; k++)
        guarded_poison(&trial->outputs[k]);
    uint64_t start = clock_ns();
    collage_status status = trial_run(trial, TRIAL_FIRST, error);
    *run_ns = (double)(clock_ns() - start);
    if (status == COLLAGE_OK)
        status = trial_check_guards(trial, error);
    for (uint32_t k = 0; k < input_count && status == COLLAGE_OK; k++)
        if (!trial_writes_over(trial, k) && !hash_equal(before[k], input_hash(trial, k)))
            status = error_set(error, COLLAGE_ERROR_WRONG_RESULT,
                               "wrong result: it writes to its input '%s'", input_name(trial, k));
    memory_free(before);
    return status == COLLAGE_OK ? check_outputs(trial, worst, error) : status;
}

static collage_status check_pair(struct trial *trial, uint32_t pair, double *worst,
                                 struct error *error)
{
    const collage_subgraph *subgraph = trial->spec->subgraph;
    const uint32_t *both = trial->info.inplace + 2 * (size_t)pair;
    uint32_t output = both[0], input = both[1];
    if (output >= subgraph->output_count || input >= subgraph->input_count)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the kernel names in-place pair (%u, %u), which does not exist", output,
                         input);
    if (trial->outputs[output].bytes > trial->inputs[input].bytes)
        return error_set(error, COLLAGE_ERROR_BACKEND,
                         "the kernel would write output '%s' in place of the smaller input '%s'",
                         output_name(trial, output), input_name(trial, input));
    double unused;
    collage_status status = trial_share_pair(trial, pair, error);
    if (status == COLLAGE_OK)
        status = checked_run(trial, worst, &unused, error);
    if (status != COLLAGE_OK) {
        error_prefix(error, "in place of '%s'", input_name(trial, input));
        return status;
    }
    trial_unshare(trial);
    return COLLAGE_OK;
}

collage_status trial_check(struct trial *trial, double *worst, double *first_ns,
                           struct error *error)
{
    *worst = 0;
    *first_ns = 0;
    if (2 * (uint64_t)trial->info.inplace_count >
        sizeof trial->info.inplace / sizeof *trial->info.inplace)
        return error_set(error, COLLAGE_ERROR_BACKEND, "the kernel names %u in-place pairs",
                         trial->info.inplace_count);
    collage_status status = checked_run(trial, worst, first_ns, error);
    for (uint32_t pair = 0; pair < trial->info.inplace_count && status == COLLAGE_OK; pair++)
        status = check_pair(trial, pair, worst, error);
    return status;
}
