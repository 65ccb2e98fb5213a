/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include "../library_path.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef COLLAGE_ONNXRUNTIME_BUILT
#define COLLAGE_ONNXRUNTIME_BUILT NULL
#endif

static const struct library_place place = { "COLLAGE_ONNXRUNTIME_LIBRARY", "onnxruntime",
                                            COLLAGE_ONNXRUNTIME_BUILT, "libonnxruntime.so.1" };

collage_status fail(collage_message *message, collage_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(message->text, sizeof message->text, format, list);
    va_end(list);
    message->text[strcspn(message->text, "\r\n")] = '\0';
    return status;
}

collage_status ort_check(const struct ort_api *ort, OrtStatus *status, const char *what,
                         collage_message *message)
{
    if (!status)
        return COLLAGE_OK;
    fail(message, COLLAGE_ERROR_BACKEND, "%s: %s", what, ort->GetErrorMessage(status));
    ort->ReleaseStatus(status);
    return COLLAGE_ERROR_BACKEND;
}

/* ---- loading ---- */

static collage_status fetch_functions(collage_backend *backend, const struct ort_api_base *base,
                                      const char *path, collage_message *message)
{
    const char *version = base->GetVersionString();
    snprintf(backend->version, sizeof backend->version, "%s", version ? version : "?");
    const ort_function *slots = base->GetApi(ORT_API_WANTED);
    if (!slots)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "ONNX Runtime %s (%s) does not offer API version %d: use 1.%d or newer",
                    backend->version, path, ORT_API_WANTED, ORT_API_WANTED);
#define ROW(slot, result, name, arguments)                                                         \
    if (!slots[slot])                                                                              \
        return fail(message, COLLAGE_ERROR_BACKEND, "ONNX Runtime %s (%s) lacks " #name,           \
                    backend->version, path);                                                       \
    memcpy(&backend->ort.name, &slots[slot], sizeof backend->ort.name);
    ORT_FUNCTIONS(ROW)
#undef ROW
    return COLLAGE_OK;
}

/* The library is never unloaded: its threads and thread-local data may outlive every session. */
static collage_status load(collage_backend *backend, collage_message *message)
{
    char buffer[PATH_MAX];
    const char *path = library_path_find(&place, buffer);
    /* Releases since 1.30 or so write a device id into the user's cache folder and send events home
     * unless this is set before the library is loaded; DisableTelemetryEvents comes too late. */
    setenv("ORT_DISABLE_TELEMETRY", "1", 0);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "cannot load ONNX Runtime: %s; set COLLAGE_ONNXRUNTIME_LIBRARY to its path",
                    dlerror());
    void *symbol = dlsym(handle, "OrtGetApiBase");
    if (!symbol)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "%s is not ONNX Runtime: it does not export OrtGetApiBase", path);
    ort_entry entry;
    memcpy(&entry, &symbol, sizeof entry);
    return fetch_functions(backend, entry(), path, message);
}

/* ---- the environment: one in a process, counted by ORT itself ---- */

/* One arena for all sessions: regions run one after the other, so they can share the memory of
 * their intermediate tensors. Fails if another handle in this process has made it already. */
static OrtStatus *share_arena(const collage_backend *backend)
{
    const struct ort_api *ort = &backend->ort;
    OrtMemoryInfo *memory = NULL;
    OrtArenaCfg *config = NULL;
    OrtStatus *failed = ort->CreateCpuMemoryInfo(ORT_ALLOCATOR_ARENA, ORT_MEMORY_DEFAULT, &memory);
    if (!failed)
        failed = ort->CreateArenaCfg(0, -1, -1, -1, &config);
    if (!failed)
        failed = ort->CreateAndRegisterAllocator(backend->env, memory, config);
    if (config)
        ort->ReleaseArenaCfg(config);
    if (memory)
        ort->ReleaseMemoryInfo(memory);
    return failed;
}

static collage_status create_environment(collage_backend *backend, collage_message *message)
{
    const struct ort_api *ort = &backend->ort;
    /* It logs to standard error. Its errors come back as statuses, too, and the host tells them. */
    OrtStatus *failed = ort->CreateEnv(ORT_LOG_FATAL, "collage", &backend->env);
    if (!failed)
        failed = ort->DisableTelemetryEvents(backend->env);
    if (!failed)
        failed =
            ort->CreateCpuMemoryInfo(ORT_ALLOCATOR_DEVICE, ORT_MEMORY_DEFAULT, &backend->memory);
    collage_status status = ort_check(ort, failed, "cannot start ONNX Runtime", message);
    if (status != COLLAGE_OK)
        return status;
    failed = share_arena(backend);
    if (failed)
        ort->ReleaseStatus(failed); /* sessions without a shared arena have their own */
    return COLLAGE_OK;
}

