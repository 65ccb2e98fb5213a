/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h: a sub-graph as an OpenVINO infer request: compiled from an ONNX model in memory, run
 * on the caller's own memory.
 */
#ifndef COLLAGE_OPENVINO_REQUEST_H
#define COLLAGE_OPENVINO_REQUEST_H

#include "library.h"

collage_status request_compile(collage_backend *backend, const collage_compile_request *request,
                               collage_kernel **out, collage_message *message);
void request_info(const collage_kernel *kernel, collage_kernel_info *info);
collage_status request_run(collage_kernel *kernel, collage_stream *stream,
                           const void *const *inputs, void *const *outputs, void *scratch,
                           collage_message *message);
void request_destroy(collage_kernel *kernel);

#endif
