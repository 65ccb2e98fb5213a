/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/placement_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const char header[] = "post_dfs_order,annotation";
static const char view_name[] = "view";

enum { LINE_BYTES = 512, PATTERN_BYTES = 160, MOST_BYTES = 64 << 20 };

/* ---- the numbers of the nodes ---- */

struct numberer {
    const struct graph *graph;
    uint32_t *next; /* node by node: the operand that is looked at next */
    bool *seen;
    node_id *stack, *by_number;
    uint32_t count;
};

static void number_from(struct numberer *numberer, node_id first)
{
    const struct graph *graph = numberer->graph;
    uint32_t depth = 0;
    if (numberer->seen[first])
        return;
    numberer->seen[first] = true;
    numberer->stack[depth++] = first;
    while (depth > 0) {
        node_id node = numberer->stack[depth - 1];
        const collage_node *base = &graph->nodes[node].base;
        if (numberer->next[node] == base->input_count) {
            numberer->by_number[numberer->count++] = node;
            depth--;
            continue;
        }
        value_id v = base->inputs[numberer->next[node]++];
        if (v == GRAPH_NONE || graph->values[v].kind != VALUE_COMPUTED ||
            numberer->seen[graph->values[v].producer])
            continue;
        numberer->seen[graph->values[v].producer] = true;
        numberer->stack[depth++] = graph->values[v].producer;
    }
}

/* The node of each number, in `arena`; NULL if out of memory. Nodes that lead to no output come
 * last. */
static node_id *number_nodes(const struct graph *graph, struct arena *arena)
{
    size_t nodes = graph->node_count;
    struct numberer numberer = { .graph = graph,
                                 .next = arena_array(arena, nodes, sizeof(uint32_t)),
                                 .seen = arena_array(arena, nodes, sizeof(bool)),
                                 .stack = arena_array(arena, nodes, sizeof(node_id)),
                                 .by_number = arena_array(arena, nodes, sizeof(node_id)) };
    if (!numberer.next || !numberer.seen || !numberer.stack || !numberer.by_number)
        return NULL;
    for (uint32_t k = 0; k < graph->output_count; k++)
        if (graph->values[graph->outputs[k]].kind == VALUE_COMPUTED)
            number_from(&numberer, graph->values[graph->outputs[k]].producer);
    for (node_id n = 0; n < nodes; n++)
        number_from(&numberer, n);
    return numberer.by_number;
}

/* ---- writing ---- */

/* Computed by those only that need it: a node without a line, as there is no one group of it. */
#define LEFT_OUT (GRAPH_NONE - 1)

/* What is written of the steps. */
struct groups {
    uint32_t *step_of; /* node by node: GRAPH_NONE: a view */
    uint32_t *numbers; /* step by step */
    bool *copying;     /* step by step: it runs more than its group */
};

static collage_status find_groups(const struct plan *plan, const struct graph *graph,
                                  struct arena *arena, struct groups *out, struct error *error)
{
    struct graph_uses uses;
    collage_status status = graph_uses_build(graph, &uses, error);
    if (status)
        return status;
    out->step_of = arena_array(arena, graph->node_count, sizeof *out->step_of);
    out->numbers = arena_array(arena, plan->step_count, sizeof *out->numbers);
    out->copying = arena_array(arena, plan->step_count, sizeof *out->copying);
    uint32_t count = 0;
    if (!out->step_of || !out->numbers || !out->copying)
        status = error_memory(error);
    else
        memset(out->step_of, 0xff, graph->node_count * sizeof *out->step_of); /* GRAPH_NONE */
    for (uint32_t s = 0; s < plan->step_count && !status; s++) {
        const struct plan_step *step = &plan->steps[s];
        struct region region = { 0 };
        if (step->node_count > 0)
            status = plan_step_region(plan, step, graph, &uses, arena, &region, error);
        for (uint32_t k = 0; k < region.copy_count && !status; k++)
            if (out->step_of[region.copies[k]] == GRAPH_NONE)
                out->step_of[region.copies[k]] = LEFT_OUT;
        for (uint32_t k = 0; k < region.own_count && !status; k++)
            out->step_of[region.own[k]] = s;
        out->copying[s] = region.copy_count > 0;
        out->numbers[s] = count;
        count += step->node_count > 0;
    }
    graph_uses_free(&uses);
    return status;
}

