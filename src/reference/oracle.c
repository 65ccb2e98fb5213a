/* SPDX-License-Identifier: Apache-2.0 */
#include "reference/oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "reference/example_input.h"

struct oracle {
    const struct graph *graph;
    uint64_t *offsets; /* of each value that is not a constant */
    uint64_t bytes;
    int descriptor;
    char *memory;
};

/* ---- memory ---- */

static collage_status plan_offsets(struct oracle *oracle, struct error *error)
{
    const struct graph *graph = oracle->graph;
    for (size_t v = 0; v < graph->value_count; v++) {
        const struct value *value = &graph->values[v];
        uint64_t bytes;
        if (value->kind == VALUE_CONSTANT)
            continue;
        if (!tensor_check_size(&value->tensor, &bytes))
            return error_set(error, COLLAGE_ERROR_SHAPE, "value '%s' has no known size",
                             value->name);
        oracle->offsets[v] = oracle->bytes;
        if (__builtin_add_overflow(oracle->bytes, (bytes + 63) / 64 * 64, &oracle->bytes))
            return error_memory(error);
    }
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (oracle->bytes > machine)
        return error_set(error, COLLAGE_ERROR_MEMORY,
                         "the reference run needs %" PRIu64 " MB, more than this machine has",
                         oracle->bytes >> 20);
    oracle->bytes = oracle->bytes ? oracle->bytes : 64; /* a mapping cannot be empty */
    return COLLAGE_OK;
}

static collage_status prepare(const struct graph *graph, struct oracle **out, struct error *error)
{
    struct oracle *oracle = memory_alloc(sizeof *oracle);
    if (!oracle)
        return error_memory(error);
    *oracle = (struct oracle){ .graph = graph, .descriptor = -1 };
    oracle->offsets = memory_alloc(graph->value_count * sizeof *oracle->offsets);
    collage_status status = oracle->offsets ? plan_offsets(oracle, error) : error_memory(error);
    if (status != COLLAGE_OK) {
        oracle_destroy(oracle);
        return status;
    }
    *out = oracle;
    return COLLAGE_OK;
}

static collage_status map_memory(struct oracle *oracle, int protection, struct error *error)
{
    void *memory = mmap(NULL, (size_t)oracle->bytes, protection, MAP_SHARED, oracle->descriptor, 0);
    if (memory == MAP_FAILED)
        return error_set(error, COLLAGE_ERROR_MEMORY, "cannot map %" PRIu64 " bytes: %s",
                         oracle->bytes, strerror(errno));
    oracle->memory = memory;
    return COLLAGE_OK;
}

static collage_status make_memory(struct oracle *oracle, struct error *error)
{
    oracle->descriptor = memfd_create("collage-oracle", MFD_CLOEXEC);
    if (oracle->descriptor < 0 || ftruncate(oracle->descriptor, (off_t)oracle->bytes) != 0)
        return error_set(error, COLLAGE_ERROR_MEMORY,
                         "cannot make a memory file of %" PRIu64 " bytes: %s", oracle->bytes,
                         strerror(errno));
    return map_memory(oracle, PROT_READ | PROT_WRITE, error);
}

void oracle_destroy(struct oracle *oracle)
{
    if (!oracle)
        return;
    if (oracle->memory)
        munmap(oracle->memory, (size_t)oracle->bytes);
    if (oracle->descriptor >= 0)
        close(oracle->descriptor);
    memory_free(oracle->offsets);
    memory_free(oracle);
}

int oracle_descriptor(const struct oracle *oracle)
{
    return oracle->descriptor;
}

uint64_t oracle_bytes(const struct oracle *oracle)
{
    return oracle->bytes;
}

struct tensor oracle_value(const struct oracle *oracle, value_id value)
{
    struct tensor tensor = oracle->graph->values[value].tensor;
    if (oracle->graph->values[value].kind != VALUE_CONSTANT)
        tensor.data = oracle->memory + oracle->offsets[value];
    return tensor;
}

/* ---- running ---- */

static collage_status fill_input(struct oracle *oracle, uint32_t index, const struct tensor *given,
                                 struct error *error)
{
    value_id id = oracle->graph->inputs[index];
    struct tensor tensor = oracle_value(oracle, id);
    if (!given)
        return example_input(oracle->graph, index, &tensor, error);
    if (given->dtype != tensor.dtype || !tensor_same_shape(given, &tensor)) {
        char want[160], have[160];
        dims_print(tensor.dims, tensor.rank, want, sizeof want);
        dims_print(given->dims, given->rank, have, sizeof have);
        return error_set(error, COLLAGE_ERROR_SHAPE, "input '%s' is %s %s; the model takes %s %s",
                         oracle->graph->values[id].name, dtype_name(given->dtype), have,
                         dtype_name(tensor.dtype), want);
    }
    size_t bytes = (size_t)tensor_bytes(&tensor);
    if (bytes)
        memcpy(tensor.data, given->data, bytes);
    return COLLAGE_OK;
}

/* One node's tensors. Outputs that the node leaves out get memory of their own. */
struct work {
    struct tensor *tensors; /* inputs, then outputs */
    const struct tensor **inputs;
    struct tensor *outputs;
};

