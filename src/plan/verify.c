/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds in every plan. A plan may come from a file of unknown origin, so nothing is taken for
 * granted: first ids and sizes, then who writes what, then the run is gone through step by step to
 * see that each read finds what it should, and at last that no two live pieces of memory overlap.
 */
#include "plan/lanes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/parts.h"
#include "tensor/layout.h"

struct checker {
    const struct plan *plan;
    const struct graph *graph;
    struct arena *arena;
    struct graph_uses uses;
    uint32_t *writers;   /* step of each tensor, GRAPH_NONE */
    uint32_t *covered;   /* how often each node is run or shown as a view, copies left aside */
    bool *copied;        /* some step runs the node, perhaps for itself only */
    bool *cut;           /* some result of the node is shown as a part of its input */
    bool *intact;        /* of tensors that steps write, and those that come from outside */
    uint32_t *same_root; /* the next one of those, in the same memory; GRAPH_NONE ends the list */
    uint32_t *heads;     /* at each root: the first one */
    struct plan_order order;
    uint32_t *before, *after; /* at each root: when it lives (plan_order_lives) */
    struct error *error;
};

#define WRONG(checker, ...)                                                                        \
    (error_set((checker)->error, COLLAGE_ERROR_FORMAT, "the plan is malformed: " __VA_ARGS__),     \
     false)

/* ---- tensors ---- */

static bool check_layout(struct checker *c, uint32_t index)
{
    const struct plan_tensor *t = &c->plan->tensors[index];
    const struct tensor *shape = &c->graph->values[t->value].tensor;
    struct layout_form form;
    if (!memchr(t->layout.tag, '\0', sizeof t->layout.tag))
        return WRONG(c, "the layout of tensor %u is too long", index);
    if (t->layout.tag[0] != '\0' && !layout_parse(&t->layout, shape->rank, &form))
        return WRONG(c, "tensor %u: '%s' is no layout of rank %d", index, t->layout.tag,
                     shape->rank);
    bool empty = tensor_elements(shape) == 0;
    if (t->bytes != layout_bytes(&t->layout, shape) || (t->bytes == 0) != empty)
        return WRONG(c, "tensor %u has %" PRIu64 " bytes", index, t->bytes);
    if (t->place != PLAN_ARENA && !layout_is_plain(&t->layout))
        return WRONG(c, "tensor %u is not in our memory, but has the layout '%s'", index,
                     t->layout.tag);
    return true;
}

static bool check_place(struct checker *c, uint32_t index)
{
    const struct plan_tensor *t = &c->plan->tensors[index];
    enum value_kind kind = c->graph->values[t->value].kind;
    bool ok = false;
    switch (t->place) {
    case PLAN_ARENA:
        ok = kind == VALUE_COMPUTED || t->layout.tag[0] != '\0'; /* else a reordered one */
        break;
    case PLAN_INPUT:
        ok = t->port < c->graph->input_count && c->graph->inputs[t->port] == t->value;
        break;
    case PLAN_OUTPUT:
        ok = t->port < c->graph->output_count && c->graph->outputs[t->port] == t->value;
        break;
    case PLAN_CONSTANT:
        ok = kind == VALUE_CONSTANT;
        break;
    }
    return ok || WRONG(c, "tensor %u ('%s') lies where it cannot", index,
                       c->graph->values[t->value].name);
}

static bool check_tensor(struct checker *c, uint32_t index)
{
    const struct plan_tensor *t = &c->plan->tensors[index];
    if (t->value >= c->graph->value_count)
        return WRONG(c, "tensor %u is of value %u, which does not exist", index, t->value);
    if (!check_layout(c, index))
        return false;
    if (t->shares == GRAPH_NONE)
        return check_place(c, index);
    if (t->shares >= index)
        return WRONG(c, "tensor %u shares the memory of tensor %u, which is not before it", index,
                     t->shares);
    const struct plan_tensor *other = &c->plan->tensors[t->shares];
    if (t->place != other->place || t->port != other->port)
        return WRONG(c, "tensor %u does not lie where tensor %u does, whose memory it shares",
                     index, t->shares);
    return true;
}

