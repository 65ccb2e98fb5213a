/* SPDX-License-Identifier: Apache-2.0 */
#include "report/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"
#include "tensor/layout.h"

/* ---- names ---- */

/* Appends to a text of fixed size; what does not fit is left out. */
static void add(char *text, size_t size, size_t *used, const char *separator, const char *word)
{
    if (*used >= size)
        return;
    int length = snprintf(text + *used, size - *used, "%s%s", separator, word);
    *used += length > 0 ? (size_t)length : 0;
}

void report_operators(const struct graph *graph, const node_id *nodes, uint32_t count, char *text,
                      size_t size)
{
    enum { SHOWN = 6 };
    size_t used = 0;
    if (size)
        text[0] = '\0';
    for (uint32_t k = 0; k < count && k <= SHOWN; k++)
        add(text, size, &used, k ? "+" : "",
            k < SHOWN ? graph->nodes[nodes[k]].base.op_type : "...");
}

void report_node_ids(const node_id *nodes, uint32_t count, char *text, size_t size)
{
    enum { SHOWN = 6 };
    size_t used = 0;
    uint32_t ranges = 0;
    if (size)
        text[0] = '\0';
    for (uint32_t k = 0, end; k < count; k = end) {
        char range[32];
        for (end = k + 1; end < count && nodes[end] == nodes[end - 1] + 1;)
            end++;
        if (ranges == SHOWN) {
            add(text, size, &used, ", ", "...");
            return;
        }
        if (end == k + 1)
            snprintf(range, sizeof range, "%" PRIu32, nodes[k]);
        else
            snprintf(range, sizeof range, "%" PRIu32 "-%" PRIu32, nodes[k], nodes[end - 1]);
        add(text, size, &used, ranges++ ? ", " : "", range);
    }
}

static bool all_plain(const collage_layout *layouts, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        if (!layout_is_plain(&layouts[k]))
            return false;
    return true;
}

static void add_layouts(char *text, size_t size, size_t *used, const collage_layout *layouts,
                        uint32_t count)
{
    enum { SHOWN = 6 };
    for (uint32_t k = 0; k < count && k <= SHOWN; k++) {
        const char *tag = layout_is_plain(&layouts[k]) ? "plain" : layouts[k].tag;
        add(text, size, used, k ? " " : "", k < SHOWN ? tag : "...");
    }
}

void report_layouts(const struct candidate *candidate, char *text, size_t size)
{
    const struct region *region = &candidate->region;
    size_t used = 0;
    if (size)
        text[0] = '\0';
    if (all_plain(candidate->input_layouts, region->input_count) &&
        all_plain(candidate->output_layouts, region->output_count)) {
        add(text, size, &used, "", "row-major");
        return;
    }
    add_layouts(text, size, &used, candidate->input_layouts, region->input_count);
    add(text, size, &used, " > ", "");
    add_layouts(text, size, &used, candidate->output_layouts, region->output_count);
}

void report_bytes(uint64_t bytes, char *text, size_t size)
{
    if (bytes == 0)
        snprintf(text, size, "-");
    else if (bytes < 1024)
        snprintf(text, size, "%u B", (unsigned)bytes);
    else if (bytes < UINT64_C(1024) * 1024)
        snprintf(text, size, "%.1f KiB", (double)bytes / 1024);
    else
        snprintf(text, size, "%.1f MiB", (double)bytes / (1024.0 * 1024));
}

/* ---- the table ---- */

struct row {
    candidate_id id;
    const struct candidate *candidate;
};

/* By backend, then the smallest first, then the fastest. */
static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left;
    const struct row *b = right;
    const struct candidate *x = a->candidate;
    const struct candidate *y = b->candidate;
    if (x->backend != y->backend)
        return x->backend < y->backend ? -1 : 1;
    if (x->region.node_count != y->region.node_count)
        return x->region.node_count < y->region.node_count ? -1 : 1;
    if (x->cost.cost_ns < y->cost.cost_ns || x->cost.cost_ns > y->cost.cost_ns)
        return x->cost.cost_ns < y->cost.cost_ns ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static const char *backend_name(const struct candidate_table *table,
                                const struct candidate *candidate)
{
    return table->set->registry->entries[candidate->backend].name;
}

