/* SPDX-License-Identifier: Apache-2.0 */
/* tensors.h: the tensors of `collage run`: made for a model, read, written, summarised. */
#ifndef COLLAGE_CLI_TENSORS_H
#define COLLAGE_CLI_TENSORS_H

#include "cli.h"

/* A row-major host tensor of a model's input or output. */
struct tensor {
    collage_tensor_info info;
    DLTensor dl;
    int64_t dims[COLLAGE_MAX_RANK], strides[COLLAGE_MAX_RANK];
    size_t bytes;
    bool read; /* dl was filled by collage_tensor_read */
};

/* Zeroed memory of the shape that info tells. False: out of memory, or a type not known here. */
bool tensor_create(struct tensor *tensor, const collage_tensor_info *info);
void tensor_free(struct tensor *tensor);

/* Reads a .npy file that must have the shape and type of info. 0, or an exit status after
 * complaining. */
int tensor_read(collage_context *context, const char *command, const char *path,
                const collage_tensor_info *info, struct tensor *tensor);

/* "logits: 1x1000 float32, mean 0.1, from -1 to 2, starts 0.1 0.2 0.3 0.4". */
void tensor_print_summary(const struct tensor *tensor, FILE *file);

#endif