/* ---- steps ---- */

static bool check_step_tensors(struct checker *c, uint32_t index)
{
    const struct plan_step *step = &c->plan->steps[index];
    for (uint32_t k = 0; k < step->input_count; k++)
        if (step->inputs[k] >= c->plan->tensor_count)
            return WRONG(c, "step %u reads tensor %u, which does not exist", index,
                         step->inputs[k]);
    for (uint32_t k = 0; k < step->output_count; k++) {
        uint32_t t = step->outputs[k];
        if (t >= c->plan->tensor_count)
            return WRONG(c, "step %u writes tensor %u, which does not exist", index, t);
        enum plan_place place = c->plan->tensors[t].place;
        if (c->writers[t] != GRAPH_NONE || place == PLAN_INPUT || place == PLAN_CONSTANT)
            return WRONG(c, "step %u writes tensor %u, which it must not", index, t);
        c->writers[t] = index;
    }
    return true;
}

static bool same_values(const struct plan *plan, const uint32_t *tensors, uint32_t tensor_count,
                        const value_id *values, uint32_t value_count)
{
    if (tensor_count != value_count)
        return false;
    for (uint32_t k = 0; k < value_count; k++)
        if (plan->tensors[tensors[k]].value != values[k])
            return false;
    return true;
}

static bool check_kernel(struct checker *c, uint32_t index)
{
    const struct plan_step *step = &c->plan->steps[index];
    if (step->node_count == 0)
        return WRONG(c, "step %u has no nodes", index);
    for (uint32_t k = 0; k < step->node_count; k++) {
        node_id node = step->nodes[k];
        if (node >= c->graph->node_count || (k > 0 && node <= step->nodes[k - 1]))
            return WRONG(c, "step %u: its nodes are not ascending ids of the model's", index);
    }
    struct region region;
    if (plan_step_region(c->plan, step, c->graph, &c->uses, c->arena, &region, c->error) !=
        COLLAGE_OK)
        return false;
    if (region.own_count == 0)
        return WRONG(c, "step %u gives nothing", index);
    for (uint32_t k = 0; k < region.copy_count; k++)
        if (!region_uses(&region, c->graph, &c->uses, region.copies[k]))
            return WRONG(c, "step %u runs node %u for nothing", index, region.copies[k]);
    for (uint32_t k = 0; k < step->node_count; k++) {
        c->copied[step->nodes[k]] = true;
        if (region_covers(&region, step->nodes[k]) && c->covered[step->nodes[k]]++ > 0)
            return WRONG(c, "node %u is run more than once", step->nodes[k]);
    }
    if (!same_values(c->plan, step->inputs, step->input_count, region.inputs, region.input_count))
        return WRONG(c, "step %u does not read what its nodes read", index);
    if (!same_values(c->plan, step->outputs, step->output_count, region.outputs,
                     region.output_count))
        return WRONG(c, "step %u does not write what its nodes write", index);
    return true;
}

static bool check_move(struct checker *c, uint32_t index)
{
    const struct plan_step *step = &c->plan->steps[index];
    if (step->input_count != 1 || step->output_count != 1 || step->node_count != 0)
        return WRONG(c, "step %u does not have one input and one output", index);
    const struct plan_tensor *from = &c->plan->tensors[step->inputs[0]];
    const struct plan_tensor *to = &c->plan->tensors[step->outputs[0]];
    if (from->value != to->value)
        return WRONG(c, "step %u does not move one value", index);
    bool same = layout_equal(&from->layout, &to->layout);
    bool part = to->shares != GRAPH_NONE; /* of what else it shares, check_shares says */
    if (step->kind == PLAN_COPY ? !same || part == (to->place == PLAN_OUTPUT) : same)
        return WRONG(c, "step %u is a %s, but its layouts or places do not fit", index,
                     step->kind == PLAN_COPY ? "copy" : "reorder");
    return true;
}

