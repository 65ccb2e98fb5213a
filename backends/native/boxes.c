/* SPDX-License-Identifier: Apache-2.0 */
#include "boxes.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT_FLOATS = 8192, COLUMN_FLOATS = 16384, TURN_ROWS = 16 };

bool boxes_describe(const collage_value *value, enum boxes_layout layout, int64_t block,
                    struct boxes_tensor *out)
{
    if (value->rank > BOXES_AXES || (layout != BOXES_PLAIN && (value->rank < 3 || value->rank > 5)))
        return false;
    *out = (struct boxes_tensor){ .rank = value->rank, .blocked = -1, .block = 1 };
    int64_t stride = 1;
    if (layout == BOXES_LAST) {
        out->stride[1] = 1;
        stride = value->dims[1];
    } else if (layout == BOXES_BLOCKED) {
        out->blocked = 1;
        out->block = stride = block;
    }
    for (int32_t d = value->rank - 1; d >= 0; d--) {
        int64_t count = value->dims[d];
        out->dims[d] = count;
        if (layout == BOXES_LAST && d == 1)
            continue;
        out->stride[d] = stride;
        stride *= d == out->blocked ? (count + block - 1) / block : count;
    }
    return true;
}

void boxes_tag(enum boxes_layout layout, int32_t rank, int64_t block, collage_layout *out)
{
    int32_t length = 0;
    out->tag[0] = 0;
    if (layout == BOXES_PLAIN || rank > 5)
        return;
    for (int32_t place = 0; place < rank; place++) {
        int32_t axis = place;
        if (layout == BOXES_LAST && place > 0)
            axis = place == rank - 1 ? 1 : place + 1;
        out->tag[length++] = (char)((layout == BOXES_BLOCKED && axis == 1 ? 'A' : 'a') + axis);
    }
    out->tag[length] = 0;
    if (layout == BOXES_BLOCKED)
        snprintf(out->tag + length, sizeof out->tag - (size_t)length, "%db", (int)block);
}

/* ---- one box ---- */

static void add_dim(struct move_box *box, int64_t count, int64_t from, int64_t to)
{
    if (count == 1 || box->rank >= MOVE_RANK)
        return; /* the axes of two tensors never make more */
    box->count[box->rank] = count;
    box->from[box->rank] = from;
    box->to[box->rank++] = to;
}

static void swap_dims(struct move_box *box, int32_t a, int32_t b)
{
    int64_t count = box->count[a], from = box->from[a], to = box->to[a];
    box->count[a] = box->count[b];
    box->from[a] = box->from[b];
    box->to[a] = box->to[b];
    box->count[b] = count;
    box->from[b] = from;
    box->to[b] = to;
}

/* The target's order; neighbours that are one dimension become it. */
static void merge_dims(struct move_box *box)
{
    for (int32_t d = 1; d < box->rank; d++)
        for (int32_t e = d; e > 0 && box->to[e - 1] < box->to[e]; e--)
            swap_dims(box, e - 1, e);
    int32_t kept = 0;
    for (int32_t d = 1; d < box->rank; d++) {
        if (box->to[kept] == box->to[d] * box->count[d] &&
            box->from[kept] == box->from[d] * box->count[d]) {
            box->count[kept] *= box->count[d];
            box->from[kept] = box->from[d];
            box->to[kept] = box->to[d];
        } else {
            kept++;
            box->count[kept] = box->count[d];
            box->from[kept] = box->from[d];
            box->to[kept] = box->to[d];
        }
    }
    box->rank = box->rank ? kept + 1 : 0;
}

/* At least rows and columns: dimensions of one are put in front. */
static void pad_dims(struct move_box *box)
{
    while (box->rank < 2) {
        int32_t r = box->rank++;
        box->count[r] = 1;
        box->from[r] = box->to[r] = 1;
        if (r > 0)
            swap_dims(box, 0, r);
    }
}

static enum move_form form_of(struct move_box *box)
{
    int32_t row = box->rank - 2, column = box->rank - 1;
    if (box->form == MOVE_FILL)
        return MOVE_FILL;
    if (box->to[column] != 1 && box->count[column] > 1)
        return MOVE_ANY;
    if (box->from[column] == 1 || box->count[column] == 1)
        return MOVE_RUN;
    if (box->from[column] == 0 && box->from[row] == 1 && box->to[row] == box->count[column])
        return MOVE_REPEAT;
    for (int32_t d = row; d >= 0; d--) {
        if (box->from[d] != 1 || box->count[d] == 1)
            continue;
        for (int32_t k = d; k < row; k++)
            swap_dims(box, k, k + 1);
        return MOVE_TURN;
    }
    return MOVE_ANY;
}

