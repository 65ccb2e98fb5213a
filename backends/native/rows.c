/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c: the family of what needs a whole row: softmax, layer, RMS, group and instance
 * normalisation, with the element-wise nodes before and behind it. A row goes through all of it
 * while it is in cache: the nodes before are one program, those behind another (program.h), and
 * what lies between them and is not wanted outside is a buffer of one row for each thread.
 */
#include "simd/rows.h"
#include "simd/program.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 12, MAX_VALUES = 64, MAX_PLACES = PROGRAM_OUTPUTS + 1, ALIGNMENT = 16 };

enum middle { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM, GROUP_NORM, INSTANCE_NORM, MIDDLES };

static const char *const middle_names[MIDDLES] = {
    "Softmax",          "LogSoftmax",         "LayerNormalization",
    "RMSNormalization", "GroupNormalization", "InstanceNormalization"
};

/* A value between the parts: in the memory of an output, or in a buffer of a row. */
struct place {
    uint32_t value;
    int32_t output; /* -1: a buffer */
    int64_t buffer; /* where it begins among a thread's buffers */
};

/* Everything that a sub-graph says. */
struct reading {
    enum middle middle;
    uint32_t node; /* the one in the middle */
    int64_t rows, count;
    int64_t channels, size, groups; /* in a group, and of a channel; groups in a batch */
    float epsilon;
    uint32_t x, y, scale, bias; /* values */
    bool x_is_outside;
    bool has_before, has_behind;
    struct program before, behind;
    uint32_t before_count, behind_count; /* outputs */
    uint32_t behind_outputs[PROGRAM_OUTPUTS];
    uint32_t place_count; /* what `before` makes comes first, in its order; then y */
    struct place places[MAX_PLACES];
    int64_t buffer_floats; /* for each thread */
};

struct rows {
    struct reading r;
    const struct program_kernels *programs;
    const struct rows_kernels *kernels;
    struct operand x, scale, bias;
    struct operand before[PROGRAM_LEAVES], behind[PROGRAM_LEAVES];
    int8_t behind_places[PROGRAM_LEAVES];     /* -1: it is an operand */
    uint32_t behind_outputs[PROGRAM_OUTPUTS]; /* indices of the sub-graph's outputs */
};

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* ---- reading ---- */

static int32_t output_index(const collage_subgraph *subgraph, uint32_t value)
{
    for (uint32_t k = 0; k < subgraph->output_count; k++) {
        if (subgraph->outputs[k] == value)
            return (int32_t)k;
    }
    return -1;
}

static int find_middle(const collage_node *node)
{
    for (int k = 0; k < MIDDLES; k++) {
        if (strcmp(node->op_type, middle_names[k]) == 0)
            return k;
    }
    return -1;
}

/* The one node in the middle; all others are element-wise. */
static bool read_nodes(struct reading *r, const collage_subgraph *subgraph, collage_message *why)
{
    uint32_t found = 0;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        int middle = find_middle(subgraph->nodes[n]);
        if (middle >= 0) {
            r->middle = (enum middle)middle;
            r->node = n;
            found++;
        } else if (!program_knows(subgraph->nodes[n])) {
            fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s is not among these kernels",
                 subgraph->nodes[n]->op_type);
            return false;
        }
    }
    if (found != 1 || subgraph->node_count > MAX_NODES || subgraph->value_count > MAX_VALUES)
        return refuse(why, "there is nothing to normalise, or too much");
    return true;
}

/* A scale or a bias: float32 from outside, `count` elements. */
static bool read_vector(const collage_subgraph *subgraph, const collage_node *node, uint32_t index,
                        int64_t count, uint32_t *out)
{
    *out = COLLAGE_NO_VALUE;
    if (index >= node->input_count || node->inputs[index] == COLLAGE_NO_VALUE)
        return true;
    *out = node->inputs[index];
    const collage_value *value = subgraph->values[*out];
    return value->dtype == COLLAGE_FLOAT32 && value_is_outside(subgraph, *out) &&
           value->bytes == (uint64_t)count * sizeof(float);
}