/* Appends ", item", on a new line where the old one is full. */
static void put_item(struct text *out, size_t *column, const char *item)
{
    enum { INDENT = 6, COLUMNS = 100 };
    size_t length = strlen(item);
    if (*column > INDENT && *column + 2 + length > COLUMNS) {
        text_format(out, ",\n%*s", INDENT, "");
        *column = INDENT;
    } else if (*column > INDENT) {
        text_string(out, ", ");
        *column += 2;
    }
    report_put(out, item, 0);
    *column += length;
}

/* What does not fit into columns. */
static void put_details(const struct candidate_table *table, const struct row *row,
                        struct text *out)
{
    const struct candidate *candidate = row->candidate;
    const struct region *region = &candidate->region;
    char ops[160], ids[96], item[320];
    size_t column = 6;
    text_format(out, "%*s", 6, "");
    report_operators(table->set->graph, region->nodes, region->node_count, ops, sizeof ops);
    report_node_ids(region->nodes, region->node_count, ids, sizeof ids);
    snprintf(item, sizeof item, "%.140s (node%s %s)", ops, region->node_count == 1 ? "" : "s", ids);
    put_item(out, &column, item);
    report_layouts(candidate, item, sizeof item);
    put_item(out, &column, item);
    if (candidate->cost.implementation[0]) {
        snprintf(item, sizeof item, "%s", candidate->cost.implementation);
        put_item(out, &column, item);
    }
    if (candidate->cost.giver) {
        snprintf(item, sizeof item, "given by '%.200s', not measured", candidate->cost.giver);
        put_item(out, &column, item);
    } else if (candidate->cost.alone_ns > 0) {
        snprintf(item, sizeof item, "in the network; %.2f us alone",
                 candidate->cost.alone_ns / 1e3);
        put_item(out, &column, item);
    } else if (candidate->cost.passes > 1) {
        snprintf(item, sizeof item, "measured %u times", (unsigned)candidate->cost.passes);
        put_item(out, &column, item);
    }
    if (table->origins && table->origins[row->id])
        put_item(out, &column, table->origins[row->id]);
    if (table->prices) {
        double price = 0;
        for (uint32_t k = 0; k < region->node_count; k++)
            price += table->prices[region->nodes[k]];
        snprintf(item, sizeof item, "the plan pays %.2f us for this", price / 1e3);
        put_item(out, &column, item);
    }
    text_string(out, "\n");
}

static void put_number(struct text *out, int width, double ns)
{
    if (ns > 0)
        text_format(out, " %*.2f", width, ns / 1e3);
    else
        text_format(out, " %*s", width, "-");
}

static void put_measured(const struct candidate_table *table, const struct row *row,
                         struct text *out)
{
    const struct candidate *candidate = row->candidate;
    const struct cost *cost = &candidate->cost;
    char scratch[32], weights[32];
    text_string(out, row->id == table->chosen ? "* " : "  ");
    if (candidate->view) {
        text_string(out, "a view: no kernel, no time\n");
        return;
    }
    report_bytes(cost->scratch_bytes, scratch, sizeof scratch);
    report_bytes(cost->weight_bytes, weights, sizeof weights);
    report_put(out, backend_name(table, candidate), 12);
    text_string(out, " ");
    report_put(out, candidate->variant, 10);
    put_number(out, 10, cost->cost_ns);
    put_number(out, 9, cost->minimum_ns);
    put_number(out, 9, cost->low_ns);
    put_number(out, 9, cost->high_ns);
    text_format(out, " %5u %9s %9s", (unsigned)cost->sample_count, scratch, weights);
    if (cost->sample_count > 0)
        text_format(out, " %7.0e", cost->error);
    text_string(out, "\n");
    put_details(table, row, out);
}

