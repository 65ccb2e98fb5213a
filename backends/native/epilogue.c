/* SPDX-License-Identifier: Apache-2.0 */
#include "epilogue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNEL_BLOCK = 16 };

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

static bool is(const collage_node *node, const char *op)
{
    return strcmp(node->op_type, op) == 0;
}

static bool same_shape(const collage_value *a, const collage_value *b)
{
    if (a->rank != b->rank)
        return false;
    for (int32_t d = 0; d < a->rank; d++) {
        if (a->dims[d] != b->dims[d])
            return false;
    }
    return true;
}

/* A constant with one element, or with one for each channel of `made` and 1 elsewhere. */
static bool is_per_channel(const collage_value *operand, const collage_value *made, int32_t axis)
{
    if (!operand->data || operand->dtype != COLLAGE_FLOAT32 || operand->rank > made->rank)
        return false;
    for (int32_t d = 0; d < operand->rank; d++) {
        bool channel = d + made->rank - operand->rank == axis;
        if (operand->dims[d] != 1 && !(channel && operand->dims[d] == made->dims[axis]))
            return false;
    }
    return true;
}

/* What a scalar constant operand holds; `fallback` if it is left out. False: it is no such thing.
 */
static bool scalar(const collage_subgraph *subgraph, const collage_node *node, uint32_t index,
                   float fallback, float *out)
{
    *out = fallback;
    if (index >= node->input_count || node->inputs[index] == COLLAGE_NO_VALUE)
        return true;
    const collage_value *value = subgraph->values[node->inputs[index]];
    if (!value->data || value->dtype != COLLAGE_FLOAT32 || value->bytes != sizeof(float))
        return false;
    memcpy(out, value->data, sizeof *out);
    return true;
}

/* The activations without operands, with their parameters. */
static bool read_function(const collage_node *node, struct epilogue_step *step)
{
    if (is(node, "Relu")) {
        step->op = EPILOGUE_RELU;
    } else if (is(node, "LeakyRelu")) {
        step->op = EPILOGUE_LEAKY_RELU;
        step->low = collage_node_float(node, "alpha", 0.01f);
    } else if (is(node, "Sigmoid")) {
        step->op = EPILOGUE_SIGMOID;
    } else if (is(node, "Tanh")) {
        step->op = EPILOGUE_TANH;
    } else if (is(node, "Swish")) {
        step->op = EPILOGUE_SWISH;
        step->low = collage_node_float(node, "alpha", 1.0f);
    } else if (is(node, "HardSwish")) {
        step->op = EPILOGUE_HARD_SWISH;
    } else if (is(node, "HardSigmoid")) {
        step->op = EPILOGUE_HARD_SIGMOID;
        step->low = collage_node_float(node, "alpha", 0.2f);
        step->high = collage_node_float(node, "beta", 0.5f);
    } else if (is(node, "Gelu")) {
        bool approximate = strcmp(collage_node_string(node, "approximate", "none"), "tanh") == 0;
        step->op = approximate ? EPILOGUE_GELU_TANH : EPILOGUE_GELU;
    } else {
        return false;
    }
    return node->input_count == 1;
}

/* What a step is, and the constant that it takes per channel (NULL: none). */
struct reading {
    struct epilogue_step step;
    const collage_value *channel;
};

static bool read_binary(struct reading *reading, const collage_subgraph *subgraph,
                        const collage_node *node, uint32_t made, int32_t axis)
{
    if (node->input_count != 2 || (!is(node, "Add") && !is(node, "Mul")))
        return false;
    uint32_t other = node->inputs[0] == made ? node->inputs[1] : node->inputs[0];
    if (other == made || other == COLLAGE_NO_VALUE)
        return false;
    const collage_value *operand = subgraph->values[other];
    bool add = is(node, "Add");
    if (is_per_channel(operand, subgraph->values[made], axis)) {
        reading->channel = operand;
        reading->step.op = add ? EPILOGUE_ADD_CHANNEL : EPILOGUE_MUL_CHANNEL;
        return true;
    }
    if (operand->data || operand->dtype != COLLAGE_FLOAT32 || !value_is_outside(subgraph, other) ||
        !same_shape(operand, subgraph->values[made]))
        return false;
    reading->step.op = add ? EPILOGUE_ADD_TENSOR : EPILOGUE_MUL_TENSOR;
    reading->step.input = operand_of(subgraph, other).input;
    return true;
}

