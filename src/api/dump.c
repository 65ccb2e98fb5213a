/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages made, one after the other, in a folder. */
#include <unistd.h>

#include "api/handles.h"
#include "graph/graph_text.h"
#include "onnx/onnx.h"
#include "report/dump.h"

/* Writes DIRECTORY/STAGE.EXTENSION, whole or not at all. */
static collage_status write_file(const char *directory, const char *stage, const char *extension,
                                 const struct text *text, struct error *error)
{
    struct text path = { 0 };
    text_format(&path, "%s/%s.%s", directory, stage, extension);
    collage_status status = path.failed || text->failed
                                ? error_memory(error)
                                : file_write(path.bytes, text->bytes, text->count, error);
    text_free(&path);
    return status;
}

/* A picture of an earlier run must not stand beside one that could not be drawn, or the reverse. */
static collage_status remove_file(const char *directory, const char *stage, const char *extension,
                                  struct error *error)
{
    struct text path = { 0 };
    text_format(&path, "%s/%s.%s", directory, stage, extension);
    if (path.failed)
        return error_memory(error);
    (void)unlink(path.bytes);
    text_free(&path);
    return COLLAGE_OK;
}

static collage_status write_picture(const char *directory, const char *stage,
                                    const struct text *dot, size_t boxes, struct error *error)
{
    struct text svg = { 0 };
    bool drawn = false;
    collage_status status = report_draw(dot, boxes, &drawn, &svg, error);
    if (status == COLLAGE_OK)
        status = write_file(directory, stage, drawn ? "svg" : "dot", drawn ? &svg : dot, error);
    if (status == COLLAGE_OK)
        status = remove_file(directory, stage, drawn ? "dot" : "svg", error);
    text_free(&svg);
    return status;
}

static collage_status dump_graph(const struct graph *graph, const char *directory,
                                 const char *stage, struct error *error)
{
    struct text text = { 0 }, dot = { 0 };
    graph_print(graph, &text);
    report_graph_dot(graph, &dot);
    collage_status status = write_file(directory, stage, "graph", &text, error);
    if (status == COLLAGE_OK)
        status = write_picture(directory, stage, &dot, graph->node_count, error);
    text_free(&text);
    text_free(&dot);
    return status;
}

/* The model keeps its canonical graph only: the file is imported again. */
static collage_status dump_model(const collage_model *model, const char *directory,
                                 struct error *error)
{
    struct graph *imported = NULL;
    collage_status status =
        onnx_import(model->path, model->shapes, model->shape_count, &imported, error);
    if (status != COLLAGE_OK)
        return status;
    status = dump_graph(imported, directory, "1-imported", error);
    graph_destroy(imported);
    return status == COLLAGE_OK ? dump_graph(model->graph, directory, "2-canonical", error)
                                : status;
}

static collage_status dump_plan(const collage_model *model, const struct plan *plan,
                                const char *directory, struct error *error)
{
    struct text text = { 0 }, dot = { 0 };
    collage_status status = report_placed_text(model->graph, plan, &text, error);
    if (status == COLLAGE_OK)
        status = report_placed_dot(model->graph, plan, &dot, error);
    if (status == COLLAGE_OK)
        status = write_file(directory, "3-placed", "graph", &text, error);
    if (status == COLLAGE_OK)
        status = write_picture(directory, "3-placed", &dot, plan->step_count, error);
    text_free(&text);
    text_free(&dot);
    return status;
}

collage_status collage_dump(collage_context *context, const collage_model *model,
                            const collage_plan *plan, const char *directory)
{
    struct error *error = context_begin(context);
    if (!model || !directory || !directory[0])
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "collage_dump: no model or no folder");
    collage_status status = file_make_directory(directory, error);
    if (status != COLLAGE_OK)
        return status;
    return plan ? dump_plan(model, plan->plan, directory, error)
                : dump_model(model, directory, error);
}