/* "onednn, variant blocked, Conv+Add (nodes 3-4): why" */
static void put_failed(const struct candidate_table *table, const struct row *row, struct text *out)
{
    const struct region *region = &row->candidate->region;
    char ops[160], ids[96];
    report_operators(table->set->graph, region->nodes, region->node_count, ops, sizeof ops);
    report_node_ids(region->nodes, region->node_count, ids, sizeof ids);
    text_string(out, "  ");
    report_put(out, backend_name(table, row->candidate), 0);
    if (row->candidate->variant[0]) {
        text_string(out, ", variant ");
        report_put(out, row->candidate->variant, 0);
    }
    text_format(out, ", %s (node%s %s): ", ops, region->node_count == 1 ? "" : "s", ids);
    report_put(out, row->candidate->cost.reason, 0);
    text_string(out, "\n");
}

/* Rows in one state; heads them if there are any. */
static size_t put_state(const struct candidate_table *table, const struct row *rows, size_t count,
                        enum cost_state state, struct text *out)
{
    size_t shown = 0;
    for (size_t k = 0; k < count; k++) {
        if (rows[k].candidate->cost.state != state)
            continue;
        if (shown++ == 0)
            text_string(out, state == COST_FAILED
                                 ? "\nFailed:\n"
                                 : "\n  backend      variant     cost [us]       min median >="
                                   "        <=  runs   scratch   weights   error\n");
        if (state == COST_FAILED)
            put_failed(table, &rows[k], out);
        else
            put_measured(table, &rows[k], out);
    }
    return shown;
}

static void put_unmeasured(const struct candidate_table *table, const struct row *rows,
                           size_t count, struct text *out)
{
    const struct registry *registry = table->set->registry;
    size_t shown = 0;
    for (uint32_t b = 0; b < registry->count; b++) {
        size_t number = 0;
        for (size_t k = 0; k < count; k++)
            number +=
                rows[k].candidate->backend == b && rows[k].candidate->cost.state == COST_UNKNOWN;
        if (number == 0)
            continue;
        text_string(out, shown++ ? ", " : "\nNot measured: ");
        text_format(out, "%zu on ", number);
        report_put(out, registry->entries[b].name, 0);
    }
    if (shown)
        text_string(out, "\n");
}

static void put_refusals(const struct candidate_table *table, struct text *out)
{
    const struct registry *registry = table->set->registry;
    bool any = false;
    for (uint32_t b = 0; b < registry->count; b++) {
        const struct backend_entry *entry = &registry->entries[b];
        size_t cell = (size_t)table->node * registry->count + b;
        const char *why = entry->api && table->set->refusals ? table->set->refusals[cell] : NULL;
        if (!entry->api || entry->problem[0])
            why = entry->problem;
        if (!why)
            continue;
        text_string(out, any ? "  " : "\nRefused alone, or not available:\n  ");
        report_put(out, entry->name, 0);
        text_string(out, ": ");
        report_put(out, why, 0);
        text_string(out, "\n");
        any = true;
    }
}

collage_status report_candidates_text(const struct candidate_table *table, struct text *out,
                                      struct error *error)
{
    const struct candidate_set *set = table->set;
    size_t count = 0;
    struct row *rows = memory_alloc((set->count + 1) * sizeof *rows);
    if (!rows)
        return error_memory(error);
    for (candidate_id id = 0; id < set->count; id++)
        if (region_has(&set->items[id].region, table->node))
            rows[count++] = (struct row){ id, &set->items[id] };
    qsort(rows, count, sizeof *rows, compare_rows);
    if (put_state(table, rows, count, COST_MEASURED, out) == 0)
        text_string(out, "\nNo candidate that covers the node has a cost.\n");
    put_state(table, rows, count, COST_FAILED, out);
    put_unmeasured(table, rows, count, out);
    put_refusals(table, out);
    memory_free(rows);
    return COLLAGE_OK;
}