static bool read_step(struct reading *reading, const collage_subgraph *subgraph,
                      const collage_node *node, uint32_t made, int32_t axis)
{
    *reading = (struct reading){ .step = { .op = EPILOGUE_CLIP } };
    uint32_t uses = 0;
    for (uint32_t k = 0; k < node->input_count; k++)
        uses += node->inputs[k] == made;
    if (uses != 1 || node->output_count != 1 ||
        !same_shape(subgraph->values[node->outputs[0]], subgraph->values[made]))
        return false;
    if (is(node, "Clip"))
        return node->inputs[0] == made &&
               scalar(subgraph, node, 1, -INFINITY, &reading->step.low) &&
               scalar(subgraph, node, 2, INFINITY, &reading->step.high);
    return read_function(node, &reading->step) || read_binary(reading, subgraph, node, made, axis);
}

/* Fills `epilogue` but for its channels; `channels` gets the constants of its steps. */
static bool read(struct epilogue *epilogue, const collage_value *channels[EPILOGUE_MAX],
                 const collage_subgraph *subgraph, uint32_t first, uint32_t made, int32_t axis,
                 uint32_t bias, collage_message *why)
{
    const collage_value *result = subgraph->values[made];
    *epilogue = (struct epilogue){ 0 };
    if (axis < 0 || axis >= result->rank)
        return refuse(why, "there is no axis of channels");
    if (bias != COLLAGE_NO_VALUE) {
        const collage_value *value = subgraph->values[bias];
        if (!value->data || value->dtype != COLLAGE_FLOAT32 || value->rank != 1 ||
            value->dims[0] != result->dims[axis])
            return refuse(why, "the bias is not constant");
        channels[epilogue->count] = value;
        epilogue->steps[epilogue->count++].op = EPILOGUE_ADD_CHANNEL;
    }
    for (uint32_t n = first; n < subgraph->node_count; n++) {
        struct reading reading;
        if (epilogue->count == EPILOGUE_MAX)
            return refuse(why, "too many operators follow");
        if (!read_step(&reading, subgraph, subgraph->nodes[n], made, axis)) {
            fail(why, COLLAGE_ERROR_UNSUPPORTED, "this %s is not fused",
                 subgraph->nodes[n]->op_type);
            return false;
        }
        channels[epilogue->count] = reading.channel;
        epilogue->steps[epilogue->count++] = reading.step;
        made = subgraph->nodes[n]->outputs[0];
    }
    if (subgraph->output_count != 1 || subgraph->outputs[0] != made)
        return refuse(why, "it is no chain with one output");
    return true;
}

bool epilogue_takes(struct epilogue *epilogue, const collage_subgraph *subgraph, uint32_t first,
                    uint32_t made, int32_t channel_axis, uint32_t bias, collage_message *why)
{
    const collage_value *channels[EPILOGUE_MAX];
    return read(epilogue, channels, subgraph, first, made, channel_axis, bias, why);
}

collage_status epilogue_make(struct epilogue *epilogue, const collage_subgraph *subgraph,
                             uint32_t first, uint32_t made, int32_t channel_axis, uint32_t bias,
                             collage_message *message)
{
    const collage_value *channels[EPILOGUE_MAX];
    if (!read(epilogue, channels, subgraph, first, made, channel_axis, bias, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    int64_t count = subgraph->values[made]->dims[channel_axis];
    size_t padded = ((size_t)count + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK * CHANNEL_BLOCK;
    epilogue->channels = calloc(padded * EPILOGUE_MAX, sizeof(float));
    if (!epilogue->channels)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    for (uint32_t k = 0; k < epilogue->count; k++) {
        if (!channels[k])
            continue;
        float *to = epilogue->channels + k * padded;
        const float *from = channels[k]->data;
        for (int64_t c = 0; c < count; c++)
            to[c] = from[channels[k]->bytes == sizeof(float) ? 0 : c];
        epilogue->steps[k].channel = to;
    }
    return COLLAGE_OK;
}

void epilogue_free(struct epilogue *epilogue)
{
    free(epilogue->channels);
    epilogue->channels = NULL;
}
