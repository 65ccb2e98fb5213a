/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor.h"

#include "../message.h"

#include <string.h>

static const struct blocked_tag {
    const char *text;
    dnnl_format_tag_t tag;
    int rank, block;
} blocked_tags[] = {
    { "aBc4b", dnnl_aBc4b, 3, 4 },        { "aBc8b", dnnl_aBc8b, 3, 8 },
    { "aBc16b", dnnl_aBc16b, 3, 16 },     { "aBcd4b", dnnl_aBcd4b, 4, 4 },
    { "aBcd8b", dnnl_aBcd8b, 4, 8 },      { "aBcd16b", dnnl_aBcd16b, 4, 16 },
    { "aBcde4b", dnnl_aBcde4b, 5, 4 },    { "aBcde8b", dnnl_aBcde8b, 5, 8 },
    { "aBcde16b", dnnl_aBcde16b, 5, 16 },
};

/* Strides of a tag that permutes the dimensions ("acdb"); false if it is none for that rank. */
static bool permuted_strides(const struct operand *operand, dnnl_dims_t strides)
{
    if (strlen(operand->tag) != (size_t)operand->rank)
        return false;
    unsigned seen = 0;
    int64_t stride = 1;
    for (int k = operand->rank - 1; k >= 0; k--) {
        int d = operand->tag[k] - 'a';
        if (d < 0 || d >= operand->rank || (seen & 1u << d))
            return false;
        seen |= 1u << d;
        strides[d] = stride;
        stride *= operand->dims[d];
    }
    return true;
}

dnnl_status_t descriptor_create_plain(const struct library *library, const struct operand *operand,
                                      dnnl_memory_desc_t *out)
{
    return library->memory_desc_create_with_strides(out, operand->rank, operand->dims, dnnl_f32,
                                                    operand->strides);
}

/* The tag's number is the header's: the size shows that the library means the same. */
static bool size_is_right(const struct library *library, const struct operand *operand,
                          const struct blocked_tag *row, const_dnnl_memory_desc_t descriptor)
{
    int64_t elements = 1;
    for (int d = 0; d < operand->rank; d++) {
        int64_t dim = operand->dims[d];
        elements *= d == 1 ? (dim + row->block - 1) / row->block * row->block : dim;
    }
    return library->memory_desc_get_size(descriptor) == (uint64_t)elements * sizeof(float);
}

static collage_status create_blocked(const struct library *library, const struct operand *operand,
                                     dnnl_memory_desc_t *out, collage_message *message)
{
    for (size_t k = 0; k < sizeof blocked_tags / sizeof blocked_tags[0]; k++) {
        const struct blocked_tag *row = &blocked_tags[k];
        if (strcmp(row->text, operand->tag) != 0 || row->rank != operand->rank)
            continue;
        dnnl_status_t status = library->memory_desc_create_with_tag(
            out, operand->rank, operand->dims, dnnl_f32, row->tag);
        if (status == dnnl_success && size_is_right(library, operand, row, *out))
            return COLLAGE_OK;
        if (status == dnnl_success)
            library->memory_desc_destroy(*out);
        *out = NULL;
        return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN refuses the layout %s: %s",
                    operand->tag, library_status_text(status));
    }
    return fail(message, COLLAGE_ERROR_UNSUPPORTED, "the layout '%s' is not mapped to oneDNN",
                operand->tag);
}

static collage_status create_whole(const struct library *library, const struct operand *operand,
                                   dnnl_memory_desc_t *out, collage_message *message)
{
    dnnl_dims_t strides;
    dnnl_status_t status;
    *out = NULL;
    if (operand->any)
        status = library->memory_desc_create_with_tag(out, operand->rank, operand->dims, dnnl_f32,
                                                      dnnl_format_tag_any);
    else if (operand->tag[0] == '\0')
        status = descriptor_create_plain(library, operand, out);
    else if (permuted_strides(operand, strides))
        status = library->memory_desc_create_with_strides(out, operand->rank, operand->dims,
                                                          dnnl_f32, strides);
    else
        return create_blocked(library, operand, out, message);
    if (status == dnnl_success)
        return COLLAGE_OK;
    return fail(message, COLLAGE_ERROR_BACKEND, "oneDNN refuses a descriptor: %s",
                library_status_text(status));
}

/* The whole, then the part of it. */
static collage_status create_part(const struct library *library, const struct operand *operand,
                                  dnnl_memory_desc_t *out, collage_message *message)
{
    struct operand whole = *operand;
    dnnl_memory_desc_t descriptor = NULL;
    memcpy(whole.dims, operand->within, sizeof whole.dims);
    for (int64_t d = operand->rank - 1, stride = 1; d >= 0; d--) {
        whole.strides[d] = stride;
        stride *= whole.dims[d];
    }
    *out = NULL;
    collage_status status = create_whole(library, &whole, &descriptor, message);
    if (status != COLLAGE_OK)
        return status;
    dnnl_status_t result =
        library->memory_desc_create_submemory(out, descriptor, operand->dims, operand->at);
    library->memory_desc_destroy(descriptor);
    if (result == dnnl_success)
        return COLLAGE_OK;
    return fail(message, COLLAGE_ERROR_UNSUPPORTED, "oneDNN has no such part of a tensor: %s",
                library_status_text(result));
}

collage_status descriptor_create(const struct library *library, const struct operand *operand,
                                 dnnl_memory_desc_t *out, collage_message *message)
{
    return operand->part ? create_part(library, operand, out, message)
                         : create_whole(library, operand, out, message);
}
