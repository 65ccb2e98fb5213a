/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { LARGEST_BLOCK = 1024 };

/* The blocks "16b4a" at the end of a tag. `blocked` has a bit for each dimension that must have
 * one. */
static bool parse_blocks(const char *at, const char *end, uint32_t blocked,
                         struct layout_form *form)
{
    uint32_t seen = 0;
    while (at < end) {
        int64_t size = 0;
        const char *digits = at;
        while (at < end && *at >= '0' && *at <= '9' && size <= LARGEST_BLOCK)
            size = size * 10 + (*at++ - '0');
        if (at == digits || at == end || *digits == '0' || size > LARGEST_BLOCK)
            return false;
        int dim = *at++ - 'a';
        if (dim < 0 || dim >= form->rank || !(blocked & 1u << dim) ||
            form->block_count == LAYOUT_MAX_BLOCKS)
            return false;
        seen |= 1u << dim;
        form->block_dim[form->block_count] = dim;
        form->block_size[form->block_count++] = size;
    }
    return seen == blocked;
}

bool layout_parse(const collage_layout *layout, int32_t rank, struct layout_form *form)
{
    *form = (struct layout_form){ .rank = rank };
    if (rank < 0 || rank > COLLAGE_MAX_RANK)
        return false;
    size_t length = strnlen(layout->tag, sizeof layout->tag);
    if (length == sizeof layout->tag)
        return false;
    if (length == 0) {
        for (int32_t d = 0; d < rank; d++)
            form->order[d] = d;
        return true;
    }
    if (length < (size_t)rank || rank == 0)
        return false;
    uint32_t seen = 0, blocked = 0;
    for (int32_t d = 0; d < rank; d++) {
        char letter = layout->tag[d];
        bool capital = letter >= 'A' && letter <= 'Z';
        int dim = letter - (capital ? 'A' : 'a');
        if (dim < 0 || dim >= rank || seen & 1u << dim)
            return false;
        seen |= 1u << dim;
        blocked |= capital ? 1u << dim : 0;
        form->order[d] = dim;
    }
    return parse_blocks(layout->tag + rank, layout->tag + length, blocked, form);
}

bool layout_is_plain(const collage_layout *layout)
{
    static const char plain[] = "abcdefgh";
    size_t length = strnlen(layout->tag, sizeof layout->tag);
    return length < sizeof plain && memcmp(layout->tag, plain, length) == 0;
}

bool layout_equal(const collage_layout *a, const collage_layout *b)
{
    if (layout_is_plain(a) && layout_is_plain(b))
        return true;
    return strncmp(a->tag, b->tag, sizeof a->tag) == 0;
}

collage_layout layout_plain(void)
{
    return (collage_layout){ "" };
}

collage_layout layout_tag(const char *tag)
{
    collage_layout layout = { "" };
    snprintf(layout.tag, sizeof layout.tag, "%s", tag);
    return layout;
}

/* Product of the blocks on a dimension; 1 if there are none. */
static int64_t block_of(const struct layout_form *form, int32_t dim)
{
    int64_t block = 1;
    for (int32_t b = 0; b < form->block_count; b++)
        if (form->block_dim[b] == dim)
            block *= form->block_size[b];
    return block;
}

static int64_t outer_count(const struct layout_form *form, const struct tensor *tensor, int32_t dim)
{
    int64_t block = block_of(form, dim);
    return tensor->dims[dim] / block + (tensor->dims[dim] % block != 0);
}

uint64_t layout_bytes(const collage_layout *layout, const struct tensor *tensor)
{
    struct layout_form form;
    uint64_t bytes;
    if (!layout_parse(layout, tensor->rank, &form) || !tensor_check_size(tensor, &bytes))
        return 0;
    struct tensor padded = *tensor;
    for (int32_t d = 0; d < tensor->rank; d++)
        padded.dims[d] = outer_count(&form, tensor, d) * block_of(&form, d);
    return tensor_check_size(&padded, &bytes) ? bytes : 0;
}

/*
 * The place of an element is a sum of one term for each logical dimension, which depends on the
 * index in that dimension alone: terms[d][i], in elements. Blocks are the digits of the index.
 */
struct places {
    int64_t *terms[COLLAGE_MAX_RANK];
    int64_t *memory;
};