/* The shape of rows; *axis: where a row begins, 0 for groups. */
static bool read_shape(struct reading *r, const collage_subgraph *subgraph, int32_t *axis,
                       collage_message *why)
{
    const collage_node *node = subgraph->nodes[r->node];
    const collage_value *x = subgraph->values[r->x];
    bool grouped = r->middle == GROUP_NORM || r->middle == INSTANCE_NORM;
    int64_t first = collage_node_int(node, "axis", -1);
    first = grouped ? 0 : first < 0 ? first + x->rank : first;
    if (x->dtype != COLLAGE_FLOAT32 || x->bytes == 0 || first < 0 || first >= x->rank ||
        x->rank > PROGRAM_AXES)
        return refuse(why, "there is no float32 to normalise");
    *axis = (int32_t)first;
    r->rows = r->count = 1;
    for (int32_t d = 0; d < x->rank; d++)
        *(d < first ? &r->rows : &r->count) *= x->dims[d];
    if (r->middle <= LOG_SOFTMAX) {
        if (r->count != x->dims[first])
            return refuse(why, "the softmax is not over the last axis");
    } else if (grouped) {
        if (x->rank < 2)
            return refuse(why, "there are no channels");
        int64_t channels = x->dims[1];
        r->groups = r->middle == INSTANCE_NORM ? channels : collage_node_int(node, "num_groups", 0);
        if (r->groups < 1 || channels % r->groups != 0)
            return refuse(why, "the channels do not divide into groups");
        r->rows = x->dims[0] * r->groups;
        r->count = (int64_t)(x->bytes / sizeof(float)) / r->rows;
        r->channels = channels / r->groups;
        r->size = r->count / r->channels;
    }
    return true;
}

static bool read_middle(struct reading *r, const collage_subgraph *subgraph, int32_t *axis,
                        collage_message *why)
{
    const collage_node *node = subgraph->nodes[r->node];
    bool grouped = r->middle == GROUP_NORM || r->middle == INSTANCE_NORM;
    if (node->input_count < 1 || node->output_count < 1 || node->inputs[0] == COLLAGE_NO_VALUE ||
        node->outputs[0] == COLLAGE_NO_VALUE)
        return refuse(why, "the normalisation has no operand");
    for (uint32_t k = 1; k < node->output_count; k++) {
        if (node->outputs[k] != COLLAGE_NO_VALUE)
            return refuse(why, "mean and deviation are not given out");
    }
    r->x = node->inputs[0];
    r->y = node->outputs[0];
    r->scale = r->bias = COLLAGE_NO_VALUE;
    r->epsilon = collage_node_float(node, "epsilon", 1e-5f);
    if (!read_shape(r, subgraph, axis, why))
        return false;
    if (r->middle <= LOG_SOFTMAX)
        return true;
    int64_t vector = grouped ? r->groups * r->channels : r->count;
    if (!read_vector(subgraph, node, 1, vector, &r->scale) ||
        !read_vector(subgraph, node, 2, vector, &r->bias) || r->scale == COLLAGE_NO_VALUE ||
        (grouped && r->bias == COLLAGE_NO_VALUE))
        return refuse(why, "scale and bias are no vectors of a row");
    return true;
}

/* Which values depend on y, and which nodes come before the middle: x depends on them. */
static void sort_nodes(const struct reading *r, const collage_subgraph *subgraph, bool *before,
                       bool *behind)
{
    bool needed[MAX_VALUES] = { false };
    needed[r->x] = true;
    for (uint32_t n = subgraph->node_count; n-- > 0;) {
        const collage_node *node = subgraph->nodes[n];
        before[n] = behind[n] = false;
        if (n == r->node)
            continue;
        for (uint32_t k = 0; k < node->output_count; k++)
            before[n] =
                before[n] || (node->outputs[k] != COLLAGE_NO_VALUE && needed[node->outputs[k]]);
        behind[n] = !before[n];
        for (uint32_t k = 0; before[n] && k < node->input_count; k++) {
            if (node->inputs[k] != COLLAGE_NO_VALUE)
                needed[node->inputs[k]] = true;
        }
    }
}

