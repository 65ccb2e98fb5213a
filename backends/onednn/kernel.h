/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: an open oneDNN and its kernels, as the plugin table shows them. */
#ifndef ONEDNN_KERNEL_H
#define ONEDNN_KERNEL_H

#include "library.h"
#include "weights.h"

struct collage_backend {
    struct library library;
    dnnl_engine_t engine;
    struct weight_table weights;
};

collage_status kernel_compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message);
void kernel_describe(const collage_kernel *kernel, collage_kernel_info *info);
collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message);
void kernel_destroy(collage_kernel *kernel);

#endif
