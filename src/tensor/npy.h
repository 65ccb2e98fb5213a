/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h: tensors as NumPy .npy files (format 1.0 to 3.0, little-endian, C order). */
#ifndef COLLAGE_TENSOR_NPY_H
#define COLLAGE_TENSOR_NPY_H

#include "tensor/tensor.h"

/* tensor->data is memory_alloc_aligned memory of the caller's. Errors name the file. */
collage_status npy_read(const char *path, struct tensor *tensor, struct error *error);
collage_status npy_write(const char *path, const struct tensor *tensor, struct error *error);

#endif