/* A Concat: what it puts together lies where its result wants it. */
static bool check_join(struct checker *c, uint32_t index)
{
    const struct plan *plan = c->plan;
    const struct plan_step *step = &plan->steps[index];
    if (step->output_count != 1 || step->node_count != 0)
        return WRONG(c, "step %u does not join into one output", index);
    const struct plan_tensor *whole = &plan->tensors[step->outputs[0]];
    const struct value *value = &c->graph->values[whole->value];
    if (value->kind != VALUE_COMPUTED || !parts_is_join(c->graph, value->producer) ||
        whole->place != PLAN_ARENA)
        return WRONG(c, "step %u joins what no Concat makes", index);
    const collage_node *base = &c->graph->nodes[value->producer].base;
    uint64_t *offsets = arena_array(c->arena, base->input_count, sizeof *offsets);
    if (!offsets) {
        error_memory(c->error);
        return false;
    }
    if (!same_values(plan, step->inputs, step->input_count, base->inputs, base->input_count) ||
        !parts_join(c->graph, value->producer, &whole->layout, offsets))
        return WRONG(c, "step %u does not join what its Concat does", index);
    uint32_t root = plan_tensor_root(plan, step->outputs[0]);
    for (uint32_t k = 0; k < step->input_count; k++) {
        const struct plan_tensor *part = &plan->tensors[step->inputs[k]];
        if (!layout_equal(&part->layout, &whole->layout) ||
            plan_tensor_root(plan, step->inputs[k]) != root ||
            part->offset != whole->offset + offsets[k])
            return WRONG(c, "step %u: input %u does not lie where it should", index, k);
    }
    c->copied[value->producer] = true;
    if (c->covered[value->producer]++ > 0)
        return WRONG(c, "node %u is run more than once", value->producer);
    return true;
}

static bool check_step(struct checker *c, uint32_t index)
{
    const struct plan_step *step = &c->plan->steps[index];
    bool bare = step->kind == PLAN_COPY || step->kind == PLAN_JOIN;
    bool known = bare || step->kind == PLAN_KERNEL || step->kind == PLAN_REORDER;
    bool backend = bare ? step->backend == GRAPH_NONE : step->backend < c->plan->backend_count;
    if (!known || !backend)
        return WRONG(c, "step %u has no kind or backend", index);
    if (!check_step_tensors(c, index))
        return false;
    if (step->kind == PLAN_JOIN)
        return check_join(c, index);
    return step->kind == PLAN_KERNEL ? check_kernel(c, index) : check_move(c, index);
}

/* ---- shares ---- */

/* A tensor that no step writes and that shares memory shows what an OP_VIEW node gives. */
static bool check_view(struct checker *c, uint32_t index)
{
    const struct plan_tensor *t = &c->plan->tensors[index];
    const struct plan_tensor *shown = &c->plan->tensors[t->shares];
    node_id producer = c->graph->values[t->value].producer;
    if (c->graph->values[t->value].kind != VALUE_COMPUTED || producer >= c->graph->node_count)
        return WRONG(c, "tensor %u shares memory, but no operator makes it", index);
    const struct node *node = &c->graph->nodes[producer];
    if (!node->op || !(node->op->flags & OP_VIEW) || node->base.input_count == 0 ||
        node->base.inputs[0] != shown->value || t->bytes != shown->bytes ||
        !layout_is_plain(&t->layout) || !layout_is_plain(&shown->layout))
        return WRONG(c, "tensor %u is not a view of tensor %u", index, t->shares);
    if (c->covered[producer]++ > 0)
        return WRONG(c, "node %u is run and is also a view", producer);
    return true;
}

