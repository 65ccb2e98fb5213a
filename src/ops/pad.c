/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "ops/call.h"

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };
static const char *const mode_names[] = { "constant", "reflect", "edge", "wrap" };

struct pads {
    enum pad_mode mode;
    int64_t begin[COLLAGE_MAX_RANK], end[COLLAGE_MAX_RANK];
};

static collage_status read_mode(const struct op_call *call, struct pads *out, struct error *error)
{
    const char *mode = collage_node_string(call->node, "mode", "constant");
    for (int k = 0; k < 4; k++)
        if (strcmp(mode, mode_names[k]) == 0) {
            out->mode = (enum pad_mode)k;
            return COLLAGE_OK;
        }
    return shape_error(error, "mode '%.20s' is not supported", mode);
}

static collage_status read_pads(const struct op_call *call, struct pads *out, struct error *error)
{
    const int64_t most = (int64_t)1 << 40;
    int32_t rank = call->inputs[0]->rank;
    struct ints pads, axes;
    uint32_t set;
    *out = (struct pads){ 0 };
    collage_status status = read_mode(call, out, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 1, &pads, error);
    if (status == COLLAGE_OK)
        status = call_ints(call, 3, &axes, error);
    if (status == COLLAGE_OK && axes.count < 0) {
        axes.count = rank;
        for (int32_t d = 0; d < rank; d++)
            axes.values[d] = d;
    }
    if (status == COLLAGE_OK)
        status = axes_resolve(&axes, rank, &set, error);
    if (status != COLLAGE_OK)
        return status;
    if (pads.count != 2 * axes.count)
        return shape_error(error, "%d pads for %d axes", (int)pads.count, (int)axes.count);
    for (int32_t k = 0; k < axes.count; k++) {
        int64_t begin = pads.values[k], end = pads.values[axes.count + k];
        if (begin < -most || begin > most || end < -most || end > most)
            return shape_error(error, "the pads of axis %" PRId64 " are too large", axes.values[k]);
        out->begin[axes.values[k]] = begin;
        out->end[axes.values[k]] = end;
    }
    return COLLAGE_OK;
}

/* Negative pads take elements away before anything is added: these stay of an axis. */
struct kept {
    int64_t first, count;
};

static struct kept kept_of(const struct pads *pads, int32_t d, int64_t dim)
{
    int64_t first = pads->begin[d] < 0 ? -pads->begin[d] : 0;
    return (struct kept){ first, dim - first + (pads->end[d] < 0 ? pads->end[d] : 0) };
}

collage_status infer_pad(const struct op_call *call, struct error *error)
{
    const struct tensor *value = call_input(call, 2);
    struct tensor y = *call->inputs[0];
    struct pads pads;
    collage_status status = read_pads(call, &pads, error);
    if (status != COLLAGE_OK)
        return status;
    if (value && (value->dtype != y.dtype || tensor_elements(value) != 1))
        return shape_error(error, "the value to pad with must be one %s", dtype_name(y.dtype));
    for (int32_t d = 0; d < y.rank; d++) {
        bool grows = pads.begin[d] > 0 || pads.end[d] > 0;
        if (pads.mode != PAD_CONSTANT && grows && kept_of(&pads, d, y.dims[d]).count < 1)
            return shape_error(error, "axis %d is empty and cannot be padded with its own elements",
                               (int)d);
        y.dims[d] += pads.begin[d] + pads.end[d];
        if (y.dims[d] < 0)
            return shape_error(error, "the pads remove more than axis %d has", (int)d);
    }
    call_set_output(call, 0, y.dtype, &y);
    return COLLAGE_OK;
}

static int64_t modulo(int64_t a, int64_t b)
{
    return (a % b + b) % b;
}

/* Where element i, counted as in the input, comes from: itself if it stays; -1: the constant. */
static int64_t source(enum pad_mode mode, int64_t i, struct kept kept)
{
    int64_t at = i - kept.first;
    if (at >= 0 && at < kept.count)
        return i;
    switch (mode) {
    case PAD_EDGE:
        return kept.first + (at < 0 ? 0 : kept.count - 1);
    case PAD_WRAP:
        return kept.first + modulo(at, kept.count);
    case PAD_REFLECT: {
        if (kept.count == 1)
            return kept.first;
        int64_t period = 2 * (kept.count - 1);
        at = modulo(at, period);
        return kept.first + (at < kept.count ? at : period - at);
    }
    case PAD_CONSTANT:
        break;
    }
    return -1;
}

/* sources: for each axis, one after the other, where each element comes from. */
static void copy_padded(const struct tensor *x, struct tensor *y, const struct tensor *value,
                        const int64_t *sources)
{
    size_t size = dtype_size(y->dtype);
    static const char zero[8];
    const char *fill = value ? value->data : zero;
    int64_t count = tensor_elements(y), index[COLLAGE_MAX_RANK] = { 0 };
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0;
        const int64_t *axis = sources;
        for (int32_t d = 0; d < y->rank; d++) {
            int64_t at = axis[index[d]];
            from = at < 0 || from < 0 ? -1 : from * x->dims[d] + at;
            axis += y->dims[d];
        }
        memcpy((char *)y->data + (size_t)i * size,
               from < 0 ? fill : (const char *)x->data + (size_t)from * size, size);
        for (int32_t d = y->rank - 1; d >= 0 && ++index[d] == y->dims[d]; d--)
            index[d] = 0;
    }
}

collage_status compute_pad(const struct op_call *call, struct error *error)
{
    const struct tensor *x = call->inputs[0];
    struct tensor *y = &call->outputs[0];
    struct pads pads;
    collage_status status = read_pads(call, &pads, error);
    if (status != COLLAGE_OK || tensor_elements(y) == 0)
        return status;
    int64_t total = 0;
    for (int32_t d = 0; d < y->rank; d++)
        total += y->dims[d];
    int64_t *sources = memory_alloc((size_t)total * sizeof *sources);
    if (!sources)
        return error_memory(error);
    int64_t *at = sources;
    for (int32_t d = 0; d < y->rank; d++)
        for (int64_t i = 0; i < y->dims[d]; i++)
            *at++ = source(pads.mode, i - pads.begin[d], kept_of(&pads, d, x->dims[d]));
    copy_padded(x, y, call_input(call, 2), sources);
    memory_free(sources);
    return COLLAGE_OK;
}
