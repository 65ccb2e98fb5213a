/* SPDX-License-Identifier: Apache-2.0 */
#include "simd/program.h"
#include "program_operation.h"

#include <math.h>
#include <string.h>

static bool refuse(collage_message *why, const char *text)
{
    fail(why, COLLAGE_ERROR_UNSUPPORTED, "%s", text);
    return false;
}

/* ---- the space of the iteration ---- */

enum { MAX_VALUES = 128 };

struct builder {
    const struct program_request *request;
    struct program *program;
    uint32_t nodes;
    int16_t slot[MAX_VALUES];      /* -1: none yet */
    uint32_t last_use[MAX_VALUES]; /* the node, + 1 */
    bool streams[PROGRAM_SLOTS];
    uint32_t held[PROGRAM_REGISTERS]; /* value, + 1 */
    collage_message *why;
};

static const collage_value *value_at(const struct builder *b, uint32_t value)
{
    return b->request->subgraph->values[value];
}

/* The extent of a value along an axis of the outputs; 0: it does not broadcast to them. */
static int64_t extent(const struct builder *b, const collage_value *value, int32_t axis)
{
    int32_t own = axis - (b->request->rank - value->rank);
    int64_t dim = own < 0 ? 1 : value->dims[own];
    return dim == 1 || dim == b->request->dims[axis] ? dim : 0;
}

static bool fits(const struct builder *b, const collage_value *value)
{
    if (value->rank > b->request->rank)
        return false;
    for (int32_t d = 0; d < b->request->rank; d++) {
        if (extent(b, value, d) == 0)
            return false;
    }
    return true;
}

/* Of exactly the outputs' shape, but for ones in front of it. */
static bool is_full(const struct builder *b, const collage_value *value)
{
    for (int32_t d = 0; d < b->request->rank; d++) {
        if (extent(b, value, d) != b->request->dims[d])
            return false;
    }
    return true;
}

/* Which axis stands at `place` of the layout. */
static int32_t axis_at(const struct builder *b, int32_t place)
{
    if (!b->request->channels_last || place == 0)
        return place;
    return place == b->request->rank - 1 ? 1 : place + 1;
}

/* Strides of a leaf by place, without axes merged. What is full lies in the outputs' layout; all
 * else is row-major. */
static void leaf_strides(const struct builder *b, const collage_value *value, int64_t *strides)
{
    int32_t rank = b->request->rank;
    int64_t own[PROGRAM_AXES], step = 1;
    bool full = is_full(b, value);
    for (int32_t k = rank - 1; k >= 0; k--) {
        int32_t axis = full ? axis_at(b, k) : k;
        int64_t dim = extent(b, value, axis);
        own[axis] = dim == 1 ? 0 : step;
        step *= dim;
    }
    for (int32_t place = 0; place < rank; place++)
        strides[place] = own[axis_at(b, place)];
}

/* Blocked: batch, blocks of channels, and the rest with the channels of a block. */
static bool blocked_leaf(struct builder *b, struct program_leaf *leaf)
{
    const collage_value *value = value_at(b, leaf->value);
    const int64_t *dims = b->request->dims;
    int64_t channels = dims[1], inner = b->request->block;
    for (int32_t d = 2; d < b->request->rank; d++)
        inner *= dims[d];
    bool alone = true; /* nothing along the space */
    for (int32_t d = 2; d < b->request->rank; d++)
        alone = alone && extent(b, value, d) == 1;
    if (value->bytes == sizeof(float)) {
        leaf->mode = PROGRAM_SAME;
    } else if (is_full(b, value)) {
        leaf->mode = PROGRAM_STREAM;
        leaf->strides[0] = channels / b->request->block * inner;
        leaf->strides[1] = inner;
    } else if (alone && extent(b, value, 1) == channels && channels > 1) {
        leaf->mode = PROGRAM_BLOCK;
        leaf->strides[0] = extent(b, value, 0) == 1 ? 0 : channels;
        leaf->strides[1] = b->request->block;
    } else {
        return false;
    }
    leaf->strides[2] = 1;
    if (leaf->mode == PROGRAM_SAME)
        leaf->strides[2] = 0;
    return !leaf->is_bytes;
}

