/* SPDX-License-Identifier: Apache-2.0 */
#include "library.h"

#include "../library_path.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef COLLAGE_OPENVINO_BUILT
#define COLLAGE_OPENVINO_BUILT NULL
#endif

static const struct library_place place = { "COLLAGE_OPENVINO_LIBRARY", "openvino",
                                            COLLAGE_OPENVINO_BUILT, "libopenvino_c.so" };

/* The oldest release that this plugin was tried with: older ones number element types otherwise. */
enum { OLDEST_YEAR = 2026, OLDEST_RELEASE = 4 };

collage_status fail(collage_message *message, collage_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(message->text, sizeof message->text, format, list);
    va_end(list);
    message->text[strcspn(message->text, "\r\n")] = '\0';
    return status;
}

/* ---- errors ---- */

/* OpenVINO's messages have several lines, the first of which say where in its source they arose. */
static bool says_something(const char *line, size_t length)
{
    static const char *const noise[] = { "Exception from ", "Check '" };
    for (size_t k = 0; k < sizeof noise / sizeof noise[0]; k++)
        if (strncmp(line, noise[k], strlen(noise[k])) == 0)
            return false;
    return length > 0;
}

static void join_lines(const char *text, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    while (*text && used < size) {
        size_t length = strcspn(text, "\r\n");
        if (says_something(text, length)) {
            int written =
                snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)length, text);
            used += written > 0 ? (size_t)written : 0;
        }
        text += length + strspn(text + length, "\r\n");
    }
}

collage_status ov_check(const struct ov_api *ov, ov_status code, const char *what,
                        collage_message *message)
{
    if (code == 0)
        return COLLAGE_OK;
    char line[384];
    const char *text = ov->ov_get_last_err_msg();
    join_lines(text ? text : "", line, sizeof line);
    if (text)
        ov->ov_free(text);
    return fail(message, COLLAGE_ERROR_BACKEND, "%s: %s", what,
                line[0] ? line : ov->ov_get_error_info(code));
}

/* ---- loading ---- */

/* Keeps release and build number of "2026.4.1-22982-e213a147257-releases/2026/4". */
static collage_status read_version(collage_backend *backend, const char *path,
                                   collage_message *message)
{
    ov_version version = { NULL, NULL };
    collage_status status = ov_check(&backend->ov, backend->ov.ov_get_openvino_version(&version),
                                     "OpenVINO does not tell its version", message);
    if (status != COLLAGE_OK)
        return status;
    size_t length = strcspn(version.build, "-");
    length += version.build[length] ? 1 + strcspn(version.build + length + 1, "-") : 0;
    snprintf(backend->version, sizeof backend->version, "%.*s", (int)length, version.build);
    backend->ov.ov_version_free(&version);
    char *end = NULL;
    long year = strtol(backend->version, &end, 10);
    long release = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (year < OLDEST_YEAR || (year == OLDEST_YEAR && release < OLDEST_RELEASE))
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "OpenVINO %s (%s) is too old: use %d.%d or newer", backend->version, path,
                    OLDEST_YEAR, OLDEST_RELEASE);
    return COLLAGE_OK;
}

