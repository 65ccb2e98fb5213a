/* SPDX-License-Identifier: Apache-2.0 */
#include "object.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RANK = 8, ARGUMENTS = 64, FORM_BYTES = 80, TENSOR_POINTER = 7 /* kTVMFFIDLTensorPtr */ };

/* ---- what object.py writes ---- */

typedef int function(void *self, const void *arguments, int32_t count, void *result);

struct argument {
    int32_t value, pack, rank; /* of the sub-graph; which function packs it, or -1 */
    int64_t dims[RANK];
    const char *form; /* of packing: equal forms of equal constants are equal */
};

typedef int task_body(int32_t task, void *group, void *data);

struct exported {
    uint32_t version, argument_count;
    const struct argument *arguments;
    function *kernel;
    function *const *packs;
    int (*launch)(task_body *body, void *data, int count);
    void *(*allocate)(uint64_t bytes);
    int (*release)(void *memory);
    char problem[200]; /* what the last call that failed said */
    const char *implementation, *record;
};

/* TVMFFIAny, as tvm-ffi's C interface has it. */
struct any {
    int32_t type, unused;
    void *pointer;
};

/* ---- threads: TVMBackendParallelLaunch ---- */

/* Whose parallel loops these are: a kernel runs in one thread at a time. */
static _Thread_local const collage_kernel *running;

/* Tasks for each thread. Who comes late, because waking took long, finds fewer left: with one task
 * each, all would wait for it, fall asleep, and be late themselves the next time. */
enum { TASKS = 8 };

struct launch {
    task_body *body;
    void *data;
    int32_t tasks;
    atomic_llong next;
    atomic_int failed;
};

/* TVMParallelGroupEnv */
struct group {
    void *handle;
    int32_t tasks;
};

static void launch_some(void *context, int32_t thread, int32_t threads)
{
    struct launch *launch = context;
    struct group group = { NULL, launch->tasks };
    (void)thread;
    (void)threads;
    for (int64_t task; pool_next(&launch->next, launch->tasks, &task);) {
        if (launch->body((int32_t)task, &group, launch->data) != 0)
            atomic_store(&launch->failed, 1);
    }
}

/* How many tasks there are is for us to say: a loop is cut into as many parts. */
static int launch(task_body *body, void *data, int count)
{
    const int32_t threads = running ? running->threads : 1; /* 1: within a parallel loop */
    struct launch call = { .body = body, .data = data };
    (void)count;
    call.tasks = threads > 1 ? threads * TASKS : 1;
    if (threads > 1)
        pool_run(&running->backend->pool, threads, launch_some, &call);
    else
        launch_some(&call, 0, 1);
    return atomic_load(&call.failed) ? -1 : 0;
}

/* ---- memory for a while: a few blocks for each thread, kept for the next run ---- */

enum { BLOCKS = 8, ALIGNMENT = 64 };

struct block {
    void *memory;
    uint64_t bytes;
    bool used;
};

struct blocks {
    struct block items[BLOCKS];
};

static pthread_key_t blocks_key;
static pthread_once_t blocks_once = PTHREAD_ONCE_INIT;
static bool blocks_ready;
static _Thread_local struct blocks *own_blocks;

static void free_blocks(void *at)
{
    struct blocks *blocks = at;
    for (size_t k = 0; k < BLOCKS; k++)
        free(blocks->items[k].memory);
    free(blocks);
    own_blocks = NULL;
}

static void make_blocks_key(void)
{
    blocks_ready = pthread_key_create(&blocks_key, free_blocks) == 0;
}

static struct blocks *blocks_of_thread(void)
{
    pthread_once(&blocks_once, make_blocks_key);
    if (own_blocks || !blocks_ready)
        return own_blocks;
    struct blocks *blocks = calloc(1, sizeof *blocks);
    if (blocks && pthread_setspecific(blocks_key, blocks) != 0) {
        free(blocks);
        blocks = NULL;
    }
    own_blocks = blocks;
    return blocks;
}