/* Axis k + 1 becomes a part of axis k, if no leaf minds. */
static bool merge(struct program *program, int32_t k)
{
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        const struct program_leaf *leaf = &program->leaves[l];
        int64_t next = leaf->strides[k + 1];
        bool block = leaf->mode == PROGRAM_BLOCK && k + 1 == program->outer;
        if (block || leaf->strides[k] != next * program->dims[k + 1])
            return false;
    }
    program->dims[k] *= program->dims[k + 1];
    for (int32_t d = k + 1; d < program->outer; d++)
        program->dims[d] = program->dims[d + 1];
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        struct program_leaf *leaf = &program->leaves[l];
        for (int32_t d = k; d < program->outer; d++)
            leaf->strides[d] = leaf->strides[d + 1];
    }
    program->outer--;
    return true;
}

/* Axes of extent 1 have stride 0 in all leaves: they merge into the one before them, unless it
 * comes first. */
static void drop_first_ones(struct program *program)
{
    while (program->outer > 0 && program->dims[0] == 1) {
        for (int32_t d = 0; d < program->outer; d++)
            program->dims[d] = program->dims[d + 1];
        for (uint32_t l = 0; l < program->leaf_count; l++) {
            for (int32_t d = 0; d < program->outer; d++)
                program->leaves[l].strides[d] = program->leaves[l].strides[d + 1];
        }
        program->outer--;
    }
}

/* Merges the places first ... last into as few as the leaves allow. From the inside, so that what
 * has been passed keeps its place. An axis of extent 1 merges whatever its strides are: they are
 * never used. */
static void merge_axes(struct program *program, int32_t first, int32_t last)
{
    for (int32_t k = last - 1; k >= first; k--) {
        for (uint32_t l = 0; l < program->leaf_count; l++) {
            struct program_leaf *leaf = &program->leaves[l];
            if (program->dims[k] == 1)
                leaf->strides[k] = leaf->strides[k + 1] * program->dims[k + 1];
            else if (program->dims[k + 1] == 1)
                leaf->strides[k + 1] = leaf->strides[k];
        }
        merge(program, k);
    }
}

static bool lay_out(struct builder *b)
{
    const struct program_request *request = b->request;
    struct program *program = b->program;
    program->outer = request->rank > 0 ? request->rank - 1 : 0;
    program->dims[0] = 1;
    for (int32_t k = 0; k < request->rank; k++)
        program->dims[k] = request->dims[axis_at(b, k)];
    if (request->block) {
        program->outer = 2;
        program->dims[0] = request->dims[0];
        program->dims[1] = request->dims[1] / request->block;
        program->dims[2] = request->block;
        for (int32_t d = 2; d < request->rank; d++)
            program->dims[2] *= request->dims[d];
    }
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        struct program_leaf *leaf = &program->leaves[l];
        bool row = request->is_row && request->is_row[leaf->value];
        if (request->block && !blocked_leaf(b, leaf))
            return refuse(b->why, "an operand does not fit a blocked layout");
        if (!request->block)
            leaf_strides(b, value_at(b, leaf->value), leaf->strides);
        for (int32_t k = 0; row && k < request->row; k++)
            leaf->strides[k] = 0;
    }
    int32_t row = request->row < 0 ? 0 : request->row;
    merge_axes(program, row, program->outer);
    if (request->row >= 0 && program->outer > row)
        return refuse(b->why, "an operand broadcasts within the normalised axes");
    if (row > 0)
        merge_axes(program, 0, row - 1);
    else
        drop_first_ones(program);
    program->inner = program->dims[program->outer];
    program->tiles = (program->inner + PROGRAM_TILE - 1) / PROGRAM_TILE;
    program->units = program->tiles;
    for (int32_t k = 0; k < program->outer; k++)
        program->units *= program->dims[k];
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        struct program_leaf *leaf = &program->leaves[l];
        if (leaf->mode == PROGRAM_BLOCK)
            continue;
        int64_t stride = leaf->strides[program->outer];
        leaf->mode = stride == 0 && program->inner > 1 ? PROGRAM_SAME : PROGRAM_STREAM;
        if (stride > 1 && program->inner > 1)
            return refuse(b->why, "an operand has no layout that these kernels read");
    }
    return true;
}