static collage_status begin_work(const struct oracle *oracle, const collage_node *node,
                                 struct work *work, struct error *error)
{
    size_t count = (size_t)node->input_count + node->output_count;
    *work = (struct work){ .tensors = memory_alloc(count * sizeof *work->tensors),
                           .inputs = memory_alloc(node->input_count * sizeof *work->inputs) };
    if (!work->tensors || !work->inputs)
        return error_memory(error);
    work->outputs = work->tensors + node->input_count;
    for (uint32_t k = 0; k < node->input_count; k++)
        if (node->inputs[k] != GRAPH_NONE) {
            work->tensors[k] = oracle_value(oracle, node->inputs[k]);
            work->inputs[k] = &work->tensors[k];
        }
    return COLLAGE_OK;
}

static void end_work(const collage_node *node, struct work *work)
{
    for (uint32_t k = 0; k < node->output_count && work->outputs; k++)
        if (node->outputs[k] == GRAPH_NONE)
            memory_free_aligned(work->outputs[k].data);
    memory_free(work->tensors);
    memory_free(work->inputs);
}

static collage_status place_output(const struct oracle *oracle, value_id id, struct tensor *output,
                                   struct error *error)
{
    if (id == GRAPH_NONE) {
        output->data = memory_alloc_aligned((size_t)tensor_bytes(output));
        return output->data ? COLLAGE_OK : error_memory(error);
    }
    struct tensor value = oracle_value(oracle, id);
    if (value.dtype != output->dtype || !tensor_same_shape(&value, output))
        return error_set(error, COLLAGE_ERROR_INTERNAL, "'%s' has another shape than inferred",
                         oracle->graph->values[id].name);
    output->data = value.data;
    return COLLAGE_OK;
}

/* Infers again, now that the data are there: that checks them too. */
static collage_status run_node(const struct oracle *oracle, const struct node *node,
                               struct error *error)
{
    struct work work;
    collage_status status = begin_work(oracle, &node->base, &work, error);
    if (status == COLLAGE_OK) {
        struct op_call call = { &node->base, node->base.input_count, node->base.output_count,
                                work.inputs, work.outputs };
        status = op_infer(node->op, &call, error);
        for (uint32_t k = 0; k < call.output_count && status == COLLAGE_OK; k++)
            status = place_output(oracle, node->base.outputs[k], &work.outputs[k], error);
        if (status == COLLAGE_OK)
            status = node->op->compute(&call, error);
    }
    end_work(&node->base, &work);
    if (status != COLLAGE_OK)
        error_prefix(error, "node '%s' (%s)", node->base.name, node->op->name);
    return status;
}

static collage_status run(struct oracle *oracle, const struct tensor *inputs,
                          oracle_progress_fn progress, void *user, struct error *error)
{
    const struct graph *graph = oracle->graph;
    collage_status status = COLLAGE_OK;
    for (uint32_t k = 0; k < graph->input_count && status == COLLAGE_OK; k++)
        status = fill_input(oracle, k, inputs ? &inputs[k] : NULL, error);
    for (size_t n = 0; n < graph->node_count && status == COLLAGE_OK; n++) {
        if (progress && !progress(user, n, graph->node_count))
            return error_set(error, COLLAGE_ERROR_INTERRUPTED,
                             "interrupted while computing the reference");
        status = run_node(oracle, &graph->nodes[n], error);
    }
    return status;
}

collage_status oracle_create(const struct graph *graph, const struct tensor *inputs,
                             oracle_progress_fn progress, void *user, struct oracle **out,
                             struct error *error)
{
    *out = NULL;
    struct oracle *oracle;
    collage_status status = prepare(graph, &oracle, error);
    if (status != COLLAGE_OK)
        return status;
    status = make_memory(oracle, error);
    if (status == COLLAGE_OK)
        status = run(oracle, inputs, progress, user, error);
    if (status == COLLAGE_OK && mprotect(oracle->memory, (size_t)oracle->bytes, PROT_READ) != 0)
        status = error_set(error, COLLAGE_ERROR_INTERNAL, "cannot protect the reference: %s",
                           strerror(errno));
    if (status != COLLAGE_OK) {
        oracle_destroy(oracle);
        return status;
    }
    *out = oracle;
    return COLLAGE_OK;
}

collage_status oracle_open(const struct graph *graph, int descriptor, struct oracle **out,
                           struct error *error)
{
    *out = NULL;
    struct oracle *oracle;
    collage_status status = prepare(graph, &oracle, error);
    if (status != COLLAGE_OK) {
        close(descriptor);
        return status;
    }
    oracle->descriptor = descriptor;
    struct stat info;
    if (fstat(descriptor, &info) != 0 || (uint64_t)info.st_size != oracle->bytes)
        status =
            error_set(error, COLLAGE_ERROR_MISMATCH, "the shared reference is of another graph");
    else
        status = map_memory(oracle, PROT_READ, error);
    if (status != COLLAGE_OK) {
        oracle_destroy(oracle);
        return status;
    }
    *out = oracle;
    return COLLAGE_OK;
}