static bool check_in_place(struct checker *c, uint32_t index)
{
    const struct plan *plan = c->plan;
    const struct plan_step *step = &plan->steps[c->writers[index]];
    uint32_t root = plan_tensor_root(plan, index), readers = 0, writers = 0;
    bool read = false;
    for (uint32_t k = 0; k < step->input_count; k++) {
        readers += plan_tensor_root(plan, step->inputs[k]) == root;
        read = read || step->inputs[k] == plan->tensors[index].shares;
    }
    for (uint32_t k = 0; k < step->output_count; k++)
        writers += plan_tensor_root(plan, step->outputs[k]) == root;
    if (step->kind != PLAN_KERNEL || !read || readers != 1 || writers != 1 ||
        plan->tensors[root].place != PLAN_ARENA ||
        plan->tensors[root].bytes < plan->tensors[index].bytes)
        return WRONG(c, "tensor %u cannot be made in the memory of tensor %u", index,
                     plan->tensors[index].shares);
    return true;
}

/* A part that no step writes shows what Split or Slice gives; a node may give several. */
static bool check_cut(struct checker *c, uint32_t index)
{
    const struct plan_tensor *t = &c->plan->tensors[index];
    node_id producer = c->graph->values[t->value].producer;
    if (c->graph->values[t->value].kind != VALUE_COMPUTED || !parts_is_cut(c->graph, producer))
        return WRONG(c, "tensor %u is not a part of tensor %u", index, t->shares);
    bool first = !c->cut[producer];
    c->cut[producer] = true;
    if (first && c->covered[producer]++ > 0)
        return WRONG(c, "node %u is run and is also a view", producer);
    return true;
}

/* What lies in memory that another tensor has lies where the graph says. */
static bool check_shared(struct checker *c, uint32_t index)
{
    const struct plan *plan = c->plan;
    const struct plan_tensor *t = &plan->tensors[index];
    const struct plan_tensor *whole = &plan->tensors[t->shares];
    bool part, written = c->writers[index] != GRAPH_NONE;
    uint64_t offset = plan_share_offset(plan, c->graph, c->writers, index, &part);
    if (t->place == PLAN_ARENA && t->offset != whole->offset + offset)
        return WRONG(c, "tensor %u lies elsewhere than in tensor %u", index, t->shares);
    if (part && t->place != PLAN_ARENA)
        return WRONG(c, "tensor %u is a part of what is not in our memory", index);
    if (part)
        return written || check_cut(c, index);
    return written ? check_in_place(c, index) : check_view(c, index);
}

static bool check_shares(struct checker *c, uint32_t index)
{
    const struct plan_tensor *t = &c->plan->tensors[index];
    bool written = c->writers[index] != GRAPH_NONE;
    if (t->shares != GRAPH_NONE)
        return check_shared(c, index);
    if (!written && (t->place == PLAN_ARENA || t->place == PLAN_OUTPUT))
        return WRONG(c, "no step writes tensor %u", index);
    return true;
}

static bool check_outputs(struct checker *c)
{
    for (uint32_t port = 0; port < c->graph->output_count; port++) {
        uint32_t found = 0;
        for (uint32_t t = 0; t < c->plan->tensor_count; t++)
            found += c->plan->tensors[t].place == PLAN_OUTPUT && c->plan->tensors[t].port == port &&
                     c->plan->tensors[t].shares == GRAPH_NONE;
        if (found != 1)
            return WRONG(c, "output %u of the model is written %u times", port, found);
    }
    return true;
}

/* Where all who need a node's results have copies of it, it is not run by itself. */
static bool check_cover(struct checker *c)
{
    for (size_t n = 0; n < c->graph->node_count; n++)
        if (c->covered[n] != 1 && !c->copied[n])
            return WRONG(c, "node %zu ('%s') is not run", n, c->graph->nodes[n].base.name);
    return true;
}

/* ---- the run ---- */

