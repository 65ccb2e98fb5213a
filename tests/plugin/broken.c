/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that the registry must refuse, each for one reason that the build defines (BROKEN_...).
 */
#include <collage/backend.h>

#include <stddef.h>

static bool broken_supports(const collage_subgraph *subgraph, const collage_target *target,
                            collage_message *why)
{
    (void)subgraph;
    (void)target;
    (void)why;
    return false;
}

static collage_status broken_open(const collage_host *host, const collage_target *target,
                                  collage_backend **out, collage_message *message)
{
    (void)host;
    (void)target;
    (void)message;
    *out = NULL; /* says that it opened, and has no handle */
    return COLLAGE_OK;
}

static void broken_close(collage_backend *backend)
{
    (void)backend;
}

static const char *broken_version(const collage_backend *backend)
{
    (void)backend;
    return NULL;
}

static collage_status broken_compile(collage_backend *backend,
                                     const collage_compile_request *request, collage_kernel **out,
                                     collage_message *message)
{
    (void)backend;
    (void)request;
    (void)message;
    *out = NULL;
    return COLLAGE_ERROR_UNSUPPORTED;
}

static void broken_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    (void)kernel;
    (void)info;
}

/* Unused where the table is to lack it. */
__attribute__((unused)) static collage_status
broken_run(collage_kernel *kernel, collage_stream *stream, const void *const *inputs,
           void *const *outputs, void *scratch, collage_message *message)
{
    (void)kernel;
    (void)stream;
    (void)inputs;
    (void)outputs;
    (void)scratch;
    (void)message;
    return COLLAGE_ERROR_BACKEND;
}

static void broken_kernel_destroy(collage_kernel *kernel)
{
    (void)kernel;
}

#ifdef BROKEN_DEVICES
static uint32_t broken_device_count(collage_backend *backend)
{
    (void)backend;
    return 1;
}
#endif

#ifndef BROKEN_RUN
#define BROKEN_RUN broken_run
#endif
#ifndef BROKEN_NAME
#define BROKEN_NAME "broken"
#endif
#ifndef BROKEN_ABI
#define BROKEN_ABI COLLAGE_ABI_MAJOR
#endif
#ifndef BROKEN_SIZE
#define BROKEN_SIZE sizeof(collage_backend_api)
#endif
#ifndef BROKEN_KIND
#define BROKEN_KIND COLLAGE_GRAPH_LEVEL
#endif

#ifdef BROKEN_ENVIRONMENT
static const char *const broken_environment[] = { BROKEN_ENVIRONMENT, NULL };
#endif

static const collage_backend_api broken_api = {
    .struct_size = BROKEN_SIZE,
    .abi_major = BROKEN_ABI,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = BROKEN_NAME,
    .kind = BROKEN_KIND,
#ifdef BROKEN_ENVIRONMENT
    .environment = broken_environment,
#endif
    .supports = broken_supports,
    .open = broken_open,
    .close = broken_close,
    .version = broken_version,
    .compile = broken_compile,
    .kernel_info = broken_kernel_info,
    .run = BROKEN_RUN,
    .kernel_destroy = broken_kernel_destroy,
#ifdef BROKEN_DEVICES
    .device_count = broken_device_count,
#endif
};

#ifndef BROKEN_ENTRY
#define BROKEN_ENTRY collage_backend_entry
#endif

COLLAGE_BACKEND_EXPORT const collage_backend_api *BROKEN_ENTRY(uint32_t host_major);

const collage_backend_api *BROKEN_ENTRY(uint32_t host_major)
{
#ifdef BROKEN_NULL
    return host_major == 0 ? &broken_api : NULL;
#else
    return host_major ? &broken_api : NULL;
#endif
}
