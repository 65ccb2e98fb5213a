/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heads.h: the tensors of attention, [batch][head][row][size] or, with the heads side by side in a
 * row, [batch][row][head x size]. Either way element (b, h, r, c) is at
 * b * batch_step + h * head_step + r * row_step + c.
 */
#ifndef COLLAGE_OPS_HEADS_H
#define COLLAGE_OPS_HEADS_H

#include "ops/ops.h"

struct heads {
    int64_t batch, heads, rows, size;
    int64_t batch_step, head_step, row_step;
};

/* Of a tensor of rank 4, or of rank 3 with that many heads (at least 1). */
struct heads heads_split(const struct tensor *tensor, int64_t heads);

/* Of input k, which is there; for rank 3 the attribute says how many heads it has. */
collage_status heads_read(const struct op_call *call, uint32_t k, const char *attribute,
                          struct heads *out, struct error *error);

#endif
