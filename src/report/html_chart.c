/* SPDX-License-Identifier: Apache-2.0 */
/* The charts in the page: the time of each step in the order of running, and how the search
 * converged. Coordinates are whole: a fraction would depend on the locale of the program. */
#include <math.h>
#include <stdio.h>

#include "report/page.h"

/* ---- the strip ---- */

/* Steps that are narrower than a ten-thousandth are not drawn. */
void page_put_strip(const struct page *page)
{
    enum { WIDTH = 10000, HEIGHT = 28 };
    struct text *out = page->out;
    double before = 0;
    if (!(page->total_ns > 0))
        return;
    text_format(out,
                "<svg id=\"strip\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
                "role=\"img\" aria-label=\"the time of each step, in the order of running\">\n",
                WIDTH, HEIGHT);
    for (uint32_t s = 0; s < page->plan->step_count; s++) {
        double left = floor(WIDTH * before / page->total_ns);
        before += page_cost(page, s);
        double right = floor(WIDTH * before / page->total_ns);
        if (right <= left)
            continue;
        text_format(out,
                    "<rect data-i=\"%u\" x=\"%.0f\" width=\"%.0f\" height=\"%d\" fill=\"%s\">"
                    "<title>",
                    s, left, right - left, HEIGHT, page_colour(page, s));
        page_put_label(page, s);
        text_string(out, "</title></rect>\n");
    }
    text_string(out, "</svg>\n");
}

/* ---- how the search converged ---- */

enum { MOST_POINTS = 1000, LEFT = 90, RIGHT = 620, TOP = 16, BOTTOM = 150 };

struct point {
    double step, best_ns;
};

struct curve {
    struct point *points; /* steps ascend, costs do not */
    size_t count;
    const char *unit;
};

/* Plans come from anywhere: what makes no sense is left out. */
static void add_point(struct curve *curve, double step, double best_ns)
{
    const struct point *last = curve->count ? &curve->points[curve->count - 1] : NULL;
    if (!isfinite(step) || !isfinite(best_ns) || step < 0 || step > 1e9 || !(best_ns > 0) ||
        best_ns > 1e18 || (last && step <= last->step))
        return;
    if (last && last->best_ns < best_ns)
        best_ns = last->best_ns;
    curve->points[curve->count++] = (struct point){ step, best_ns };
}

/* Of a long list, some of all of it, the last one among them. */
static bool is_taken(size_t index, size_t count)
{
    size_t each = count / MOST_POINTS + 1;
    return index % each == 0 || index + 1 == count;
}

static collage_status find_curve(const struct page *page, struct curve *curve, struct error *error)
{
    const json_t *rounds = json_object_get(page->plan->evidence, "convergence");
    const json_t *evolution = json_object_get(page->plan->evidence, "evolution");
    const json_t *generations = json_object_get(evolution, "best_ns");
    const bool by_rounds = json_array_size(rounds) > 0;
    const json_t *list = by_rounds ? rounds : generations;
    const size_t count = json_array_size(list);
    *curve = (struct curve){ .unit = by_rounds ? "round" : "generation" };
    curve->points = arena_array(page->arena, MOST_POINTS + 2, sizeof *curve->points);
    if (!curve->points)
        return error_memory(error);
    for (size_t k = 0; k < count && curve->count < MOST_POINTS + 2; k++) {
        const json_t *item = json_array_get(list, k);
        if (!is_taken(k, count))
            continue;
        if (by_rounds)
            add_point(curve, json_number_value(json_object_get(item, "step")),
                      json_number_value(json_object_get(item, "best_ns")));
        else
            add_point(curve, (double)k + 1, json_number_value(item));
    }
    return COLLAGE_OK;
}

static double place(double value, double from, double to, double first, double last)
{
    return to > from ? first + (last - first) * (value - from) / (to - from) : first;
}

static void put_axes(struct text *out, const struct curve *curve)
{
    const struct point *first = &curve->points[0], *last = &curve->points[curve->count - 1];
    text_format(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT - 10, TOP, BOTTOM + 10,
                RIGHT);
    text_format(out, "<text class=\"ax\" x=\"%d\" y=\"%d\">%.3f ms</text>\n", LEFT - 16, TOP + 4,
                first->best_ns / 1e6);
    if (last->best_ns < first->best_ns)
        text_format(out, "<text class=\"ax\" x=\"%d\" y=\"%d\">%.3f ms</text>\n", LEFT - 16,
                    BOTTOM + 4, last->best_ns / 1e6);
    text_format(out, "<text x=\"%d\" y=\"%d\">%s %.0f</text>\n", LEFT - 10, BOTTOM + 28,
                curve->unit, first->step);
    text_format(out, "<text class=\"ax\" x=\"%d\" y=\"%d\">%.0f</text>\n", RIGHT, BOTTOM + 28,
                last->step);
}

/* Stairs: a best holds until there is a better one. */
static void put_curve(struct text *out, const struct curve *curve)
{
    const struct point *points = curve->points;
    const struct point *last = &points[curve->count - 1];
    text_string(out, "<path class=\"curve\" d=\"");
    for (size_t k = 0; k < curve->count; k++) {
        double x = place(points[k].step, points[0].step, last->step, LEFT, RIGHT);
        double y = place(points[k].best_ns, last->best_ns, points[0].best_ns, BOTTOM, TOP);
        if (last->best_ns >= points[0].best_ns)
            y = TOP;
        if (k == 0)
            text_format(out, "M%.0f %.0f", x, y);
        else
            text_format(out, "H%.0fV%.0f", x, y);
    }
    text_string(out, "\"/>\n");
    for (size_t k = 0; k < curve->count && curve->count <= 120; k++) {
        double x = place(points[k].step, points[0].step, last->step, LEFT, RIGHT);
        double y = place(points[k].best_ns, last->best_ns, points[0].best_ns, BOTTOM, TOP);
        if (last->best_ns >= points[0].best_ns)
            y = TOP;
        text_format(out,
                    "<circle class=\"dot\" cx=\"%.0f\" cy=\"%.0f\" r=\"3\"><title>%s %.0f: "
                    "%.3f ms</title></circle>\n",
                    x, y, curve->unit, points[k].step, points[k].best_ns / 1e6);
    }
}

/* One point is no curve: the first placement was the last. */
collage_status page_put_convergence(const struct page *page, struct error *error)
{
    struct text *out = page->out;
    struct curve curve;
    collage_status status = find_curve(page, &curve, error);
    if (status != COLLAGE_OK || curve.count < 2)
        return status;
    text_format(out,
                "<figure id=\"convergence\">\n<figcaption>The search: the best so far by %s, %s"
                "</figcaption>\n<svg viewBox=\"0 0 640 190\" role=\"img\" "
                "aria-label=\"from %.3f ms to %.3f ms\">\n",
                curve.unit, curve.unit[0] == 'r' ? "as predicted" : "run end to end",
                curve.points[0].best_ns / 1e6, curve.points[curve.count - 1].best_ns / 1e6);
    put_axes(out, &curve);
    put_curve(out, &curve);
    text_string(out, "</svg>\n</figure>\n");
    return COLLAGE_OK;
}
