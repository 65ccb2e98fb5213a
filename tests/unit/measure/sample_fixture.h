/* SPDX-License-Identifier: Apache-2.0 */
/* sample_fixture.h: a backend for tests of sampling, which can be told to do things wrong. */
#ifndef COLLAGE_TESTS_MEASURE_SAMPLE_FIXTURE_H
#define COLLAGE_TESTS_MEASURE_SAMPLE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/sample.h"
#include "tensor/layout.h"

/* ---- the backend: Relu, Mul by a constant, Identity ---- */

enum fault {
    NO_FAULT,
    FAIL_SUPPORTS,
    FAIL_OPEN,
    FAIL_COMPILE,
    NULL_KERNEL,
    FAIL_RUN,
    WRONG_ELEMENT,
    INEXACT_ELEMENT,
    WRITES_NOTHING,
    OVERRUN,
    UNDERRUN,
    WRITES_INPUT,
    SCRATCH_OVERRUN,
    DIRTY_PADDING,
    IN_PLACE_UNSAFE,
    IN_PLACE_NONSENSE,
    IN_PLACE_MANY,
    SLOW,
    SLOW_AT_FIRST,
    WRONG_LATER /* overruns, but not in the checked run */
};

enum { SCRATCH = 100 };

struct collage_backend {
    int unused;
};

struct collage_kernel {
    const float *weights;
    size_t weight_count, count;
    collage_layout from, to;
    struct tensor shape;
    bool identity;
    int runs;
};

/* What the tests set and look at. */
static struct {
    enum fault fault;
    const char *output_layout;
    bool in_place;
    int compiled, destroyed, runs, in_place_runs;
    const void *weights[4];
    uint32_t flags;
} fake;

static struct collage_backend the_backend;

static bool fake_supports(const collage_subgraph *subgraph, const collage_target *target,
                          collage_message *why)
{
    (void)target;
    if (fake.fault == FAIL_SUPPORTS)
        return message_set(why, COLLAGE_ERROR_UNSUPPORTED, "not today") == COLLAGE_OK;
    return subgraph->node_count == 1;
}

static bool fake_variant(const collage_subgraph *subgraph, const collage_target *target,
                         size_t index, collage_variant *out)
{
    (void)subgraph;
    (void)target;
    if (index > 0)
        return false;
    snprintf(out->name, sizeof out->name, "only");
    out->outputs[0] = layout_tag(fake.output_layout);
    return true;
}

static collage_status fake_open(const collage_host *host, const collage_target *target,
                                collage_backend **out, collage_message *message)
{
    (void)host;
    (void)target;
    *out = &the_backend;
    return fake.fault == FAIL_OPEN ? message_set(message, COLLAGE_ERROR_BACKEND, "no such library")
                                   : COLLAGE_OK;
}

static void fake_close(collage_backend *backend)
{
    (void)backend;
}

static const char *fake_version(const collage_backend *backend)
{
    (void)backend;
    return "1";
}

static collage_status fake_compile(collage_backend *backend, const collage_compile_request *request,
                                   collage_kernel **out, collage_message *message)
{
    (void)backend;
    if (fake.fault == FAIL_COMPILE)
        return message_set(message, COLLAGE_ERROR_UNSUPPORTED, "odd shape");
    if (fake.fault == NULL_KERNEL)
        return COLLAGE_OK;
    const collage_subgraph *subgraph = request->subgraph;
    struct collage_kernel *kernel = calloc(1, sizeof *kernel);
    const collage_value *input = subgraph->values[subgraph->inputs[0]];
    kernel->shape = (struct tensor){ .dtype = input->dtype, .rank = input->rank };
    memcpy(kernel->shape.dims, input->dims, (size_t)input->rank * sizeof *input->dims);
    kernel->count = (size_t)tensor_elements(&kernel->shape);
    kernel->from = request->variant->inputs[0];
    kernel->to = request->variant->outputs[0];
    kernel->identity = strcmp(subgraph->nodes[0]->op_type, "Identity") == 0;
    for (uint32_t k = 0; k < subgraph->value_count; k++)
        if (subgraph->values[k]->data) {
            kernel->weights = subgraph->values[k]->data;
            kernel->weight_count = (size_t)subgraph->values[k]->bytes / sizeof(float);
        }
    if (fake.compiled < 4)
        fake.weights[fake.compiled] = kernel->weights;
    fake.compiled++;
    fake.flags = request->flags;
    *out = kernel;
    return COLLAGE_OK;
}

