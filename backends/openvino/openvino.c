/* SPDX-License-Identifier: Apache-2.0 */
/* OpenVINO (CPU) as a graph-level backend: any convex region of operators that it computes right
 * becomes one compiled model. */
#include <collage/backend.h>

#include "library.h"
#include "operators.h"
#include "request.h"

static const char *library_version(const collage_backend *backend)
{
    return backend->version;
}

static const collage_backend_api openvino_api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "openvino",
    .kind = COLLAGE_GRAPH_LEVEL,
    .thread_flags = COLLAGE_THREADS_OBEYED | COLLAGE_THREADS_QUIET | COLLAGE_THREADS_CONCURRENT,
    .supports = operators_supported,
    .open = library_open,
    .close = library_close,
    .version = library_version,
    .compile = request_compile,
    .kernel_info = request_info,
    .run = request_run,
    .kernel_destroy = request_destroy,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &openvino_api : NULL;
}