/* ---- the smoke run ---- */

/* An ONNX model: y = Identity(x), both float[4]. */
static const unsigned char smoke_model[] = {
    0x08, 0x08, 0x3a, 0x3b, 0x0a, 0x10, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22, 0x08,
    0x49, 0x64, 0x65, 0x6e, 0x74, 0x69, 0x74, 0x79, 0x12, 0x05, 0x73, 0x6d, 0x6f, 0x6b,
    0x65, 0x5a, 0x0f, 0x0a, 0x01, 0x78, 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x01, 0x12, 0x04,
    0x0a, 0x02, 0x08, 0x04, 0x62, 0x0f, 0x0a, 0x01, 0x79, 0x12, 0x0a, 0x0a, 0x08, 0x08,
    0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x04, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11,
};

enum { SMOKE_COUNT = 4 };

/* What a smoke run makes; all released together. */
struct smoke {
    OrtSessionOptions *options;
    OrtSession *session;
    OrtIoBinding *binding;
    OrtValue *values[2];
};

static OrtStatus *smoke_bind(const collage_backend *backend, struct smoke *smoke, float *from,
                             float *to)
{
    static const int64_t dims[] = { SMOKE_COUNT };
    const struct ort_api *ort = &backend->ort;
    size_t bytes = SMOKE_COUNT * sizeof(float);
    OrtStatus *failed = ort->CreateTensorWithDataAsOrtValue(backend->memory, from, bytes, dims, 1,
                                                            COLLAGE_FLOAT32, &smoke->values[0]);
    if (!failed)
        failed = ort->CreateTensorWithDataAsOrtValue(backend->memory, to, bytes, dims, 1,
                                                     COLLAGE_FLOAT32, &smoke->values[1]);
    if (!failed)
        failed = ort->CreateIoBinding(smoke->session, &smoke->binding);
    if (!failed)
        failed = ort->BindInput(smoke->binding, "x", smoke->values[0]);
    if (!failed)
        failed = ort->BindOutput(smoke->binding, "y", smoke->values[1]);
    return failed;
}

static collage_status smoke_run(const collage_backend *backend, collage_message *message)
{
    const struct ort_api *ort = &backend->ort;
    struct smoke smoke = { 0 };
    float from[SMOKE_COUNT] = { 1.0f, -2.0f, 0.5f, 3.25f }, to[SMOKE_COUNT] = { 0 };
    OrtStatus *failed = ort->CreateSessionOptions(&smoke.options);
    if (!failed)
        failed = ort->SetIntraOpNumThreads(smoke.options, 1);
    if (!failed)
        failed = ort->CreateSessionFromArray(backend->env, smoke_model, sizeof smoke_model,
                                             smoke.options, &smoke.session);
    if (!failed)
        failed = smoke_bind(backend, &smoke, from, to);
    if (!failed)
        failed = ort->RunWithBinding(smoke.session, NULL, smoke.binding);
    collage_status status = ort_check(ort, failed, "ONNX Runtime fails its smoke run", message);
    if (status == COLLAGE_OK && memcmp(from, to, sizeof from) != 0)
        status = fail(message, COLLAGE_ERROR_BACKEND,
                      "ONNX Runtime %s gives a wrong result in its smoke run", backend->version);
    if (smoke.binding)
        ort->ReleaseIoBinding(smoke.binding);
    for (size_t k = 0; k < 2; k++)
        if (smoke.values[k])
            ort->ReleaseValue(smoke.values[k]);
    if (smoke.session)
        ort->ReleaseSession(smoke.session);
    if (smoke.options)
        ort->ReleaseSessionOptions(smoke.options);
    return status;
}

/* ---- opening ---- */

collage_status library_open(const collage_host *host, const collage_target *target,
                            collage_backend **out, collage_message *message)
{
    *out = NULL;
    collage_backend *backend = calloc(1, sizeof *backend);
    if (!backend)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    backend->host = host;
    (void)target;
    collage_status status = load(backend, message);
    if (status == COLLAGE_OK)
        status = create_environment(backend, message);
    if (status == COLLAGE_OK)
        status = smoke_run(backend, message);
    if (status != COLLAGE_OK) {
        library_close(backend);
        return status;
    }
    *out = backend;
    return COLLAGE_OK;
}

void library_close(collage_backend *backend)
{
    if (!backend)
        return;
    if (backend->memory)
        backend->ort.ReleaseMemoryInfo(backend->memory);
    if (backend->env)
        backend->ort.ReleaseEnv(backend->env);
    free(backend);
}