static bool is_read_by(const collage_subgraph *subgraph, const bool *nodes, uint32_t value)
{
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        for (uint32_t k = 0; nodes[n] && k < subgraph->nodes[n]->input_count; k++) {
            if (subgraph->nodes[n]->inputs[k] == value)
                return true;
        }
    }
    return false;
}

static bool add_place(struct reading *r, const collage_subgraph *subgraph, uint32_t value,
                      bool *is_row)
{
    if (r->place_count == MAX_PLACES)
        return false;
    struct place *place = &r->places[r->place_count++];
    *place = (struct place){ value, output_index(subgraph, value), r->buffer_floats };
    is_row[value] = true;
    if (place->output < 0)
        r->buffer_floats += (r->count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

/* What `before` makes and others read. */
static bool place_values(struct reading *r, const collage_subgraph *subgraph, const bool *before,
                         const bool *behind, bool *is_row, collage_message *why)
{
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        if (!before[n])
            continue;
        if (node->output_count != 1 || node->outputs[0] == COLLAGE_NO_VALUE)
            return refuse(why, "a node has no single output");
        uint32_t value = node->outputs[0];
        bool wanted = value == r->x || output_index(subgraph, value) >= 0 ||
                      is_read_by(subgraph, behind, value);
        if (wanted &&
            (r->before_count == PROGRAM_OUTPUTS || !add_place(r, subgraph, value, is_row)))
            return refuse(why, "too many values are used again");
        r->before_count += wanted;
        r->has_before = true;
    }
    if (!add_place(r, subgraph, r->y, is_row))
        return refuse(why, "too many values are used again");
    for (uint32_t n = 0; n < subgraph->node_count; n++)
        r->has_behind = r->has_behind || behind[n];
    for (uint32_t k = 0; k < subgraph->output_count; k++) {
        uint32_t value = subgraph->outputs[k];
        if (is_row[value])
            continue;
        if (r->behind_count == PROGRAM_OUTPUTS)
            return refuse(why, "too many outputs");
        r->behind_outputs[r->behind_count++] = value;
    }
    if (r->has_behind != (r->behind_count > 0))
        return refuse(why, "a result is not used");
    return true;
}

static bool read_program(struct program *program, const struct reading *r,
                         const collage_subgraph *subgraph, struct program_request *request,
                         collage_message *why)
{
    const collage_value *x = subgraph->values[r->x];
    request->subgraph = subgraph;
    request->rank = x->rank;
    request->dims = x->dims;
    if (!program_read(program, request, why))
        return false;
    bool grouped = r->middle == GROUP_NORM || r->middle == INSTANCE_NORM;
    return !grouped || program_split(program, r->count, request->is_row) ||
           refuse(why, "an operand does not fit the groups");
}

static bool read(struct reading *r, const collage_subgraph *subgraph, collage_message *why)
{
    bool before[MAX_NODES], behind[MAX_NODES], is_row[MAX_VALUES] = { false };
    int32_t axis = 0;
    *r = (struct reading){ 0 };
    if (!read_nodes(r, subgraph, why) || !read_middle(r, subgraph, &axis, why))
        return false;
    sort_nodes(r, subgraph, before, behind);
    if (!place_values(r, subgraph, before, behind, is_row, why))
        return false;
    uint32_t made[PROGRAM_OUTPUTS];
    for (uint32_t k = 0; k < r->before_count; k++)
        made[k] = r->places[k].value;
    r->x_is_outside = !is_row[r->x];
    if (r->x_is_outside && (subgraph->values[r->x]->data || !value_is_outside(subgraph, r->x)))
        return refuse(why, "what is normalised is constant");
    struct program_request request = { .nodes = before,
                                       .row = axis,
                                       .outputs = made,
                                       .output_count = r->before_count,
                                       .is_row = is_row };
    if (r->has_before && !read_program(&r->before, r, subgraph, &request, why))
        return false;
    request.nodes = behind;
    request.outputs = r->behind_outputs;
    request.output_count = r->behind_count;
    return !r->has_behind || read_program(&r->behind, r, subgraph, &request, why);
}

static bool takes(const collage_subgraph *subgraph, const collage_target *target,
                  collage_message *why)
{
    (void)target;
    struct reading reading;
    return read(&reading, subgraph, why);
}

/* ---- compiling ---- */

/* May output `out` lie in input `value`? All that reads the input must do so row by row, and
 * before the output is written. */
static bool in_place(const struct reading *r, const collage_subgraph *subgraph, uint32_t out,
                     uint32_t value)
{
    uint32_t made = subgraph->outputs[out];
    if (subgraph->values[value]->bytes != subgraph->values[made]->bytes || value == r->scale ||
        value == r->bias || subgraph->values[value]->dtype != COLLAGE_FLOAT32)
        return false;
    if (r->has_behind && program_reads(&r->behind, value))
        return false;
    for (uint32_t k = 0; k < r->before_count; k++) {
        if (r->places[k].value == made)
            return value != r->x && program_in_place(&r->before, k, value);
    }
    return !r->has_before || program_reads_densely(&r->before, value);
}

static void announce_in_place(collage_kernel *kernel, const struct reading *r,
                              const collage_subgraph *subgraph)
{
    uint32_t most = sizeof kernel->inplace / sizeof kernel->inplace[0] / 2;
    for (uint32_t out = 0; out < subgraph->output_count; out++) {
        for (uint32_t in = 0; in < subgraph->input_count && kernel->inplace_count < most; in++) {
            if (!in_place(r, subgraph, out, subgraph->inputs[in]))
                continue;
            kernel->inplace[(size_t)2 * kernel->inplace_count] = out;
            kernel->inplace[(size_t)2 * kernel->inplace_count + 1] = in;
            kernel->inplace_count++;
        }
    }
}

static void find_operands(struct rows *rows, const collage_subgraph *subgraph)
{
    const struct reading *r = &rows->r;
    if (r->x_is_outside)
        rows->x = operand_of(subgraph, r->x);
    if (r->scale != COLLAGE_NO_VALUE)
        rows->scale = operand_of(subgraph, r->scale);
    if (r->bias != COLLAGE_NO_VALUE)
        rows->bias = operand_of(subgraph, r->bias);
    for (uint32_t l = 0; l < r->before.leaf_count; l++)
        rows->before[l] = operand_of(subgraph, r->before.leaves[l].value);
    for (uint32_t l = 0; l < r->behind.leaf_count; l++) {
        rows->behind_places[l] = -1;
        for (uint32_t k = 0; k < r->place_count; k++) {
            if (r->places[k].value == r->behind.leaves[l].value)
                rows->behind_places[l] = (int8_t)k;
        }
        if (rows->behind_places[l] < 0)
            rows->behind[l] = operand_of(subgraph, r->behind.leaves[l].value);
    }
    for (uint32_t k = 0; k < r->behind_count; k++)
        rows->behind_outputs[k] = (uint32_t)output_index(subgraph, r->behind_outputs[k]);
}

static collage_status compile(collage_kernel *kernel, const collage_compile_request *request,
                              const char *variant, collage_message *message)
{
    (void)variant;
    struct rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    kernel->state = rows;
    if (!read(&rows->r, request->subgraph, message))
        return COLLAGE_ERROR_UNSUPPORTED;
    rows->programs = ISA_PICK(kernel->isa, program_kernels);
    rows->kernels = ISA_PICK(kernel->isa, rows_kernels);
    find_operands(rows, request->subgraph);
    announce_in_place(kernel, &rows->r, request->subgraph);
    kernel->scratch_bytes =
        (uint64_t)kernel->threads * (uint64_t)rows->r.buffer_floats * sizeof(float);
    snprintf(kernel->implementation, sizeof kernel->implementation,
             "%lld rows of %lld, %u steps before, %u behind", (long long)rows->r.rows,
             (long long)rows->r.count, (unsigned)rows->r.before.step_count,
             (unsigned)rows->r.behind.step_count);
    return COLLAGE_OK;
}

/* ---- running ---- */

struct job {
    const struct rows *rows;
    const void *const *inputs;
    void *const *outputs;
    float *scratch;
};

/* Where one thread finds everything. */
struct bound {
    const float *x, *scale, *bias;
    const void *before[PROGRAM_LEAVES], *behind[PROGRAM_LEAVES];
    float *behind_outputs[PROGRAM_OUTPUTS];
    float *places[MAX_PLACES];
};

static void normalize(const struct rows *rows, const struct bound *b, float *to, const float *from,
                      int64_t row)
{
    const struct reading *r = &rows->r;
    int64_t channel;
    switch (r->middle) {
    case SOFTMAX:
        rows->kernels->softmax(to, from, r->count);
        break;
    case LOG_SOFTMAX:
        rows->kernels->log_softmax(to, from, r->count);
        break;
    case LAYER_NORM:
        rows->kernels->layer_norm(to, from, r->count, r->epsilon, b->scale, b->bias);
        break;
    case RMS_NORM:
        rows->kernels->rms_norm(to, from, r->count, r->epsilon, b->scale, b->bias);
        break;
    case GROUP_NORM:
    case INSTANCE_NORM:
        channel = row % r->groups * r->channels;
        rows->kernels->group_norm(to, from, r->channels, r->size, r->epsilon, b->scale + channel,
                                  b->bias + channel);
        break;
    case MIDDLES:
        break;
    }
}

static void run_row(const struct job *job, struct bound *b, float *buffers, int64_t row)
{
    const struct rows *rows = job->rows;
    const struct reading *r = &rows->r;
    const float *x = b->x ? b->x + row * r->count : NULL;
    for (uint32_t k = 0; k < r->place_count; k++) {
        const struct place *place = &r->places[k];
        b->places[k] = buffers + place->buffer;
        if (place->output >= 0)
            b->places[k] = (float *)job->outputs[place->output] + row * r->count;
        if (place->value == r->x)
            x = b->places[k];
    }
    if (r->has_before)
        program_run(&r->before, rows->programs, b->before, b->places, row * r->before.tiles,
                    (row + 1) * r->before.tiles);
    normalize(rows, b, b->places[r->place_count - 1], x, row);
    if (!r->has_behind)
        return;
    for (uint32_t l = 0; l < r->behind.leaf_count; l++) {
        if (rows->behind_places[l] >= 0)
            b->behind[l] = b->places[rows->behind_places[l]];
    }
    program_run(&r->behind, rows->programs, b->behind, b->behind_outputs, row * r->behind.tiles,
                (row + 1) * r->behind.tiles);
}

static void body(void *context, int32_t thread, int32_t threads)
{
    const struct job *job = context;
    const struct rows *rows = job->rows;
    const struct reading *r = &rows->r;
    struct bound b = { 0 };
    int64_t begin, end;
    if (r->x_is_outside)
        b.x = operand_address(&rows->x, job->inputs);
    if (r->scale != COLLAGE_NO_VALUE)
        b.scale = operand_address(&rows->scale, job->inputs);
    if (r->bias != COLLAGE_NO_VALUE)
        b.bias = operand_address(&rows->bias, job->inputs);
    for (uint32_t l = 0; l < r->before.leaf_count; l++)
        b.before[l] = operand_address(&rows->before[l], job->inputs);
    for (uint32_t l = 0; l < r->behind.leaf_count; l++) {
        if (rows->behind_places[l] < 0)
            b.behind[l] = operand_address(&rows->behind[l], job->inputs);
    }
    for (uint32_t k = 0; k < r->behind_count; k++)
        b.behind_outputs[k] = job->outputs[rows->behind_outputs[k]];
    pool_share(r->rows, thread, threads, &begin, &end);
    for (int64_t row = begin; row < end; row++)
        run_row(job, &b, job->scratch + thread * r->buffer_floats, row);
}

static void run(const collage_kernel *kernel, const void *const *inputs, void *const *outputs,
                void *scratch)
{
    struct job job = { kernel->state, inputs, outputs, scratch };
    pool_run(&kernel->backend->pool, kernel->threads, body, &job);
}

static void destroy(collage_kernel *kernel)
{
    free(kernel->state);
}

extern const struct family rows_family;
const struct family rows_family = {
    .name = "rows", .takes = takes, .compile = compile, .run = run, .destroy = destroy
};
