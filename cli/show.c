/* SPDX-License-Identifier: Apache-2.0 */
/* collage show: a plan as a picture, as a page, or as text. */
#include <string.h>

#include "cli.h"
#include "output.h"

struct settings {
    const char *output, *model;
};

static const struct option options[] = {
    { "output", 'o', OPTION_TEXT, "FILE",
      "write there: picture (.svg), page (.html) or Graphviz source (.dot)",
      offsetof(struct settings, output) },
    { "model", 'm', OPTION_TEXT, "FILE", "the model of the plan, if it has moved",
      offsetof(struct settings, model) },
};

static bool format_of(const char *path, collage_format *format)
{
    static const struct {
        const char *extension;
        collage_format format;
    } rows[] = { { ".svg", COLLAGE_FORMAT_SVG },
                 { ".html", COLLAGE_FORMAT_HTML },
                 { ".dot", COLLAGE_FORMAT_DOT } };
    const char *dot = strrchr(path, '.');
    for (size_t k = 0; dot && k < sizeof rows / sizeof rows[0]; k++) {
        if (strcmp(dot, rows[k].extension) == 0) {
            *format = rows[k].format;
            return true;
        }
    }
    return false;
}

static int report_to(collage_context *context, const collage_model *model, const collage_plan *plan,
                     collage_format format, const char *path)
{
    struct output output = { 0 };
    if (path) {
        int result = output_open(command_show.name, path, &output);
        if (result != EXIT_OK)
            return result;
    }
    collage_status status =
        path ? collage_plan_report(context, model, plan, format, output_write, &output)
             : collage_plan_report(context, model, plan, format, write_to_file, stdout);
    if (status == COLLAGE_OK && !path)
        return EXIT_OK;
    if (path && (status == COLLAGE_OK || output.problem))
        return output_commit(command_show.name, &output); /* names the file if it fails */
    if (path)
        output_abort(&output);
    return complain_of(context, status);
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    collage_format format = COLLAGE_FORMAT_TEXT;
    if (settings->output && !format_of(settings->output, &format)) {
        complain(command_show.name, "--output: '%s' ends in neither .svg, .html nor .dot",
                 settings->output);
        return EXIT_BAD_INPUT;
    }
    struct progress progress = { 0 };
    collage_context *context;
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    collage_status status =
        collage_plan_load(context, operands->items[0], settings->model, &model, &plan);
    if (status == COLLAGE_OK)
        result = report_to(context, model, plan, format, settings->output);
    else
        result = complain_of(context, status);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

const struct command command_show = {
    .name = "show",
    .summary = "Show a plan as text, as a picture or as a page",
    .operands = "PLAN",
    .detail = "Prints which operator runs where, what it costs, and how the plan compares with "
              "each library\nalone. With --output, draws it: one colour a backend. A page also has "
              "the alternatives of each\nstep; it needs no network and nothing beside it.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
