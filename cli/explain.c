/* SPDX-License-Identifier: Apache-2.0 */
/* collage explain: why a plan is as it is. */
#include "registered.h"

struct settings {
    const char *model;
    struct run_files files;
    bool roofline, json;
};

static const struct option options[] = {
    { "model", 'm', OPTION_TEXT, "FILE", "the model of the plan, if it has moved",
      offsetof(struct settings, model) },
    { "roofline", 'r', OPTION_FLAG, NULL,
      "where the time goes, and how far it is from what the machine can do",
      offsetof(struct settings, roofline) },
    { "json", 0, OPTION_FLAG, NULL, "with --roofline: print one JSON object",
      offsetof(struct settings, json) },
    RUN_FILE_OPTIONS(struct settings, files),
};

static int check(const struct settings *settings, const char *node)
{
    if (settings->roofline && node)
        complain(command_explain.name, "--roofline is of the whole plan: leave out '%s'", node);
    else if (settings->json && !settings->roofline)
        complain(command_explain.name, "--json goes with --roofline");
    else
        return EXIT_OK;
    return EXIT_BAD_INPUT;
}

static collage_status explain(collage_context *context, const collage_model *model,
                              const collage_plan *plan, const struct settings *settings,
                              const char *node)
{
    if (settings->roofline)
        return collage_roofline(context, model, plan,
                                settings->json ? COLLAGE_FORMAT_JSON : COLLAGE_FORMAT_TEXT,
                                write_to_file, stdout);
    return collage_explain(context, model, plan, node, write_to_file, stdout);
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    const char *node = operands->count > 1 ? operands->items[1] : NULL;
    struct progress progress = { 0 };
    collage_context *context;
    int result = check(settings, node);
    if (result == EXIT_OK)
        result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    result = add_run_files(context, &settings->files);
    if (result == EXIT_OK) {
        collage_status status =
            collage_plan_load(context, operands->items[0], settings->model, &model, &plan);
        if (status == COLLAGE_OK)
            status = explain(context, model, plan, settings, node);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
    }
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

const struct command command_explain = {
    .name = "explain",
    .summary = "Say why a plan is as it is, or why a node runs where it does",
    .operands = "PLAN [NODE]",
    .detail =
        "Without NODE: step by step the best other backend and by how much, and why the "
        "whole plan won.\nWith NODE (its name, a result of it, or its number): why it runs "
        "where it does, all candidates\nthat cover it with their costs, and what was refused "
        "or failed. The costs are the measured\nones that are kept; nothing is measured.\nWith "
        "--roofline: the kernels by kind, those first that a better kernel could gain most "
        "from. What\nthe machine can do at best is measured for that; the best ever is kept.",
    .operand_minimum = 1,
    .operand_maximum = 2,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