static void put_nodes(const struct plan *plan, const struct graph *graph, const node_id *by_number,
                      const struct groups *groups, struct text *out)
{
    const uint32_t *step_of = groups->step_of;
    uint32_t views = plan->step_count; /* numbers that no step has */
    for (uint32_t number = 0; number < graph->node_count; number++) {
        node_id node = by_number[number];
        if (step_of[node] == LEFT_OUT)
            continue;
        if (step_of[node] == GRAPH_NONE) {
            text_format(out, "%u,%u-%s_%s\n", number, views++, view_name,
                        graph->nodes[node].base.op_type);
            continue;
        }
        const struct plan_step *step = &plan->steps[step_of[node]];
        char pattern[PATTERN_BYTES];
        plan_step_describe(step, graph, pattern, sizeof pattern);
        bool named = !groups->copying[step_of[node]];
        text_format(out, "%u,%u-%s%s%s\n", number, groups->numbers[step_of[node]],
                    plan->backends[step->backend].name, named ? "_" : "", named ? pattern : "");
    }
}

collage_status placement_log_write(const struct plan *plan, const struct graph *graph,
                                   struct text *out, struct error *error)
{
    struct arena *arena = arena_create();
    if (!arena)
        return error_memory(error);
    node_id *by_number = number_nodes(graph, arena);
    struct groups groups = { 0 };
    collage_status status =
        by_number ? find_groups(plan, graph, arena, &groups, error) : error_memory(error);
    if (status == COLLAGE_OK) {
        text_format(out, "%s\n", header);
        put_nodes(plan, graph, by_number, &groups, out);
    }
    arena_destroy(arena);
    return status == COLLAGE_OK && out->failed ? error_memory(error) : status;
}

/* ---- reading ---- */

struct log_reader {
    const char *path;
    struct pins *pins;
    struct arena *arena;
    const node_id *by_number;
    bool *seen;            /* number by number */
    const char **patterns; /* group by group; NULL: not said */
    size_t line;
    struct error *error;
};

#define WRONG(reader, ...)                                                                         \
    wrong_line(reader, error_set((reader)->error, COLLAGE_ERROR_FORMAT, __VA_ARGS__))

/* What is wrong stands in the error: says where. */
static collage_status wrong_line(const struct log_reader *reader, collage_status status)
{
    error_prefix(reader->error, "'%s' line %zu", reader->path, reader->line);
    return status;
}

/* A number of digits only, up to `end`, which it must reach; false if it is none. */
static bool take_number(const char *text, char end, uint32_t *number, const char **rest)
{
    char *stop;
    errno = 0;
    unsigned long value = strtoul(text, &stop, 10);
    if (text[0] < '0' || text[0] > '9' || *stop != end || errno || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    *rest = stop + 1;
    return true;
}

/* Is the text that name, alone or before '_'? */
static bool begins_with(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == '_');
}

/* "onednn_Conv+Relu": the longest name of a backend that it begins with, and what is behind it. */
static bool take_backend(const struct registry *registry, const char *text, uint32_t *backend,
                         const char **pattern)
{
    const char *name = NULL;
    for (uint32_t b = 0; b < registry->count; b++)
        if (begins_with(text, registry->entries[b].name) &&
            (!name || strlen(registry->entries[b].name) > strlen(name))) {
            name = registry->entries[b].name;
            *backend = b;
        }
    if (!name && begins_with(text, view_name)) {
        name = view_name;
        *backend = PINS_VIEW;
    }
    if (!name)
        return false;
    *pattern = text + strlen(name);
    *pattern += **pattern == '_';
    return true;
}

static collage_status note_pattern(struct log_reader *reader, uint32_t group, const char *pattern)
{
    if (pattern[0] == '\0')
        return COLLAGE_OK;
    const char **there = &reader->patterns[group];
    if (*there && strcmp(*there, pattern) != 0)
        return WRONG(reader, "group %u was '%.60s' before, and is '%.60s' here",
                     reader->pins->groups[group].number, *there, pattern);
    if (!*there)
        *there = arena_string(reader->arena, pattern);
    return *there ? COLLAGE_OK : error_memory(reader->error);
}