static void count_units(struct move_box *box)
{
    int64_t rows = box->count[box->rank - 2], columns = box->count[box->rank - 1];
    box->outer = 1;
    for (int32_t d = 0; d < box->rank - 2; d++)
        box->outer *= box->count[d];
    box->chunk_columns = box->form == MOVE_TURN || columns <= COLUMN_FLOATS ? columns : UNIT_FLOATS;
    box->chunk_rows = UNIT_FLOATS / box->chunk_columns;
    if (box->form == MOVE_TURN)
        box->chunk_rows = (box->chunk_rows + TURN_ROWS - 1) / TURN_ROWS * TURN_ROWS;
    if (box->chunk_rows < 1)
        box->chunk_rows = 1;
    box->places = 1;
    if (rows * columns < UNIT_FLOATS / 2 && box->outer > 1) {
        box->places = UNIT_FLOATS / (rows * columns);
        box->row_chunks = box->column_chunks = 1;
        box->units = (box->outer + box->places - 1) / box->places;
        return;
    }
    box->row_chunks = (rows + box->chunk_rows - 1) / box->chunk_rows;
    box->column_chunks = (columns + box->chunk_columns - 1) / box->chunk_columns;
    box->units = box->outer * box->row_chunks * box->column_chunks;
}

static bool grow(struct boxes *boxes)
{
    if (boxes->count < boxes->capacity)
        return true;
    size_t capacity = boxes->capacity ? 2 * boxes->capacity : 8;
    struct move_box *items = realloc(boxes->items, capacity * sizeof *items);
    if (items)
        boxes->items = items;
    uint32_t *operands = realloc(boxes->operands, capacity * sizeof *operands);
    if (operands)
        boxes->operands = operands;
    uint32_t *outputs = realloc(boxes->outputs, capacity * sizeof *outputs);
    if (outputs)
        boxes->outputs = outputs;
    if (!items || !operands || !outputs)
        return false;
    boxes->capacity = capacity;
    return true;
}

static void add_box(struct boxes *boxes, const struct move_box *made, uint32_t operand,
                    uint32_t output)
{
    if (boxes->failed || !grow(boxes)) {
        boxes->failed = true;
        return;
    }
    struct move_box *box = &boxes->items[boxes->count];
    *box = *made;
    merge_dims(box);
    pad_dims(box);
    box->form = form_of(box);
    count_units(box);
    boxes->operands[boxes->count] = operand;
    boxes->outputs[boxes->count++] = output;
}

/* ---- ranges of axes ---- */

static bool is_blocked(const struct boxes_tensor *tensor, int32_t axis)
{
    return tensor && tensor->blocked == axis;
}

static int64_t place_of(const struct boxes_tensor *tensor, int32_t axis, int64_t index)
{
    if (tensor->blocked != axis)
        return index * tensor->stride[axis];
    return index / tensor->block * tensor->stride[axis] + index % tensor->block;
}

/* What one index more means inside a block, or where there are none. */
static int64_t step_of(const struct boxes_tensor *tensor, int32_t axis)
{
    return tensor->blocked == axis ? 1 : tensor->stride[axis];
}

/* Indices up to the next border of a block. */
static int64_t up_to_border(const struct boxes_tensor *tensor, int32_t axis, int64_t index)
{
    return tensor->block - (is_blocked(tensor, axis) ? index % tensor->block : 0);
}

static void add_axes(struct boxes *boxes, const struct boxes_move *move, int32_t axis,
                     const struct move_box *box);

/* `count` indices from `done` on, which cross no border of a block. */
static void add_piece(struct boxes *boxes, const struct boxes_move *move, int32_t axis,
                      const struct move_box *box, int64_t done, int64_t count)
{
    struct move_box next = *box;
    const struct boxes_range *to = &move->to_ranges[axis];
    int64_t from_step = 0;
    next.to_at += place_of(move->to, axis, to->first + done);
    if (move->from) {
        const struct boxes_range *from = &move->from_ranges[axis];
        next.from_at += place_of(move->from, move->axes[axis], from->first + done * from->step);
        from_step = step_of(move->from, move->axes[axis]) * from->step;
    }
    int64_t repeat = move->repeat ? move->repeat[axis] : 1;
    int64_t to_step = step_of(move->to, axis);
    add_dim(&next, count, from_step, to_step * repeat);
    add_dim(&next, repeat, 0, to_step);
    add_axes(boxes, move, axis + 1, &next);
}