static void *allocate(uint64_t bytes)
{
    struct blocks *blocks = blocks_of_thread();
    struct block *chosen = NULL;
    if (bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (size_t k = 0; blocks && k < BLOCKS; k++) { /* one that is large enough, else the largest */
        struct block *block = &blocks->items[k];
        bool fits = chosen && chosen->bytes >= bytes;
        if (!block->used &&
            (!chosen || (fits ? block->bytes >= bytes && block->bytes < chosen->bytes
                              : block->bytes > chosen->bytes)))
            chosen = block;
    }
    if (!chosen)
        return NULL;
    if (chosen->bytes < bytes) {
        free(chosen->memory);
        chosen->memory = aligned_alloc(ALIGNMENT, bytes ? bytes : ALIGNMENT);
        chosen->bytes = chosen->memory ? bytes : 0;
    }
    chosen->used = chosen->memory != NULL;
    return chosen->memory;
}

static int release(void *memory)
{
    struct blocks *blocks = own_blocks;
    for (size_t k = 0; blocks && k < BLOCKS; k++) {
        if (blocks->items[k].memory == memory && blocks->items[k].used) {
            blocks->items[k].used = false;
            return 0;
        }
    }
    return -1;
}

/* ---- the kernel ---- */

/* Where an argument's data are. */
struct source_of {
    const void *constant; /* NULL: */
    int32_t input, output;
    struct weights *weights;
};

struct object {
    struct code code;
    struct exported *exported;
    uint32_t count;
    uint64_t weight_bytes;
    struct source_of sources[ARGUMENTS];
    int64_t strides[ARGUMENTS][RANK];
    int64_t dims[ARGUMENTS][RANK];
    DLTensor tensors[ARGUMENTS];
    struct any arguments[ARGUMENTS];
};

static uint64_t elements_of(const struct argument *argument)
{
    uint64_t count = 1;
    for (int32_t d = 0; d < argument->rank; d++) {
        if (argument->dims[d] < 1 || (uint64_t)argument->dims[d] > UINT32_MAX || count > UINT32_MAX)
            return 0;
        count *= (uint64_t)argument->dims[d];
    }
    return count;
}

static void describe_tensor(DLTensor *tensor, int64_t *dims, int64_t *strides, int32_t rank,
                            const int64_t *from)
{
    int64_t stride = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        dims[d] = from[d];
        strides[d] = stride;
        stride *= from[d];
    }
    *tensor = (DLTensor){ .device = { kDLCPU, 0 },
                          .ndim = rank,
                          .dtype = { kDLFloat, 32, 1 },
                          .shape = dims,
                          .strides = strides };
}

static int32_t index_in(const uint32_t *list, uint32_t count, uint32_t value)
{
    for (uint32_t k = 0; k < count; k++) {
        if (list[k] == value)
            return (int32_t)k;
    }
    return -1;
}

struct packing {
    function *pack;
    const struct argument *argument;
    int64_t count; /* of the constant's elements */
    bool failed;
};

static void pack(float *to, const float *from, const void *context)
{
    const struct packing *const *at = context;
    struct packing *packing;
    memcpy(&packing, at, sizeof(struct packing *));
    DLTensor tensors[2];
    int64_t dims[2][RANK], strides[2][RANK];
    struct any arguments[2], result = { 0, 0, NULL };
    describe_tensor(&tensors[0], dims[0], strides[0], 1, &packing->count);
    describe_tensor(&tensors[1], dims[1], strides[1], packing->argument->rank,
                    packing->argument->dims);
    memcpy(&tensors[0].data, &from, sizeof from);
    tensors[1].data = to;
    for (size_t k = 0; k < 2; k++)
        arguments[k] = (struct any){ TENSOR_POINTER, 0, &tensors[k] };
    packing->failed = packing->pack(NULL, arguments, 2, &result) != 0;
}

static collage_status acquire(struct object *object, uint32_t k, const collage_kernel *kernel,
                              const collage_compile_request *request, collage_message *message)
{
    const struct argument *argument = &object->exported->arguments[k];
    const collage_value *value = request->subgraph->values[argument->value];
    char form[FORM_BYTES];
    struct packing packing = { object->exported->packs[argument->pack], argument,
                               (int64_t)(value->bytes / sizeof(float)), false };
    struct packing *context = &packing;
    snprintf(form, sizeof form, "tvm %s", argument->form);
    const struct weight_request wanted = { .value = value,
                                           .form = form,
                                           .count = elements_of(argument),
                                           .pack = pack,
                                           .context = &context,
                                           .shared = !(request->flags & COLLAGE_COMPILE_UNSHARED) &&
                                                     strlen(argument->form) + sizeof "tvm " <=
                                                         sizeof form };
    const float *data;
    collage_status status = weights_acquire(&kernel->backend->weights, &wanted,
                                            &object->sources[k].weights, &data, message);
    if (status != COLLAGE_OK)
        return status;
    object->sources[k].constant = data;
    object->weight_bytes += wanted.count * sizeof(float);
    return packing.failed ? fail(message, COLLAGE_ERROR_BACKEND, "TVM's kernel does not pack: %s",
                                 object->exported->problem)
                          : COLLAGE_OK;
}