/* Lists, for each root, what is written in its memory. */
static void list_written(struct checker *c)
{
    const struct plan *plan = c->plan;
    memset(c->heads, 0xff, plan->tensor_count * sizeof *c->heads); /* GRAPH_NONE */
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        uint32_t root = plan_tensor_root(plan, t);
        enum plan_place place = plan->tensors[t].place;
        c->intact[t] = plan->tensors[t].shares == GRAPH_NONE &&
                       (place == PLAN_INPUT || place == PLAN_CONSTANT);
        if (c->writers[t] == GRAPH_NONE)
            continue;
        c->same_root[t] = c->heads[root];
        c->heads[root] = t;
    }
}

/* Have they bytes in common, both being of one root? */
static bool meet(const struct checker *c, uint32_t a, uint32_t b)
{
    const struct plan_tensor *ta = &c->plan->tensors[a], *tb = &c->plan->tensors[b];
    return ta->place != PLAN_ARENA ||
           (ta->offset < tb->offset + tb->bytes && tb->offset < ta->offset + ta->bytes);
}

/* A step writes the tensor: what lay there is gone. What is joined is there already. */
static bool write(struct checker *c, uint32_t step_index, uint32_t tensor)
{
    const struct plan *plan = c->plan;
    const struct plan_step *step = &plan->steps[step_index];
    uint32_t root = plan_tensor_root(plan, tensor);
    bool join = step->kind == PLAN_JOIN;
    for (uint32_t k = 0; k < step->input_count && !join; k++)
        if (plan_tensor_root(plan, step->inputs[k]) == root &&
            step->inputs[k] != plan->tensors[tensor].shares && meet(c, step->inputs[k], tensor))
            return WRONG(c, "step %u writes '%s' over what it reads", step_index,
                         c->graph->values[plan->tensors[tensor].value].name);
    for (uint32_t o = c->heads[root]; o != GRAPH_NONE && !join; o = c->same_root[o])
        if (meet(c, tensor, o))
            c->intact[o] = false;
    c->intact[tensor] = true;
    return true;
}

/* Goes through the run: what each step reads must have been written and not yet be overwritten. */
static bool check_run(struct checker *c)
{
    const struct plan *plan = c->plan;
    list_written(c);
    for (uint32_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        for (uint32_t k = 0; k < step->input_count; k++) {
            if (!c->intact[plan_tensor_owner(plan, c->writers, step->inputs[k])])
                return WRONG(c, "step %u reads '%s' before it is written or after it is gone", s,
                             c->graph->values[plan->tensors[step->inputs[k]].value].name);
        }
        for (uint32_t k = 0; k < step->output_count; k++) {
            if (!write(c, s, step->outputs[k]))
                return false;
        }
    }
    return true;
}

/* ---- memory ---- */

static bool overlap(const struct checker *c, uint32_t a, uint32_t b)
{
    const struct plan_tensor *ta = &c->plan->tensors[a], *tb = &c->plan->tensors[b];
    const uint32_t lanes = c->order.lanes;
    const uint32_t *after_a = c->after + (size_t)a * lanes, *after_b = c->after + (size_t)b * lanes;
    return !plan_order_is_over(after_a, c->before + (size_t)b * lanes, lanes) &&
           !plan_order_is_over(after_b, c->before + (size_t)a * lanes, lanes) &&
           ta->offset < tb->offset + tb->bytes && tb->offset < ta->offset + ta->bytes;
}

