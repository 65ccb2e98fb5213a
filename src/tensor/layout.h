/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h: what a layout tag means (collage/backend.h, struct collage_layout): parsing, sizes,
 * conversion. The conversion here is the plain, obviously right one; fast reorders are candidates
 * of backends.
 */
#ifndef COLLAGE_TENSOR_LAYOUT_H
#define COLLAGE_TENSOR_LAYOUT_H

#include "tensor/tensor.h"

enum { LAYOUT_MAX_BLOCKS = 4 };

/* A parsed tag. */
struct layout_form {
    int32_t rank;
    int32_t order[COLLAGE_MAX_RANK]; /* logical dimension at each outer position, outermost first */
    int32_t block_count;
    int32_t block_dim[LAYOUT_MAX_BLOCKS]; /* outermost inner block first */
    int64_t block_size[LAYOUT_MAX_BLOCKS];
};

bool layout_parse(const collage_layout *layout, int32_t rank,
                  struct layout_form *form);        /* false: private or malformed */
bool layout_is_plain(const collage_layout *layout); /* "" or the row-major tag itself */
bool layout_equal(const collage_layout *a,
                  const collage_layout *b); /* as memory: "" equals "abcd" */
collage_layout layout_plain(void);
collage_layout layout_tag(const char *tag);

/* Bytes of a tensor of that shape in that layout, padding included; 0 if the layout is private or
 * malformed. */
uint64_t layout_bytes(const collage_layout *layout, const struct tensor *tensor);

/* Copies tensor `from` (its data in from_layout) to `to` (to_layout; memory of layout_bytes);
 * zeroes the padding. */
collage_status layout_convert(const struct tensor *from, const collage_layout *from_layout,
                              void *to, const collage_layout *to_layout, struct error *error);

#endif