/* ---- leaves and steps ---- */

static bool add_leaf(struct builder *b, uint32_t value)
{
    const struct program_request *request = b->request;
    struct program *program = b->program;
    const collage_value *info = value_at(b, value);
    if (b->slot[value] >= 0)
        return true;
    if (program->leaf_count == PROGRAM_LEAVES)
        return refuse(b->why, "too many operands");
    if (info->dtype != COLLAGE_FLOAT32 && info->dtype != COLLAGE_BOOL) {
        fail(b->why, COLLAGE_ERROR_UNSUPPORTED, "'%s' is not float32", info->name);
        return false;
    }
    if (!fits(b, info) || info->bytes == 0)
        return refuse(b->why, "an operand does not broadcast to the result");
    if (!value_is_outside(request->subgraph, value) && !(request->is_row && request->is_row[value]))
        return refuse(b->why, "the nodes do not follow one another");
    b->slot[value] = (int16_t)program->leaf_count;
    program->leaves[program->leaf_count++] =
        (struct program_leaf){ .value = value, .is_bytes = info->dtype == COLLAGE_BOOL };
    return true;
}

/* Is it made by a node of the program before node `end`? */
static bool is_made(const struct builder *b, uint32_t value, uint32_t end)
{
    for (uint32_t n = 0; n < end; n++) {
        const collage_node *node = b->request->subgraph->nodes[n];
        if (b->request->nodes[n] && node->output_count == 1 && node->outputs[0] == value)
            return true;
    }
    return false;
}

static bool collect_leaves(struct builder *b)
{
    const collage_subgraph *subgraph = b->request->subgraph;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        const collage_node *node = subgraph->nodes[n];
        struct program_step step = { 0 };
        uint32_t operands;
        if (!b->request->nodes[n])
            continue;
        if (!program_read_operation(subgraph, node, &step, &operands, b->why))
            return false;
        for (uint32_t k = 0; k < operands; k++) {
            uint32_t value = node->inputs[k];
            bool condition = step.op == PROGRAM_WHERE && k == 0;
            b->last_use[value] = n + 1;
            if (!is_made(b, value, n) && !add_leaf(b, value))
                return false;
            if ((value_at(b, value)->dtype == COLLAGE_BOOL) != condition)
                return refuse(b->why, "an operand is not float32");
        }
        const collage_value *result = value_at(b, node->outputs[0]);
        if (result->dtype != COLLAGE_FLOAT32 || !fits(b, result))
            return refuse(b->why, "a result is larger than the output, or not float32");
    }
    return true;
}

static int output_index(const struct builder *b, uint32_t value)
{
    for (uint32_t k = 0; k < b->request->output_count; k++) {
        if (b->request->outputs[k] == value)
            return (int)k;
    }
    return -1;
}

/* A register for a value; -1: there is none. */
static int take_register(struct builder *b, uint32_t value)
{
    for (int r = 0; r < PROGRAM_REGISTERS; r++) {
        if (b->held[r] == 0) {
            b->held[r] = value + 1;
            return PROGRAM_LEAVES + r;
        }
    }
    return -1;
}

/* Registers of values that no node behind n reads. */
static void release_registers(struct builder *b, uint32_t n)
{
    for (int r = 0; r < PROGRAM_REGISTERS; r++) {
        if (b->held[r] && b->last_use[b->held[r] - 1] <= n + 1)
            b->held[r] = 0;
    }
}

static bool push(struct builder *b, const struct program_step *step)
{
    if (b->program->step_count == PROGRAM_STEPS)
        return refuse(b->why, "too many operators");
    b->program->steps[b->program->step_count++] = *step;
    return true;
}

