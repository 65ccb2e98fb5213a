/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend whose schedules make a difference for certain: it takes Relu, and waits before each
 * run. By itself it waits long; with "wait=0" it does not, with "wait=longer" longer, "wrong=1" is
 * wrong, and what is listed behind that is malformed. COLLAGE_SCHEDULED_VERSION: the library's
 * version.
 */
#include <collage/backend.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct collage_backend {
    char unused;
};

struct collage_kernel {
    uint64_t count;
    long wait_ns;
    float error;
};

static const struct {
    const char *schedule;
    long wait_ns;
    float error;
} schedules[] = {
    { "", 1000000, 0 },  { "wait=longer", 3000000, 0 }, { "wait=0", 0, 0 },
    { "wrong=1", 0, 1 }, { " not clean\n", 0, 0 },
};
enum { SCHEDULES = sizeof schedules / sizeof schedules[0] };

static bool scheduled_supports(const collage_subgraph *subgraph, const collage_target *target,
                               collage_message *why)
{
    (void)target;
    if (subgraph->node_count == 1 && !strcmp(subgraph->nodes[0]->op_type, "Relu") &&
        subgraph->values[subgraph->inputs[0]]->dtype == COLLAGE_FLOAT32)
        return true;
    snprintf(why->text, sizeof why->text, "takes one float32 Relu only");
    return false;
}

static bool scheduled_schedule(const collage_subgraph *subgraph, const collage_target *target,
                               const collage_variant *variant, size_t index, collage_schedule *out)
{
    (void)subgraph, (void)target, (void)variant;
    if (index + 1 >= SCHEDULES)
        return false;
    snprintf(out->text, sizeof out->text, "%s", schedules[index + 1].schedule);
    return true;
}

static collage_status scheduled_open(const collage_host *host, const collage_target *target,
                                     collage_backend **out, collage_message *message)
{
    (void)host, (void)target, (void)message;
    *out = calloc(1, sizeof **out);
    return *out ? COLLAGE_OK : COLLAGE_ERROR_MEMORY;
}

static void scheduled_close(collage_backend *backend)
{
    free(backend);
}

static const char *scheduled_version(const collage_backend *backend)
{
    const char *version = getenv("COLLAGE_SCHEDULED_VERSION");
    (void)backend;
    return version ? version : "1.0";
}

static collage_status scheduled_compile(collage_backend *backend,
                                        const collage_compile_request *request,
                                        collage_kernel **out, collage_message *message)
{
    const char *schedule = request->schedule ? request->schedule : "";
    (void)backend;
    *out = NULL;
    for (size_t k = 0; k < SCHEDULES; k++) {
        if (strcmp(schedule, schedules[k].schedule) != 0)
            continue;
        collage_kernel *kernel = calloc(1, sizeof *kernel);
        if (!kernel)
            return COLLAGE_ERROR_MEMORY;
        const collage_subgraph *subgraph = request->subgraph;
        kernel->count = subgraph->values[subgraph->outputs[0]]->bytes / sizeof(float);
        kernel->wait_ns = schedules[k].wait_ns;
        kernel->error = schedules[k].error;
        *out = kernel;
        return COLLAGE_OK;
    }
    snprintf(message->text, sizeof message->text, "there is no schedule '%s'", schedule);
    return COLLAGE_ERROR_BACKEND;
}

static void scheduled_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    snprintf(info->implementation, sizeof info->implementation, "waits %ld ns", kernel->wait_ns);
}

static collage_status scheduled_run(collage_kernel *kernel, collage_stream *stream,
                                    const void *const *inputs, void *const *outputs, void *scratch,
                                    collage_message *message)
{
    const struct timespec wait = { 0, kernel->wait_ns };
    const float *from = inputs[0];
    float *to = outputs[0];
    (void)stream, (void)scratch, (void)message;
    if (kernel->wait_ns)
        nanosleep(&wait, NULL);
    for (uint64_t k = 0; k < kernel->count; k++)
        to[k] = (from[k] > 0 ? from[k] : 0) + kernel->error;
    return COLLAGE_OK;
}

static void scheduled_kernel_destroy(collage_kernel *kernel)
{
    free(kernel);
}

static const collage_pattern scheduled_patterns[] = { { "relu", "Relu" } };

static const collage_backend_api scheduled_api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "scheduled",
    .kind = COLLAGE_OP_LEVEL,
    .thread_flags = COLLAGE_THREADS_NONE | COLLAGE_THREADS_QUIET,
    .patterns = scheduled_patterns,
    .pattern_count = 1,
    .supports = scheduled_supports,
    .open = scheduled_open,
    .close = scheduled_close,
    .version = scheduled_version,
    .compile = scheduled_compile,
    .kernel_info = scheduled_kernel_info,
    .run = scheduled_run,
    .kernel_destroy = scheduled_kernel_destroy,
    .schedule = scheduled_schedule,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &scheduled_api : NULL;
}
