/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boxes.h: makes the boxes (simd/move.h) that move a part of one tensor to a part of another. A
 * tensor is told by its shape and its layout: row-major, channels last, or blocks of channels.
 * Where blocks do not meet, a part is several boxes.
 */
#ifndef NATIVE_BOXES_H
#define NATIVE_BOXES_H

#include "family.h"
#include "simd/move.h"

enum { BOXES_AXES = 8 };

/* A tensor in memory: what a step along each axis is, in floats. */
struct boxes_tensor {
    int32_t rank;
    int64_t dims[BOXES_AXES];
    int64_t stride[BOXES_AXES]; /* of the blocked axis: from block to block */
    int32_t blocked;            /* the axis whose blocks are innermost; -1: none */
    int64_t block;
};

enum boxes_layout { BOXES_PLAIN, BOXES_LAST, BOXES_BLOCKED, BOXES_LAYOUTS };

/* block: of BOXES_BLOCKED. False: the tensor has no such layout, or too many axes. */
bool boxes_describe(const collage_value *value, enum boxes_layout layout, int64_t block,
                    struct boxes_tensor *out);
/* The tag of the layout. */
void boxes_tag(enum boxes_layout layout, int32_t rank, int64_t block, collage_layout *out);

/* A part of a tensor along one axis: `count` indices, `step` apart, from `first` on. */
struct boxes_range {
    int64_t first, step, count;
};

/* Moves of one kernel. */
struct boxes {
    struct move_box *items;
    uint32_t *operands, *outputs; /* of each box: numbers that are the user's */
    size_t count, capacity;
    bool failed; /* out of memory, or more dimensions than a box has */
};

/*
 * Adds the boxes that move the elements of `from` at `from_ranges` to those of `to` at `to_ranges`:
 * a range for each axis of `to`, in its order; axes[k] is the axis of `from` that becomes axis k.
 * Each source index is repeated repeat[k] times (NULL: once). `from` NULL: they become `value`.
 * Blocked axes move in steps of one, and repeat nothing.
 */
struct boxes_move {
    const struct boxes_tensor *from, *to;
    const struct boxes_range *from_ranges, *to_ranges;
    const int32_t *axes;
    const int64_t *repeat;
    float value;
    uint32_t operand, output;
};
void boxes_add(struct boxes *boxes, const struct boxes_move *move);
/* Zeros into the padding of the last block. */
void boxes_add_padding(struct boxes *boxes, const struct boxes_tensor *to, uint32_t output);

void boxes_free(struct boxes *boxes);

#endif