/* Bytes become floats in a register of their own, which stays held. */
static bool widen_bools(struct builder *b)
{
    for (uint32_t l = 0; l < b->program->leaf_count; l++) {
        const struct program_leaf *leaf = &b->program->leaves[l];
        b->streams[l] = leaf->mode == PROGRAM_STREAM;
        if (!leaf->is_bytes)
            continue;
        int to = take_register(b, leaf->value);
        if (to < 0)
            return refuse(b->why, "too many operands");
        struct program_step step = { .op = PROGRAM_FROM_BOOL,
                                     .to = (uint8_t)to,
                                     .from = { (uint8_t)l, (uint8_t)l, (uint8_t)l },
                                     .streams = { b->streams[l] },
                                     .is_stream = b->streams[l] };
        b->streams[to] = b->streams[l];
        b->slot[leaf->value] = (int16_t)to;
        if (!push(b, &step))
            return false;
    }
    return true;
}

static bool add_step(struct builder *b, uint32_t n)
{
    const collage_node *node = b->request->subgraph->nodes[n];
    struct program_step step = { 0 };
    uint32_t operands = 0, made = node->outputs[0];
    if (!program_read_operation(b->request->subgraph, node, &step, &operands, b->why))
        return false;
    for (uint32_t k = 0; k < PROGRAM_OPERANDS; k++) {
        int slot = b->slot[node->inputs[k < operands ? k : 0]];
        if (slot < 0)
            return refuse(b->why, "the nodes are in no order");
        step.from[k] = (uint8_t)slot;
        step.streams[k] = b->streams[slot];
        step.is_stream = step.is_stream || step.streams[k];
    }
    int output = output_index(b, made);
    int to = output >= 0 ? PROGRAM_LEAVES + PROGRAM_REGISTERS + output : take_register(b, made);
    if (to < 0)
        return refuse(b->why, "too many results at a time");
    if (output >= 0) {
        if (!is_full(b, value_at(b, made)))
            return refuse(b->why, "the outputs differ in shape");
        step.is_stream = true;
    }
    step.to = (uint8_t)to;
    b->slot[made] = (int16_t)to;
    b->streams[to] = step.is_stream;
    if (!push(b, &step))
        return false;
    release_registers(b, n);
    return true;
}

bool program_read(struct program *program, const struct program_request *request,
                  collage_message *why)
{
    struct builder b = { .request = request, .program = program, .why = why };
    const collage_subgraph *subgraph = request->subgraph;
    *program = (struct program){ .output_count = request->output_count };
    if (subgraph->value_count > MAX_VALUES || request->rank > PROGRAM_AXES ||
        request->output_count == 0 || request->output_count > PROGRAM_OUTPUTS)
        return refuse(why, "too many values, axes or outputs");
    memset(b.slot, -1, sizeof b.slot);
    for (int32_t d = 0; d < request->rank; d++) {
        if (request->dims[d] < 1)
            return refuse(why, "there are no elements");
    }
    if (request->block && (request->rank < 3 || request->dims[1] % request->block != 0))
        return refuse(why, "the channels are no whole blocks");
    if (request->channels_last && request->rank < 3)
        return refuse(why, "there is no space behind the channels");
    if (!collect_leaves(&b) || !lay_out(&b) || !widen_bools(&b))
        return false;
    for (uint32_t n = 0; n < subgraph->node_count; n++) {
        if (request->nodes[n] && !add_step(&b, n))
            return false;
    }
    for (uint32_t k = 0; k < request->output_count; k++) {
        int slot = b.slot[request->outputs[k]];
        if (slot != PROGRAM_LEAVES + PROGRAM_REGISTERS + (int)k)
            return refuse(why, "an output is not made by these nodes");
        program->output_is_row[k] = request->is_row && request->is_row[request->outputs[k]];
    }
    return true;
}

bool program_reads_densely(const struct program *program, uint32_t value)
{
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        const struct program_leaf *leaf = &program->leaves[l];
        if (leaf->value != value)
            continue;
        int64_t dense = program->inner; /* as an output's strides are */
        if (leaf->mode != PROGRAM_STREAM || leaf->is_bytes)
            return false;
        for (int32_t k = program->outer - 1; k >= 0; k--) {
            if (leaf->strides[k] != dense && program->dims[k] > 1)
                return false;
            dense *= program->dims[k];
        }
    }
    return true;
}

bool program_reads(const struct program *program, uint32_t value)
{
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        if (program->leaves[l].value == value)
            return true;
    }
    return false;
}

