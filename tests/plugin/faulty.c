/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend that misbehaves on demand, for the tests of isolation. It takes Relu; what it does is
 * chosen by the environment variable COLLAGE_FAULTY: the name of a row of `behaviours`, or nothing
 * for a right Relu.
 */
#include <collage/backend.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum place { IN_OPEN, IN_COMPILE, IN_RUN };
enum deed { CRASH, HANG, FAIL, WRONG, SLOW, COLD };

struct behaviour {
    const char *name;
    enum place place;
    enum deed deed;
};

static const struct behaviour behaviours[] = {
    { "crash", IN_RUN, CRASH },
    { "hang", IN_RUN, HANG },
    { "fail", IN_RUN, FAIL },
    { "wrong", IN_RUN, WRONG },
    { "slow", IN_RUN, SLOW },
    { "cold", IN_RUN, COLD }, /* slow unless it ran just before: as a loop of it alone does */
    { "compile-crash", IN_COMPILE, CRASH },
    { "compile-hang", IN_COMPILE, HANG },
    { "compile-fail", IN_COMPILE, FAIL },
    { "open-crash", IN_OPEN, CRASH },
    { "open-hang", IN_OPEN, HANG },
    { "open-fail", IN_OPEN, FAIL },
};

struct collage_backend {
    char unused;
};

struct collage_kernel {
    uint64_t count;
};

static bool must(enum place place, enum deed deed)
{
    const char *wanted = getenv("COLLAGE_FAULTY");
    for (size_t k = 0; wanted && k < sizeof behaviours / sizeof behaviours[0]; k++)
        if (behaviours[k].place == place && behaviours[k].deed == deed &&
            !strcmp(behaviours[k].name, wanted))
            return true;
    return false;
}

/* Crashes, hangs or fails, if it is time to. */
static collage_status misbehave(enum place place, collage_message *message)
{
    if (must(place, CRASH)) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    while (must(place, HANG))
        pause();
    if (!must(place, FAIL))
        return COLLAGE_OK;
    snprintf(message->text, sizeof message->text, "fails on purpose");
    return COLLAGE_ERROR_BACKEND;
}

static bool faulty_supports(const collage_subgraph *subgraph, const collage_target *target,
                            collage_message *why)
{
    (void)target;
    if (subgraph->node_count == 1 && !strcmp(subgraph->nodes[0]->op_type, "Relu") &&
        subgraph->values[subgraph->inputs[0]]->dtype == COLLAGE_FLOAT32)
        return true;
    snprintf(why->text, sizeof why->text, "takes one float32 Relu only");
    return false;
}

static collage_status faulty_open(const collage_host *host, const collage_target *target,
                                  collage_backend **out, collage_message *message)
{
    (void)host;
    (void)target;
    collage_status status = misbehave(IN_OPEN, message);
    *out = status == COLLAGE_OK ? calloc(1, sizeof **out) : NULL;
    return status != COLLAGE_OK ? status : *out ? COLLAGE_OK : COLLAGE_ERROR_MEMORY;
}

static void faulty_close(collage_backend *backend)
{
    free(backend);
}

static const char *faulty_version(const collage_backend *backend)
{
    (void)backend;
    return "1.0";
}

static collage_status faulty_compile(collage_backend *backend,
                                     const collage_compile_request *request, collage_kernel **out,
                                     collage_message *message)
{
    (void)backend;
    *out = NULL;
    collage_status status = misbehave(IN_COMPILE, message);
    if (status != COLLAGE_OK)
        return status;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return COLLAGE_ERROR_MEMORY;
    (*out)->count = request->subgraph->values[request->subgraph->outputs[0]]->bytes / sizeof(float);
    return COLLAGE_OK;
}

static void faulty_kernel_info(const collage_kernel *kernel, collage_kernel_info *info)
{
    (void)kernel;
    snprintf(info->implementation, sizeof info->implementation, "faulty");
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void grow_cold(void)
{
    static double last_us;
    if (!must(IN_RUN, COLD))
        return;
    if (now_us() - last_us > 300)
        usleep(5000);
    last_us = now_us();
}

static collage_status faulty_run(collage_kernel *kernel, collage_stream *stream,
                                 const void *const *inputs, void *const *outputs, void *scratch,
                                 collage_message *message)
{
    (void)stream;
    (void)scratch;
    collage_status status = misbehave(IN_RUN, message);
    if (status != COLLAGE_OK)
        return status;
    if (must(IN_RUN, SLOW))
        usleep(20000);
    grow_cold();
    float error = must(IN_RUN, WRONG) ? 1.0f : 0.0f;
    const float *from = inputs[0];
    float *to = outputs[0];
    for (uint64_t k = 0; k < kernel->count; k++)
        to[k] = (from[k] > 0 ? from[k] : 0) + error;
    return COLLAGE_OK;
}

static void faulty_kernel_destroy(collage_kernel *kernel)
{
    free(kernel);
}

static const char *const faulty_environment[] = { "COLLAGE_TEST_WIDTH=pool-{threads}-wide",
                                                  "COLLAGE_TEST_PLAIN=1", NULL };

static const collage_pattern faulty_patterns[] = { { "relu", "Relu" } };

static const collage_backend_api faulty_api = {
    .struct_size = sizeof(collage_backend_api),
    .abi_major = COLLAGE_ABI_MAJOR,
    .abi_minor = COLLAGE_ABI_MINOR,
    .name = "faulty",
    .kind = COLLAGE_OP_LEVEL,
    .environment = faulty_environment,
    .thread_flags = COLLAGE_THREADS_NONE | COLLAGE_THREADS_QUIET,
    .patterns = faulty_patterns,
    .pattern_count = 1,
    .supports = faulty_supports,
    .open = faulty_open,
    .close = faulty_close,
    .version = faulty_version,
    .compile = faulty_compile,
    .kernel_info = faulty_kernel_info,
    .run = faulty_run,
    .kernel_destroy = faulty_kernel_destroy,
};

COLLAGE_BACKEND_EXPORT const collage_backend_api *collage_backend_entry(uint32_t host_major);

const collage_backend_api *collage_backend_entry(uint32_t host_major)
{
    return host_major == COLLAGE_ABI_MAJOR ? &faulty_api : NULL;
}