static collage_status bind(struct object *object, uint32_t k, const collage_kernel *kernel,
                           const collage_compile_request *request, collage_message *message)
{
    const collage_subgraph *subgraph = request->subgraph;
    const struct argument *argument = &object->exported->arguments[k];
    struct source_of *source = &object->sources[k];
    bool fine = argument->value >= 0 && (uint32_t)argument->value < subgraph->value_count &&
                argument->rank >= 1 && argument->rank <= RANK && elements_of(argument) > 0;
    const collage_value *value = fine ? subgraph->values[argument->value] : NULL;
    *source =
        (struct source_of){ .constant = fine ? value->data : NULL, .input = -1, .output = -1 };
    if (fine) {
        uint32_t index = (uint32_t)argument->value;
        source->input = index_in(subgraph->inputs, subgraph->input_count, index);
        source->output = index_in(subgraph->outputs, subgraph->output_count, index);
        describe_tensor(&object->tensors[k], object->dims[k], object->strides[k], argument->rank,
                        argument->dims);
        object->arguments[k] = (struct any){ TENSOR_POINTER, 0, &object->tensors[k] };
        fine = value->dtype == COLLAGE_FLOAT32 &&
               (source->constant || source->input >= 0 || source->output >= 0) &&
               (argument->pack < 0 ? elements_of(argument) * sizeof(float) == value->bytes
                                   : source->constant != NULL && argument->form != NULL);
    }
    if (!fine)
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's kernel has strange arguments");
    return argument->pack < 0 ? COLLAGE_OK : acquire(object, k, kernel, request, message);
}

collage_status object_create(const void *bytes, size_t count, const collage_kernel *kernel,
                             const collage_compile_request *request, struct object **out,
                             collage_message *message)
{
    void *symbol = NULL;
    struct object *object = *out = calloc(1, sizeof *object);
    if (!object)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    collage_status status = code_open(bytes, count, &object->code, &symbol, message);
    if (status != COLLAGE_OK)
        return status;
    object->exported = symbol;
    if (object->exported->version != 1 || object->exported->argument_count > ARGUMENTS)
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's kernel is of another version");
    object->exported->launch = launch;
    object->exported->allocate = allocate;
    object->exported->release = release;
    object->count = object->exported->argument_count;
    for (uint32_t k = 0; k < object->count && status == COLLAGE_OK; k++)
        status = bind(object, k, kernel, request, message);
    return status;
}

collage_status object_run(struct object *object, const collage_kernel *kernel,
                          const void *const *inputs, void *const *outputs, collage_message *message)
{
    struct any result = { 0, 0, NULL };
    for (uint32_t k = 0; k < object->count; k++) {
        const struct source_of *source = &object->sources[k];
        const void *data = source->constant      ? source->constant
                           : source->output >= 0 ? outputs[source->output]
                                                 : inputs[source->input];
        memcpy(&object->tensors[k].data, &data, sizeof data);
    }
    running = kernel;
    int failed = object->exported->kernel(NULL, object->arguments, (int32_t)object->count, &result);
    running = NULL;
    return failed ? fail(message, COLLAGE_ERROR_BACKEND, "TVM's kernel failed: %s",
                         object->exported->problem)
                  : COLLAGE_OK;
}

void object_destroy(struct object *object, collage_kernel *kernel)
{
    if (!object)
        return;
    for (uint32_t k = 0; k < object->count; k++)
        weights_release(&kernel->backend->weights, object->sources[k].weights);
    code_unload(&object->code);
    free(object);
}

const char *object_implementation(const struct object *object)
{
    return object->exported->implementation;
}

uint64_t object_weight_bytes(const struct object *object)
{
    return object->weight_bytes;
}