bool program_in_place(const struct program *program, uint32_t output, uint32_t value)
{
    uint32_t written = PROGRAM_STEPS, last = 0;
    const uint32_t slot = PROGRAM_LEAVES + PROGRAM_REGISTERS + output;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct program_step *step = &program->steps[s];
        written = step->to == slot ? s : written;
        for (int k = 0; k < PROGRAM_OPERANDS; k++) {
            if (step->from[k] < PROGRAM_LEAVES && program->leaves[step->from[k]].value == value)
                last = s;
        }
    }
    return written >= last && program_reads_densely(program, value);
}

bool program_split(struct program *program, int64_t count, const bool *is_row)
{
    if (program->outer != 0 || program->inner % count != 0)
        return false;
    program->outer = 1;
    program->dims[0] = program->inner / count;
    program->dims[1] = program->inner = count;
    program->tiles = (count + PROGRAM_TILE - 1) / PROGRAM_TILE;
    program->units = program->tiles * program->dims[0];
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        struct program_leaf *leaf = &program->leaves[l];
        leaf->strides[1] = leaf->strides[0];
        leaf->strides[0] = is_row[leaf->value] ? 0 : leaf->strides[1] * count;
    }
    return true;
}

/* ---- running ---- */

/* Where the tile's slots are. `same`: vectors for what stays the same. */
static void bind(const struct program *program, struct program_slots *slots,
                 const void *const *bases, float *const *outputs, int64_t row, int64_t at,
                 float (*same)[PROGRAM_LANES])
{
    int64_t coordinates[PROGRAM_AXES], rest = row;
    for (int32_t k = program->outer - 1; k > 0; k--) { /* divisions are dear: none for one axis */
        coordinates[k] = rest % program->dims[k];
        rest /= program->dims[k];
    }
    coordinates[0] = rest;
    for (uint32_t l = 0; l < program->leaf_count; l++) {
        const struct program_leaf *leaf = &program->leaves[l];
        int64_t offset = leaf->mode == PROGRAM_STREAM ? at : 0;
        for (int32_t k = 0; k < program->outer; k++)
            offset += coordinates[k] * leaf->strides[k];
        if (leaf->is_bytes) {
            const unsigned char *bytes = (const unsigned char *)bases[l] + offset;
            slots->from[l] = (const float *)(const void *)bytes;
            if (leaf->mode == PROGRAM_SAME) {
                memset(same[l], bytes[0] ? 1 : 0, sizeof same[l]);
                slots->from[l] = same[l];
            }
            continue;
        }
        slots->from[l] = (const float *)bases[l] + offset;
        if (leaf->mode == PROGRAM_SAME) {
            for (int k = 0; k < PROGRAM_LANES; k++)
                same[l][k] = *slots->from[l];
            slots->from[l] = same[l];
        }
    }
    for (uint32_t k = 0; k < program->output_count; k++) {
        uint32_t slot = PROGRAM_LEAVES + PROGRAM_REGISTERS + k;
        int64_t start = program->output_is_row[k] ? 0 : row * program->inner;
        slots->to[slot] = outputs[k] + start + at;
        slots->from[slot] = slots->to[slot];
    }
}

void program_run(const struct program *program, const struct program_kernels *kernels,
                 const void *const *bases, float *const *outputs, int64_t begin, int64_t end)
{
    _Alignas(64) float registers[PROGRAM_REGISTERS][PROGRAM_TILE];
    _Alignas(64) float same[PROGRAM_LEAVES][PROGRAM_LANES];
    struct program_slots slots;
    for (uint32_t k = 0; k < PROGRAM_REGISTERS; k++) {
        slots.to[PROGRAM_LEAVES + k] = registers[k];
        slots.from[PROGRAM_LEAVES + k] = registers[k];
    }
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t row = unit, at = 0;
        if (program->tiles > 1) {
            row = unit / program->tiles;
            at = unit % program->tiles * PROGRAM_TILE;
        }
        int64_t count = program->inner - at < PROGRAM_TILE ? program->inner - at : PROGRAM_TILE;
        bind(program, &slots, bases, outputs, row, at, same);
        kernels->tile(program, &slots, count);
    }
}