static bool check_memory(struct checker *c)
{
    const struct plan *plan = c->plan;
    const size_t cells = (size_t)plan->tensor_count * c->order.lanes;
    uint32_t *live = arena_array(c->arena, plan->tensor_count, sizeof *live);
    c->before = arena_array(c->arena, cells, sizeof *c->before);
    c->after = arena_array(c->arena, cells, sizeof *c->after);
    if (!live || !c->before || !c->after) {
        error_memory(c->error);
        return false;
    }
    plan_order_lives(plan, &c->order, c->before, c->after);
    uint32_t count = 0;
    for (uint32_t t = 0; t < plan->tensor_count; t++) {
        const struct plan_tensor *tensor = &plan->tensors[t];
        if (tensor->place != PLAN_ARENA || tensor->shares != GRAPH_NONE || tensor->bytes == 0)
            continue;
        if (tensor->offset % 64 != 0 || tensor->offset > plan->arena_bytes ||
            tensor->bytes > plan->arena_bytes - tensor->offset)
            return WRONG(c, "tensor %u lies outside the memory", t);
        for (uint32_t k = 0; k < count; k++)
            if (overlap(c, live[k], t))
                return WRONG(c, "tensors %u and %u overlap", live[k], t);
        live[count++] = t;
    }
    return true;
}

static bool check_lanes(struct checker *c)
{
    const struct plan *plan = c->plan;
    if (plan->lanes == 0)
        return true;
    if (plan->standalone || plan->lanes == 1 || plan->lanes > PLAN_MOST_LANES ||
        (int64_t)plan->lanes > plan->threads)
        return WRONG(c, "%u lanes of %d threads", plan->lanes, plan->threads);
    for (uint32_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].lane != PLAN_WIDE && plan->steps[s].lane >= plan->lanes)
            return WRONG(c, "step %u is of lane %u, which does not exist", s, plan->steps[s].lane);
    return true;
}

static bool check_all(struct checker *c)
{
    const struct plan *plan = c->plan;
    memset(c->writers, 0xff, plan->tensor_count * sizeof *c->writers); /* GRAPH_NONE */
    for (uint32_t k = 0; k < plan->backend_count; k++)
        if (!plan->backends[k].name || plan->backends[k].name[0] == '\0')
            return WRONG(c, "backend %u has no name", k);
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        if (!check_tensor(c, t))
            return false;
    for (uint32_t s = 0; s < plan->step_count; s++)
        if (!check_step(c, s))
            return false;
    for (uint32_t t = 0; t < plan->tensor_count; t++)
        if (!check_shares(c, t))
            return false;
    if (plan->standalone && (plan->step_count != 1 || plan->steps[0].kind != PLAN_KERNEL ||
                             plan->steps[0].node_count != c->graph->node_count))
        return WRONG(c, "%u steps, but one library should run the whole model", plan->step_count);
    if (!check_lanes(c) || !check_cover(c) || !check_outputs(c) || !check_run(c))
        return false;
    return plan_order_create(plan, &c->order, c->error) == COLLAGE_OK && check_memory(c);
}

collage_status plan_verify(const struct plan *plan, const struct graph *graph, struct error *error)
{
    struct error own = { 0 };
    struct checker c = { .plan = plan, .graph = graph, .arena = arena_create(), .error = &own };
    if (c.arena && graph_uses_build(graph, &c.uses, &own) == COLLAGE_OK) {
        c.writers = arena_array(c.arena, plan->tensor_count, sizeof *c.writers);
        c.intact = arena_array(c.arena, plan->tensor_count, sizeof *c.intact);
        c.same_root = arena_array(c.arena, plan->tensor_count, sizeof *c.same_root);
        c.heads = arena_array(c.arena, plan->tensor_count, sizeof *c.heads);
        c.covered = arena_array(c.arena, graph->node_count, sizeof *c.covered);
        c.copied = arena_array(c.arena, graph->node_count, sizeof *c.copied);
        c.cut = arena_array(c.arena, graph->node_count, sizeof *c.cut);
    }
    if (!c.writers || !c.intact || !c.same_root || !c.heads || !c.covered || !c.copied || !c.cut)
        error_memory(&own);
    else
        check_all(&c);
    plan_order_free(&c.order);
    graph_uses_free(&c.uses);
    arena_destroy(c.arena);
    return own.status == COLLAGE_OK ? COLLAGE_OK : error_set(error, own.status, "%s", own.text);
}
