/* SPDX-License-Identifier: Apache-2.0 */
#include "report/layers.h"

#include <math.h>

enum { MOST_BENDS = 100000, ORDER_SWEEPS = 12, PLACE_SWEEPS = 16 };

static const double gap_across = 26, gap_bend = 14, gap_down = 46, margin = 24;

/* A box, or a bend of an edge: all links go from a layer to the next. */
struct item {
    uint32_t layer, position;
    double width, x, key;
    uint32_t up, up_count, down, down_count; /* in arranger.links */
};

struct arranger {
    struct layers *layers;
    struct arena *arena;
    struct item *items;
    size_t item_count;
    uint32_t layer_count;
    uint32_t *first; /* of layer k: members[first[k]..first[k + 1]), in their order */
    uint32_t *members;
    uint32_t *links;
    double *wished, *from_left; /* for one layer */
};

/* ---- layers ---- */

/* The longest way from the top; boxes that use nothing stand just above their first user. */
static void find_layers(struct layers *layers, uint32_t *lowest_user)
{
    for (size_t b = 0; b < layers->box_count; b++) {
        layers->boxes[b].layer = 0;
        lowest_user[b] = UINT32_MAX;
    }
    /* Edges come in any order: repeat until nothing moves. from < to bounds the rounds. */
    for (bool again = true; again;) {
        again = false;
        for (size_t e = 0; e < layers->edge_count; e++) {
            const struct layer_box *from = &layers->boxes[layers->edges[e].from];
            struct layer_box *to = &layers->boxes[layers->edges[e].to];
            if (to->layer <= from->layer) {
                to->layer = from->layer + 1;
                again = true;
            }
        }
    }
    for (size_t e = 0; e < layers->edge_count; e++) {
        uint32_t from = layers->edges[e].from, layer = layers->boxes[layers->edges[e].to].layer;
        if (layer < lowest_user[from])
            lowest_user[from] = layer;
    }
    for (size_t b = 0; b < layers->box_count; b++)
        if (layers->boxes[b].layer == 0 && lowest_user[b] != UINT32_MAX)
            layers->boxes[b].layer = lowest_user[b] - 1;
}

static uint32_t span_of(const struct layers *layers, const struct layer_edge *edge)
{
    return layers->boxes[edge->to].layer - layers->boxes[edge->from].layer;
}

/* How many bends each edge gets. */
static size_t count_bends(struct layers *layers)
{
    size_t total = 0;
    for (size_t e = 0; e < layers->edge_count; e++) {
        layers->edges[e].bends = (uint32_t)total;
        layers->edges[e].bend_count = span_of(layers, &layers->edges[e]) - 1;
        total += layers->edges[e].bend_count;
        if (total > MOST_BENDS)
            break;
    }
    if (total <= MOST_BENDS)
        return total;
    for (size_t e = 0; e < layers->edge_count; e++)
        layers->edges[e].bends = layers->edges[e].bend_count = 0;
    return 0;
}

static void make_items(struct arranger *a)
{
    struct layers *layers = a->layers;
    for (size_t b = 0; b < layers->box_count; b++)
        a->items[b] =
            (struct item){ .layer = layers->boxes[b].layer, .width = layers->boxes[b].width };
    for (size_t e = 0; e < layers->edge_count; e++) {
        const struct layer_edge *edge = &layers->edges[e];
        for (uint32_t k = 0; k < edge->bend_count; k++)
            a->items[layers->box_count + edge->bends + k] =
                (struct item){ .layer = layers->boxes[edge->from].layer + 1 + k };
    }
    for (size_t i = 0; i < a->item_count; i++)
        if (a->items[i].layer >= a->layer_count)
            a->layer_count = a->items[i].layer + 1;
}

/* Counting sort of the items by layer, in the order in which they are. */
static void fill_layers(struct arranger *a)
{
    uint32_t *next = a->first + 1;
    for (size_t i = 0; i < a->item_count; i++)
        next[a->items[i].layer + 1]++;
    for (uint32_t k = 0; k < a->layer_count; k++)
        next[k + 1] += next[k];
    for (size_t i = 0; i < a->item_count; i++)
        a->members[next[a->items[i].layer]++] = (uint32_t)i;
    for (uint32_t k = 0; k < a->layer_count; k++)
        for (uint32_t m = a->first[k]; m < a->first[k + 1]; m++)
            a->items[a->members[m]].position = m - a->first[k];
}