static void fill_terms(const struct layout_form *form, const struct tensor *tensor,
                       struct places *places)
{
    int64_t stride = 1;
    int64_t inner[COLLAGE_MAX_RANK]; /* product of the blocks inside the current one */
    for (int32_t d = 0; d < form->rank; d++)
        inner[d] = 1;
    for (int32_t b = form->block_count - 1; b >= 0; b--) {
        int32_t d = form->block_dim[b];
        for (int64_t i = 0; i < tensor->dims[d]; i++)
            places->terms[d][i] += i / inner[d] % form->block_size[b] * stride;
        inner[d] *= form->block_size[b];
        stride *= form->block_size[b];
    }
    for (int32_t p = form->rank - 1; p >= 0; p--) {
        int32_t d = form->order[p];
        for (int64_t i = 0; i < tensor->dims[d]; i++)
            places->terms[d][i] += i / inner[d] * stride;
        stride *= outer_count(form, tensor, d);
    }
}

static bool make_places(const struct layout_form *form, const struct tensor *tensor,
                        struct places *places)
{
    int64_t total = 0;
    for (int32_t d = 0; d < tensor->rank; d++)
        total += tensor->dims[d];
    places->memory = memory_alloc((size_t)total * sizeof *places->memory);
    if (!places->memory)
        return false;
    int64_t *at = places->memory;
    for (int32_t d = 0; d < tensor->rank; d++) {
        places->terms[d] = at;
        at += tensor->dims[d];
    }
    fill_terms(form, tensor, places);
    return true;
}

/* size is a constant at each call: the copies become single moves. */
static inline void copy_row(char *to, const char *from, const int64_t *to_terms,
                            const int64_t *from_terms, int64_t count, size_t size)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(to + (size_t)to_terms[i] * size, from + (size_t)from_terms[i] * size, size);
}

static void copy_elements(const struct tensor *shape, char *to, const struct places *to_places,
                          const char *from, const struct places *from_places)
{
    size_t size = dtype_size(shape->dtype);
    int32_t last = shape->rank - 1;
    int64_t count = shape->dims[last];
    int64_t index[COLLAGE_MAX_RANK] = { 0 };
    int64_t rows = tensor_elements(shape) / count;
    for (int64_t row = 0; row < rows; row++) {
        int64_t to_at = 0, from_at = 0;
        for (int32_t d = 0; d < last; d++) {
            to_at += to_places->terms[d][index[d]];
            from_at += from_places->terms[d][index[d]];
        }
        char *t = to + (size_t)to_at * size;
        const char *f = from + (size_t)from_at * size;
        const int64_t *to_terms = to_places->terms[last], *from_terms = from_places->terms[last];
        if (size == 4)
            copy_row(t, f, to_terms, from_terms, count, 4);
        else if (size == 8)
            copy_row(t, f, to_terms, from_terms, count, 8);
        else if (size == 2)
            copy_row(t, f, to_terms, from_terms, count, 2);
        else
            copy_row(t, f, to_terms, from_terms, count, 1);
        for (int32_t d = last - 1; d >= 0 && ++index[d] == shape->dims[d]; d--)
            index[d] = 0;
    }
}

collage_status layout_convert(const struct tensor *from, const collage_layout *from_layout,
                              void *to, const collage_layout *to_layout, struct error *error)
{
    struct layout_form from_form, to_form;
    if (!layout_parse(from_layout, from->rank, &from_form) ||
        !layout_parse(to_layout, from->rank, &to_form))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "no conversion from layout '%.23s' to '%.23s' for rank %d",
                         from_layout->tag, to_layout->tag, (int)from->rank);
    uint64_t elements_bytes;
    if (!tensor_check_size(from, &elements_bytes))
        return error_set(error, COLLAGE_ERROR_SHAPE, "the tensor to convert has a wrong shape");
    uint64_t to_bytes = layout_bytes(to_layout, from);
    if (elements_bytes == 0)
        return COLLAGE_OK;
    if (to_bytes == 0 || layout_bytes(from_layout, from) == 0)
        return error_set(error, COLLAGE_ERROR_SHAPE, "the tensor to convert is too large");
    if (layout_equal(from_layout, to_layout)) {
        memcpy(to, from->data, (size_t)to_bytes);
        return COLLAGE_OK;
    }
    struct places from_places = { 0 }, to_places = { 0 };
    if (!make_places(&from_form, from, &from_places) || !make_places(&to_form, from, &to_places)) {
        memory_free(from_places.memory);
        return error_memory(error);
    }
    if (to_bytes != elements_bytes)
        memset(to, 0, (size_t)to_bytes);
    copy_elements(from, to, &to_places, from->data, &from_places);
    memory_free(from_places.memory);
    memory_free(to_places.memory);
    return COLLAGE_OK;
}