static collage_status fetch_functions(collage_backend *backend, void *handle, const char *path,
                                      collage_message *message)
{
    void *symbol;
#define ROW(result, name, arguments)                                                               \
    symbol = dlsym(handle, #name);                                                                 \
    if (!symbol)                                                                                   \
        return fail(message, COLLAGE_ERROR_BACKEND,                                                \
                    "%s is not OpenVINO's C library: it does not export " #name, path);            \
    memcpy(&backend->ov.name, &symbol, sizeof backend->ov.name);
    OV_FUNCTIONS(ROW)
#undef ROW
    return COLLAGE_OK;
}

/* What it depends on lies in its folder, where its own run path finds it. It is never unloaded: its
 * threads and thread-local data may outlive every core. */
static collage_status load(collage_backend *backend, collage_message *message)
{
    char buffer[PATH_MAX];
    const char *path = library_path_find(&place, buffer);
#ifdef __SANITIZE_ADDRESS__
    /* Otherwise TBB opens a part of itself with RTLD_DEEPBIND, which AddressSanitizer forbids. */
    setenv("TBB_ENABLE_SANITIZERS", "1", 0);
#endif
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return fail(message, COLLAGE_ERROR_BACKEND,
                    "cannot load OpenVINO: %s; set COLLAGE_OPENVINO_LIBRARY to the path of "
                    "libopenvino_c.so",
                    dlerror());
    collage_status status = fetch_functions(backend, handle, path, message);
    return status == COLLAGE_OK ? read_version(backend, path, message) : status;
}

/* ---- the smoke run ---- */

/* An ONNX model: y = Neg(x), both float[4]. */
static const unsigned char smoke_model[] = {
    0x08, 0x08, 0x3a, 0x36, 0x0a, 0x0b, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22, 0x03, 0x4e, 0x65,
    0x67, 0x12, 0x05, 0x73, 0x6d, 0x6f, 0x6b, 0x65, 0x5a, 0x0f, 0x0a, 0x01, 0x78, 0x12, 0x0a, 0x0a,
    0x08, 0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x04, 0x62, 0x0f, 0x0a, 0x01, 0x79, 0x12, 0x0a,
    0x0a, 0x08, 0x08, 0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x04, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11,
};

enum { SMOKE_COUNT = 4 };

/* What a smoke run makes; all released together. */
struct smoke {
    ov_model_t *model;
    ov_compiled_model_t *compiled;
    ov_infer_request_t *request;
    ov_tensor_t *tensors[2];
};

static ov_status smoke_infer(const collage_backend *backend, struct smoke *smoke, float *from,
                             float *to)
{
    int64_t count = SMOKE_COUNT;
    const ov_shape shape = { 1, &count };
    const struct ov_api *ov = &backend->ov;
    ov_status code = ov->ov_compiled_model_create_infer_request(smoke->compiled, &smoke->request);
    if (code == 0)
        code = ov->ov_tensor_create_from_host_ptr(OV_F32, shape, from, &smoke->tensors[0]);
    if (code == 0)
        code = ov->ov_tensor_create_from_host_ptr(OV_F32, shape, to, &smoke->tensors[1]);
    if (code == 0)
        code = ov->ov_infer_request_set_input_tensor_by_index(smoke->request, 0, smoke->tensors[0]);
    if (code == 0)
        code =
            ov->ov_infer_request_set_output_tensor_by_index(smoke->request, 0, smoke->tensors[1]);
    return code == 0 ? ov->ov_infer_request_infer(smoke->request) : code;
}

static void smoke_free(const struct ov_api *ov, struct smoke *smoke)
{
    for (size_t k = 0; k < 2; k++)
        if (smoke->tensors[k])
            ov->ov_tensor_free(smoke->tensors[k]);
    if (smoke->request)
        ov->ov_infer_request_free(smoke->request);
    if (smoke->compiled)
        ov->ov_compiled_model_free(smoke->compiled);
    if (smoke->model)
        ov->ov_model_free(smoke->model);
}

static collage_status smoke_run(const collage_backend *backend, collage_message *message)
{
    const struct ov_api *ov = &backend->ov;
    struct smoke smoke = { 0 };
    float from[SMOKE_COUNT] = { 1.0f, -2.0f, 0.5f, 3.25f }, to[SMOKE_COUNT] = { 0 };
    ov_status code = ov->ov_core_read_model_from_memory_buffer(
        backend->core, (const char *)smoke_model, sizeof smoke_model, NULL, &smoke.model);
    if (code == 0)
        code = ov->ov_core_compile_model(backend->core, smoke.model, "CPU", 4, &smoke.compiled,
                                         "INFERENCE_NUM_THREADS", "1", "NUM_STREAMS", "1");
    if (code == 0)
        code = smoke_infer(backend, &smoke, from, to);
    collage_status status = ov_check(ov, code, "OpenVINO fails its smoke run", message);
    for (size_t k = 0; k < SMOKE_COUNT && status == COLLAGE_OK; k++)
        if (to[k] != -from[k])
            status = fail(message, COLLAGE_ERROR_BACKEND,
                          "OpenVINO %s gives a wrong result in its smoke run", backend->version);
    smoke_free(ov, &smoke);
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
        status = ov_check(&backend->ov, backend->ov.ov_core_create(&backend->core),
                          "cannot start OpenVINO", message);
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
    if (backend->core)
        backend->ov.ov_core_free(backend->core);
    free(backend);
}