static void fake_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    info->scratch_bytes = SCRATCH;
    info->weight_bytes = kernel->weight_count * sizeof(float);
    snprintf(info->implementation, sizeof info->implementation, "fake:jit");
    if (fake.in_place)
        info->inplace_count = 1; /* output 0 in input 0 */
    if (fake.fault == IN_PLACE_NONSENSE)
        info->inplace[1] = 7;
    if (fake.fault == IN_PLACE_MANY)
        info->inplace_count = 5;
}

static void compute(const struct collage_kernel *kernel, const float *in, float *out)
{
    for (size_t k = 0; k < kernel->count; k++)
        out[k] =
            kernel->weights ? in[k] * kernel->weights[k % kernel->weight_count] : fmaxf(in[k], 0);
}

static void misbehave(const struct collage_kernel *kernel, float *in, float *out,
                      unsigned char *scratch)
{
    switch (fake.fault) {
    case WRONG_ELEMENT:
        out[kernel->count - 1] += 0.5f;
        break;
    case INEXACT_ELEMENT:
        out[kernel->count - 1] += 0.000002f;
        break;
    case OVERRUN:
        memset(out + kernel->count, 0, 1);
        break;
    case WRONG_LATER:
        if (kernel->runs > 1)
            memset(out + kernel->count, 0, 1);
        break;
    case UNDERRUN:
        memset((char *)out - 1, 0, 1);
        break;
    case WRITES_INPUT:
        in[3] = 1;
        break;
    case SCRATCH_OVERRUN:
        scratch[SCRATCH] = 0;
        break;
    case IN_PLACE_UNSAFE:
        if (in == out)
            out[0] += 1;
        break;
    case SLOW:
        usleep(30000);
        break;
    case SLOW_AT_FIRST:
        usleep(kernel->runs == 1 ? 30000 : 0);
        break;
    default:
        break;
    }
}

static collage_status fake_run(collage_kernel *kernel, collage_stream *stream,
                               const void *const *inputs, void *const *outputs, void *scratch,
                               collage_message *message)
{
    (void)stream;
    fake.runs++;
    kernel->runs++;
    fake.in_place_runs += inputs[0] == outputs[0];
    if (fake.fault == FAIL_RUN)
        return message_set(message, COLLAGE_ERROR_BACKEND, "no threads left");
    if (fake.fault == WRITES_NOTHING)
        return COLLAGE_OK;
    struct tensor result = kernel->shape;
    void *input;
    memcpy(&input, &inputs[0], sizeof input);
    if (kernel->identity || kernel->to.tag[0]) {
        float *plain = calloc(kernel->count, sizeof *plain);
        struct tensor from = kernel->shape;
        from.data = input;
        const collage_layout row_major = layout_plain();
        result.data = plain;
        layout_convert(&from, &kernel->from, plain, &row_major, NULL);
        if (!kernel->identity)
            compute(kernel, plain, plain);
        layout_convert(&result, &row_major, outputs[0], &kernel->to, NULL);
        if (fake.fault == DIRTY_PADDING)
            ((float *)outputs[0])[7] = 1; /* channel 7 of 8, where there are 6 */
        free(plain);
        return COLLAGE_OK;
    }
    compute(kernel, inputs[0], outputs[0]);
    misbehave(kernel, input, outputs[0], scratch);
    return COLLAGE_OK;
}

static void fake_kernel_destroy(collage_kernel *kernel)
{
    fake.destroyed++;
    free(kernel);
}

static const collage_backend_api fake_api = { .struct_size = sizeof fake_api,
                                              .abi_major = COLLAGE_ABI_MAJOR,
                                              .name = "fake",
                                              .kind = COLLAGE_OP_LEVEL,
                                              .supports = fake_supports,
                                              .variant = fake_variant,
                                              .open = fake_open,
                                              .close = fake_close,
                                              .version = fake_version,
                                              .compile = fake_compile,
                                              .kernel_info = fake_kernel_info,
                                              .run = fake_run,
                                              .kernel_destroy = fake_kernel_destroy };

#endif