/* The item at place k of an edge's way: 0 is its beginning. */
static uint32_t item_of_edge(const struct arranger *a, const struct layer_edge *edge, uint32_t k)
{
    if (k == 0)
        return edge->from;
    return k > edge->bend_count ? edge->to : (uint32_t)a->layers->box_count + edge->bends + k - 1;
}

/* Neighbours one layer up and down. Edges without their bends connect no neighbours. */
static void link_items(struct arranger *a)
{
    const struct layers *layers = a->layers;
    uint32_t used = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t e = 0; e < layers->edge_count; e++) {
            const struct layer_edge *edge = &layers->edges[e];
            for (uint32_t k = 0; k <= edge->bend_count; k++) {
                uint32_t upper = item_of_edge(a, edge, k), lower = item_of_edge(a, edge, k + 1);
                struct item *up = &a->items[upper], *down = &a->items[lower];
                if (down->layer != up->layer + 1)
                    continue;
                if (pass == 1) {
                    a->links[up->down + up->down_count] = lower;
                    a->links[down->up + down->up_count] = upper;
                }
                up->down_count++;
                down->up_count++;
            }
        }
        for (size_t i = 0; i < a->item_count && pass == 0; i++) {
            struct item *item = &a->items[i];
            item->up = used;
            item->down = used + item->up_count;
            used += item->up_count + item->down_count;
            item->up_count = item->down_count = 0;
        }
    }
}

/* ---- order ---- */

/* Sorted by key, then as it was: insertion, since little is out of order. */
static void sort_layer(struct arranger *a, uint32_t layer)
{
    uint32_t *members = a->members + a->first[layer];
    uint32_t count = a->first[layer + 1] - a->first[layer];
    for (uint32_t k = 1; k < count; k++) {
        uint32_t moved = members[k], at = k;
        for (; at > 0 && a->items[members[at - 1]].key > a->items[moved].key; at--)
            members[at] = members[at - 1];
        members[at] = moved;
    }
    for (uint32_t k = 0; k < count; k++)
        a->items[members[k]].position = k;
}

static void order_layer(struct arranger *a, uint32_t layer, bool by_upper)
{
    for (uint32_t k = a->first[layer]; k < a->first[layer + 1]; k++) {
        struct item *item = &a->items[a->members[k]];
        uint32_t begin = by_upper ? item->up : item->down;
        uint32_t count = by_upper ? item->up_count : item->down_count;
        double sum = 0;
        for (uint32_t n = 0; n < count; n++)
            sum += a->items[a->links[begin + n]].position;
        item->key = count ? sum / count : item->position;
    }
    sort_layer(a, layer);
}

static void order_layers(struct arranger *a)
{
    for (int sweep = 0; sweep < ORDER_SWEEPS; sweep++)
        for (uint32_t k = 1; k < a->layer_count; k++)
            order_layer(a, sweep % 2 ? a->layer_count - 1 - k : k, sweep % 2 == 0);
}

/* ---- places ---- */

static double distance(const struct item *left, const struct item *right)
{
    bool boxes = left->width > 0 && right->width > 0;
    return (left->width + right->width) / 2 + (boxes ? gap_across : gap_bend);
}

/* Near what each member wishes, and far enough apart: the mean of pushing to the right and of
 * pushing to the left keeps all distances. */
static void place_layer(struct arranger *a, uint32_t layer)
{
    const uint32_t *members = a->members + a->first[layer];
    uint32_t count = a->first[layer + 1] - a->first[layer];
    for (uint32_t k = 0; k < count; k++) {
        double least =
            k ? a->from_left[k - 1] + distance(&a->items[members[k - 1]], &a->items[members[k]])
              : -HUGE_VAL;
        a->from_left[k] = fmax(a->wished[k], least);
    }
    double right = HUGE_VAL;
    for (uint32_t k = count; k-- > 0;) {
        if (k + 1 < count)
            right -= distance(&a->items[members[k]], &a->items[members[k + 1]]);
        right = fmin(a->wished[k], right);
        a->items[members[k]].x = (a->from_left[k] + right) / 2;
    }
}

