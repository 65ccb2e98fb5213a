/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: a sub-graph as partitions that run one after another, on memory of the caller. */
#ifndef ONEDNN_GRAPH_KERNEL_H
#define ONEDNN_GRAPH_KERNEL_H

#include "library.h"

collage_status kernel_compile(collage_backend *backend, const collage_compile_request *request,
                              collage_kernel **out, collage_message *message);
void kernel_describe(const collage_kernel *kernel, collage_kernel_info *info);
collage_status kernel_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
                          void *const *outputs, void *scratch, collage_message *message);
void kernel_destroy(collage_kernel *kernel);

#endif
