/* SPDX-License-Identifier: Apache-2.0 */
/* collage verify: is the result right? */
#include "shapes.h"

struct settings {
    const char *model;
    struct option_list shapes;
    bool trust;
};

static const struct option options[] = {
    { "model", 'm', OPTION_TEXT, "FILE", "the model of the plan, if it has moved",
      offsetof(struct settings, model) },
    SHAPE_OPTION(struct settings),
    TRUST_OPTION(struct settings),
};

/* Loads what path names: a plan with its model, or a model. */
static int load(collage_context *context, const struct settings *settings, const char *path,
                collage_model **model, collage_plan **plan)
{
    bool is_plan;
    int result = file_is_plan(command_verify.name, path, &is_plan);
    if (result != EXIT_OK)
        return result;
    if (!is_plan && settings->model) {
        complain(command_verify.name, "--model goes with a plan, but '%s' is none", path);
        return EXIT_BAD_INPUT;
    }
    if (is_plan && settings->shapes.count) {
        complain(command_verify.name, "--shape goes with a model, but '%s' is a plan", path);
        return EXIT_BAD_INPUT;
    }
    if (!is_plan)
        return load_model(context, command_verify.name, path, &settings->shapes, model);
    collage_status status = collage_plan_load(context, path, settings->model, model, plan);
    return status == COLLAGE_OK ? EXIT_OK : complain_of(context, status);
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    struct progress progress;
    collage_context *context;
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    progress_begin(&progress, false);
    int result = context_create_trusting(&progress, settings->trust, &context);
    if (result != EXIT_OK)
        return result;
    result = load(context, settings, operands->items[0], &model, &plan);
    if (result == EXIT_OK) {
        collage_verification found = { .struct_size = sizeof found };
        collage_status status = collage_verify(context, model, plan, &found);
        progress_end(&progress);
        if (status == COLLAGE_OK)
            printf("Right: %zu elements of %zu outputs are within %.1e of the reference (allowed: "
                   "%.1e).\n",
                   found.elements, found.outputs, found.worst_error, found.tolerance);
        else
            result = complain_of(context, status);
    }
    progress_end(&progress);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "Check a plan, or every library on a model, against the reference",
    .operands = "PLAN|MODEL",
    .detail = "Runs a plan on the example inputs and compares its outputs with those of the "
              "reference, the\nplain implementation of every operator. Of a model, runs every "
              "available library that takes\nthe whole. Exit status 1 if a result is wrong.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