/* The mean of the neighbours: of those above, those below, or all. */
static double wish_of(const struct arranger *a, const struct item *item, bool upper, bool lower)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t n = 0; upper && n < item->up_count; n++, count++)
        sum += a->items[a->links[item->up + n]].x;
    for (uint32_t n = 0; lower && n < item->down_count; n++, count++)
        sum += a->items[a->links[item->down + n]].x;
    return count ? sum / count : item->x;
}

static void place_layers(struct arranger *a)
{
    for (int sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
        bool last = sweep + 2 >= PLACE_SWEEPS; /* all neighbours count in the end */
        for (uint32_t step = 0; step < a->layer_count; step++) {
            uint32_t layer = sweep % 2 ? a->layer_count - 1 - step : step;
            const uint32_t *members = a->members + a->first[layer];
            uint32_t count = a->first[layer + 1] - a->first[layer];
            for (uint32_t k = 0; k < count; k++)
                a->wished[k] = wish_of(a, &a->items[members[k]], last || sweep % 2 == 0,
                                       last || sweep % 2 == 1);
            place_layer(a, layer);
        }
    }
}

/* From the top left corner. */
static void take_places(struct arranger *a, double *height_of_layer)
{
    struct layers *layers = a->layers;
    double left = HUGE_VAL, right = -HUGE_VAL, y = margin;
    for (size_t i = 0; i < a->item_count; i++) {
        left = fmin(left, a->items[i].x - a->items[i].width / 2);
        right = fmax(right, a->items[i].x + a->items[i].width / 2);
    }
    for (size_t b = 0; b < layers->box_count; b++) {
        double *height = &height_of_layer[layers->boxes[b].layer];
        *height = fmax(*height, layers->boxes[b].height);
    }
    for (uint32_t k = 0; k < a->layer_count; k++) { /* becomes the middle of the layer */
        double height = height_of_layer[k];
        height_of_layer[k] = y + height / 2;
        y += height + (k + 1 < a->layer_count ? gap_down : margin);
    }
    for (size_t i = 0; i < a->item_count; i++) {
        double x = a->items[i].x - left + margin, middle = height_of_layer[a->items[i].layer];
        if (i < layers->box_count) {
            layers->boxes[i].x = x;
            layers->boxes[i].y = middle;
        } else {
            layers->bends[i - layers->box_count] = (struct layer_point){ x, middle };
        }
    }
    layers->width = a->item_count ? right - left + 2 * margin : 2 * margin;
    layers->height = a->item_count ? y : 2 * margin;
}

static collage_status make_room(struct arranger *a, struct error *error)
{
    size_t links = 2 * (a->layers->edge_count + a->item_count) + 2;
    a->first = arena_array(a->arena, a->item_count + 3, sizeof *a->first);
    a->members = arena_array(a->arena, a->item_count + 1, sizeof *a->members);
    a->links = arena_array(a->arena, links, sizeof *a->links);
    a->wished = arena_array(a->arena, a->item_count + 1, sizeof *a->wished);
    a->from_left = arena_array(a->arena, a->item_count + 1, sizeof *a->from_left);
    return a->first && a->members && a->links && a->wished && a->from_left ? COLLAGE_OK
                                                                           : error_memory(error);
}

collage_status layers_arrange(struct layers *layers, struct arena *arena, struct error *error)
{
    struct arranger a = { .layers = layers, .arena = arena };
    uint32_t *users = arena_array(arena, layers->box_count + 1, sizeof *users);
    if (!users)
        return error_memory(error);
    find_layers(layers, users);
    size_t bends = count_bends(layers);
    a.item_count = layers->box_count + bends;
    a.items = arena_array(arena, a.item_count + 1, sizeof *a.items);
    layers->bends = arena_array(arena, bends + 1, sizeof *layers->bends);
    if (!a.items || !layers->bends)
        return error_memory(error);
    make_items(&a);
    double *heights = arena_array(arena, (size_t)a.layer_count + 1, sizeof *heights);
    collage_status status = make_room(&a, error);
    if (!heights || status != COLLAGE_OK)
        return error_memory(error);
    fill_layers(&a);
    link_items(&a);
    order_layers(&a);
    place_layers(&a);
    take_places(&a, heights);
    return COLLAGE_OK;
}
