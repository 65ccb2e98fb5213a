/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ort_api.h: the functions of ONNX Runtime's C API that this plugin calls, in our own words. Its
 * API is one table of function pointers (OrtApi) that only ever grows: a function is known by its
 * slot. ORT_FUNCTIONS has one row a function: slot, result, name, arguments; library.c fetches them
 * by API version and proves them with a smoke run. `const char *` on Linux is also ORT's path type.
 */
#ifndef COLLAGE_ONNXRUNTIME_ORT_API_H
#define COLLAGE_ONNXRUNTIME_ORT_API_H

#include <stddef.h>
#include <stdint.h>

/* The API version that is asked for; all rows below exist since then. */
enum { ORT_API_WANTED = 16 };

typedef struct OrtStatus OrtStatus; /* NULL: success; otherwise ours to release */
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtArenaCfg OrtArenaCfg;

/* Values of its enumerations that are used. Element types are ONNX's, as collage_dtype's. */
enum { ORT_LOG_FATAL = 4, ORT_SEQUENTIAL = 0, ORT_OPTIMIZE_ALL = 99 };
enum { ORT_ALLOCATOR_DEVICE = 0, ORT_ALLOCATOR_ARENA = 1, ORT_MEMORY_DEFAULT = 0 };

#define ORT_FUNCTIONS(ROW)                                                                         \
    ROW(2, const char *, GetErrorMessage, (const OrtStatus *))                                     \
    ROW(3, OrtStatus *, CreateEnv, (int log_level, const char *name, OrtEnv **))                   \
    ROW(6, OrtStatus *, DisableTelemetryEvents, (const OrtEnv *))                                  \
    ROW(7, OrtStatus *, CreateSession,                                                             \
        (const OrtEnv *, const char *path, const OrtSessionOptions *, OrtSession **))              \
    ROW(8, OrtStatus *, CreateSessionFromArray,                                                    \
        (const OrtEnv *, const void *model, size_t bytes, const OrtSessionOptions *,               \
         OrtSession **))                                                                           \
    ROW(10, OrtStatus *, CreateSessionOptions, (OrtSessionOptions **))                             \
    ROW(13, OrtStatus *, SetSessionExecutionMode, (OrtSessionOptions *, int mode))                 \
    ROW(23, OrtStatus *, SetSessionGraphOptimizationLevel, (OrtSessionOptions *, int level))       \
    ROW(24, OrtStatus *, SetIntraOpNumThreads, (OrtSessionOptions *, int threads))                 \
    ROW(30, OrtStatus *, SessionGetInputCount, (const OrtSession *, size_t *))                     \
    ROW(31, OrtStatus *, SessionGetOutputCount, (const OrtSession *, size_t *))                    \
    ROW(36, OrtStatus *, SessionGetInputName,                                                      \
        (const OrtSession *, size_t index, OrtAllocator *, char **))                               \
    ROW(37, OrtStatus *, SessionGetOutputName,                                                     \
        (const OrtSession *, size_t index, OrtAllocator *, char **))                               \
    ROW(49, OrtStatus *, CreateTensorWithDataAsOrtValue,                                           \
        (const OrtMemoryInfo *, void *data, size_t bytes, const int64_t *dims, size_t rank,        \
         int element_type, OrtValue **))                                                           \
    ROW(69, OrtStatus *, CreateCpuMemoryInfo, (int allocator, int memory, OrtMemoryInfo **))       \
    ROW(76, OrtStatus *, AllocatorFree, (OrtAllocator *, void *))                                  \
    ROW(78, OrtStatus *, GetAllocatorWithDefaultOptions, (OrtAllocator **))                        \
    ROW(92, void, ReleaseEnv, (OrtEnv *))                                                          \
    ROW(93, void, ReleaseStatus, (OrtStatus *))                                                    \
    ROW(94, void, ReleaseMemoryInfo, (OrtMemoryInfo *))                                            \
    ROW(95, void, ReleaseSession, (OrtSession *))                                                  \
    ROW(96, void, ReleaseValue, (OrtValue *))                                                      \
    ROW(100, void, ReleaseSessionOptions, (OrtSessionOptions *))                                   \
    ROW(130, OrtStatus *, AddSessionConfigEntry,                                                   \
        (OrtSessionOptions *, const char *key, const char *value))                                 \
    ROW(133, OrtStatus *, RunWithBinding,                                                          \
        (OrtSession *, const OrtRunOptions *, const OrtIoBinding *))                               \
    ROW(134, OrtStatus *, CreateIoBinding, (OrtSession *, OrtIoBinding **))                        \
    ROW(135, void, ReleaseIoBinding, (OrtIoBinding *))                                             \
    ROW(136, OrtStatus *, BindInput, (OrtIoBinding *, const char *name, const OrtValue *))         \
    ROW(137, OrtStatus *, BindOutput, (OrtIoBinding *, const char *name, const OrtValue *))        \
    ROW(144, OrtStatus *, CreateAndRegisterAllocator,                                              \
        (OrtEnv *, const OrtMemoryInfo *, const OrtArenaCfg *))                                    \
    ROW(156, OrtStatus *, CreateArenaCfg,                                                          \
        (size_t most, int strategy, int first_bytes, int dead_bytes, OrtArenaCfg **))              \
    ROW(157, void, ReleaseArenaCfg, (OrtArenaCfg *))                                               \
    ROW(210, OrtStatus *, AddExternalInitializers,                                                 \
        (OrtSessionOptions *, const char *const *names, const OrtValue *const *values,             \
         size_t count))

/* The functions, by name. */
struct ort_api {
#define ROW(slot, result, name, arguments) result(*name) arguments;
    ORT_FUNCTIONS(ROW)
#undef ROW
};

typedef void (*ort_function)(void);

/* What OrtGetApiBase() gives. */
struct ort_api_base {
    const ort_function *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
};

typedef const struct ort_api_base *(*ort_entry)(void);

#endif