/* Whole blocks, which both sides have or one of them only. */
static void add_blocks(struct boxes *boxes, const struct boxes_move *move, int32_t axis,
                       const struct move_box *box, int64_t done, int64_t blocks, int64_t block)
{
    struct move_box next = *box;
    int64_t from_outer = 0, from_inner = 0, to_inner = step_of(move->to, axis);
    int64_t to_outer = is_blocked(move->to, axis) ? move->to->stride[axis] : to_inner * block;
    next.to_at += place_of(move->to, axis, move->to_ranges[axis].first + done);
    if (move->from) {
        int32_t source = move->axes[axis];
        next.from_at += place_of(move->from, source, move->from_ranges[axis].first + done);
        from_inner = step_of(move->from, source);
        from_outer =
            is_blocked(move->from, source) ? move->from->stride[source] : from_inner * block;
    }
    add_dim(&next, blocks, from_outer, to_outer);
    add_dim(&next, block, from_inner, to_inner);
    add_axes(boxes, move, axis + 1, &next);
}

static void add_blocked_axis(struct boxes *boxes, const struct boxes_move *move, int32_t axis,
                             const struct move_box *box)
{
    bool to_blocked = is_blocked(move->to, axis);
    bool from_blocked = move->from && is_blocked(move->from, move->axes[axis]);
    int64_t block = to_blocked ? move->to->block : move->from->block;
    int64_t count = move->to_ranges[axis].count;
    bool alike = !to_blocked || !from_blocked || move->from->block == block;
    for (int64_t done = 0, run; done < count; done += run) {
        int64_t to_left =
            to_blocked ? up_to_border(move->to, axis, move->to_ranges[axis].first + done) : block;
        int64_t from_left = from_blocked ? up_to_border(move->from, move->axes[axis],
                                                        move->from_ranges[axis].first + done)
                                         : to_left;
        if (!to_blocked)
            to_left = from_left;
        int64_t blocks = (count - done) / block;
        if (alike && to_left == block && from_left == block && blocks > 0) {
            run = blocks * block;
            add_blocks(boxes, move, axis, box, done, blocks, block);
            continue;
        }
        run = to_left < from_left ? to_left : from_left;
        run = run < count - done ? run : count - done;
        add_piece(boxes, move, axis, box, done, run);
    }
}

/* The axes from this one on; the box has those before it. */
static void add_axes(struct boxes *boxes, const struct boxes_move *move, int32_t axis,
                     const struct move_box *box)
{
    if (axis == move->to->rank)
        add_box(boxes, box, move->operand, move->output);
    else if (is_blocked(move->to, axis) || (move->from && is_blocked(move->from, move->axes[axis])))
        add_blocked_axis(boxes, move, axis, box);
    else
        add_piece(boxes, move, axis, box, 0,
                  move->to_ranges[axis].count / (move->repeat ? move->repeat[axis] : 1));
}

void boxes_add(struct boxes *boxes, const struct boxes_move *move)
{
    struct move_box box = { .form = move->from ? MOVE_ANY : MOVE_FILL, .value = move->value };
    for (int32_t axis = 0; axis < move->to->rank; axis++) {
        if (move->to_ranges[axis].count <= 0)
            return;
    }
    add_axes(boxes, move, 0, &box);
}

void boxes_add_padding(struct boxes *boxes, const struct boxes_tensor *to, uint32_t output)
{
    if (to->blocked < 0 || to->dims[to->blocked] % to->block == 0)
        return;
    struct boxes_range ranges[BOXES_AXES];
    int64_t channels = to->dims[to->blocked];
    for (int32_t d = 0; d < to->rank; d++)
        ranges[d] = (struct boxes_range){ 0, 1, to->dims[d] };
    ranges[to->blocked] = (struct boxes_range){ channels, 1, to->block - channels % to->block };
    boxes_add(boxes, &(struct boxes_move){ .to = to, .to_ranges = ranges, .output = output });
}

void boxes_free(struct boxes *boxes)
{
    free(boxes->items);
    free(boxes->operands);
    free(boxes->outputs);
    *boxes = (struct boxes){ 0 };
}