/* "12,3-onednn_Conv+Relu", the annotation perhaps in quotes. */
static collage_status read_row(struct log_reader *reader, char *line)
{
    const struct graph *graph = reader->pins->graph;
    uint32_t number, id, backend, group;
    const char *annotation, *rest, *pattern;
    if (!take_number(line, ',', &number, &annotation))
        return WRONG(reader, "'%.60s' is not a number, a comma and an annotation", line);
    size_t length = strlen(annotation);
    if (length > 1 && annotation[0] == '"' && annotation[length - 1] == '"') {
        line[(size_t)(annotation - line) + length - 1] = '\0';
        annotation++;
    }
    if (!take_number(annotation, '-', &id, &rest))
        return WRONG(reader, "'%.60s' is not GROUP-BACKEND_PATTERN", annotation);
    if (!take_backend(reader->pins->registry, rest, &backend, &pattern))
        return WRONG(reader, "'%.60s' does not begin with a backend; `collage backends` lists them",
                     rest);
    if (number >= graph->node_count)
        return WRONG(reader, "there is no node %u: the model has %zu", number, graph->node_count);
    if (reader->seen[number])
        return WRONG(reader, "node %u has a line before", number);
    reader->seen[number] = true;
    collage_status status = pins_add_to_group(reader->pins, id, backend, reader->by_number[number],
                                              &group, reader->error);
    if (status)
        return wrong_line(reader, status);
    return note_pattern(reader, group, pattern);
}

/* Calls for every line that is not empty, without its end. */
static collage_status read_lines(struct log_reader *reader, const char *bytes, size_t count)
{
    char line[LINE_BYTES];
    collage_status status = COLLAGE_OK;
    bool begun = false;
    for (size_t at = 0; at < count && !status;) {
        const char *end = memchr(bytes + at, '\n', count - at);
        size_t length = end ? (size_t)(end - bytes) - at : count - at;
        reader->line++;
        if (length >= sizeof line || memchr(bytes + at, '\0', length))
            return WRONG(reader, "this is no line of text of at most %d bytes", LINE_BYTES - 1);
        memcpy(line, bytes + at, length);
        at += length + 1;
        if (length > 0 && line[length - 1] == '\r')
            length--;
        line[length] = '\0';
        if (!begun && strcmp(line, header) != 0)
            return WRONG(reader, "the first line must be '%s'", header);
        if (begun && length > 0)
            status = read_row(reader, line);
        begun = true;
    }
    if (!begun)
        return error_set(reader->error, COLLAGE_ERROR_FORMAT, "'%s' is empty", reader->path);
    return status;
}

/* The operators of each group are those that its pattern says. */
static collage_status check_patterns(const struct log_reader *reader)
{
    const struct pins *pins = reader->pins;
    node_id *nodes = arena_array(reader->arena, pins->graph->node_count, sizeof *nodes);
    if (!nodes)
        return error_memory(reader->error);
    for (uint32_t g = 0; g < pins->group_count; g++) {
        char found[PATTERN_BYTES];
        const struct plan_step step = { .kind = PLAN_KERNEL,
                                        .nodes = nodes,
                                        .node_count = pins->groups[g].node_count };
        pins_list(pins, g, nodes);
        plan_step_describe(&step, pins->graph, found, sizeof found);
        if (reader->patterns[g] && strcmp(reader->patterns[g], found) != 0)
            return error_set(reader->error, COLLAGE_ERROR_FORMAT,
                             "'%s': group %u is '%.80s' there, but its nodes are %s: the file is "
                             "of another model, or some of the group's nodes are missing",
                             reader->path, pins->groups[g].number, reader->patterns[g], found);
    }
    return COLLAGE_OK;
}

static collage_status read_log(struct log_reader *reader, const struct mapping *file)
{
    size_t nodes = reader->pins->graph->node_count;
    reader->by_number = number_nodes(reader->pins->graph, reader->arena);
    reader->seen = arena_array(reader->arena, nodes, sizeof *reader->seen);
    reader->patterns = arena_array(reader->arena, nodes, sizeof *reader->patterns);
    if (!reader->by_number || !reader->seen || !reader->patterns)
        return error_memory(reader->error);
    if (file->bytes > MOST_BYTES)
        return error_set(reader->error, COLLAGE_ERROR_FORMAT, "'%s' is too large for a placement",
                         reader->path);
    collage_status status = read_lines(reader, file->data, file->bytes);
    return status ? status : check_patterns(reader);
}

collage_status placement_log_read(const char *path, struct pins *pins, struct error *error)
{
    struct mapping file;
    struct error own = { 0 }; /* so that there is one to say the line in */
    collage_status status = file_map(path, &file, &own);
    if (!status) {
        struct log_reader reader = {
            .path = path, .pins = pins, .arena = arena_create(), .error = &own
        };
        status = reader.arena ? read_log(&reader, &file) : error_memory(&own);
        arena_destroy(reader.arena);
        file_unmap(&file);
    }
    return status ? error_set(error, status, "%s", own.text) : COLLAGE_OK;
}
