/* SPDX-License-Identifier: Apache-2.0 */
/* collage optimize: a model becomes a plan. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"
#include "shapes.h"

struct settings {
    const char *output, *backends, *dump;
    int32_t threads;
    double budget, race;
    struct option_list shapes;
    bool json, remeasure, quiet;
};

static const struct option options[] = {
    { "output", 'o', OPTION_TEXT, "PLAN",
      "the plan file (default: MODEL's name with .plan.json, in this folder)",
      offsetof(struct settings, output) },
    { "threads", 't', OPTION_COUNT, "N", "threads to use (default: the physical cores)",
      offsetof(struct settings, threads) },
    { "backends", 'b', OPTION_TEXT, "A,B", "use these backends only (see 'collage backends')",
      offsetof(struct settings, backends) },
    { "budget", 0, OPTION_SECONDS, "TIME", "time limit for measuring, such as 90s (default: 5m)",
      offsetof(struct settings, budget) },
    { "race", 0, OPTION_SECONDS, "TIME",
      "time for the final race, twice that while it is open (default: 20s)",
      offsetof(struct settings, race) },
    SHAPE_OPTION(struct settings),
    { "remeasure", 0, OPTION_FLAG, NULL, "measure anew what was measured before",
      offsetof(struct settings, remeasure) },
    { "dump", 0, OPTION_TEXT, "DIR", "write the graph after each stage there, as text and picture",
      offsetof(struct settings, dump) },
    { "json", 0, OPTION_FLAG, NULL, "print the result as JSON", offsetof(struct settings, json) },
    { "quiet", 'q', OPTION_FLAG, NULL, "no progress and no warnings",
      offsetof(struct settings, quiet) },
};

/* "nets/resnet50.onnx" becomes "resnet50.plan.json"; NULL if out of memory. */
static char *default_output(const char *model)
{
    static const char extension[] = ".onnx";
    const char *slash = strrchr(model, '/');
    const char *name = slash ? slash + 1 : model;
    size_t length = strlen(name);
    if (length > strlen(extension) && strcmp(name + length - strlen(extension), extension) == 0)
        length -= strlen(extension);
    char *output;
    return asprintf(&output, "%.*s.plan.json", (int)length, name) < 0 ? NULL : output;
}

static collage_status optimize(collage_context *context, const struct settings *settings,
                               const collage_model *model, const char *output, collage_plan **plan)
{
    const collage_optimize_options choices = { .struct_size = sizeof choices,
                                               .backends = settings->backends,
                                               .threads = settings->threads,
                                               .budget_seconds = settings->budget,
                                               .race_seconds = settings->race,
                                               .remeasure = settings->remeasure };
    collage_status status = COLLAGE_OK;
    if (settings->dump)
        status = collage_dump(context, model, NULL, settings->dump);
    if (status == COLLAGE_OK)
        status = collage_optimize(context, model, &choices, plan);
    if (status == COLLAGE_OK)
        status = collage_plan_save(context, model, *plan, output);
    if (status == COLLAGE_OK && settings->dump)
        status = collage_dump(context, model, *plan, settings->dump);
    return status;
}

static int optimize_to(const struct settings *settings, const char *path, const char *output)
{
    struct progress progress;
    collage_context *context;
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    progress_begin(&progress, settings->quiet);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    result = load_model(context, command_optimize.name, path, &settings->shapes, &model);
    if (result == EXIT_OK) {
        collage_status status = optimize(context, settings, model, output, &plan);
        progress_end(&progress);
        if (status == COLLAGE_OK)
            status = collage_plan_report(context, model, plan,
                                         settings->json ? COLLAGE_FORMAT_JSON : COLLAGE_FORMAT_TEXT,
                                         write_to_file, stdout);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
        else if (!settings->json)
            printf("\nThe plan is in %s.\n", output);
    }
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

/* `optimize m.onnx -o m.onnx` must not cost anybody a model. */
static int check_not_model(const char *model, const char *output)
{
    struct stat a, b;
    if (stat(model, &a) != 0 || stat(output, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return EXIT_OK;
    complain(command_optimize.name, "--output: '%s' is the model; give another name for the plan",
             output);
    return EXIT_BAD_INPUT;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    const char *path = operands->items[0];
    char *made = settings->output ? NULL : default_output(path);
    const char *output = settings->output ? settings->output : made;
    int result;
    if (!output) {
        complain(NULL, "out of memory");
        result = EXIT_FAILED;
    } else {
        result = output_check(command_optimize.name, output);
        if (result == EXIT_OK)
            result = check_not_model(path, output);
        if (result == EXIT_OK)
            result = optimize_to(settings, path, output);
    }
    free(made);
    return result;
}

const struct command command_optimize = {
    .name = "optimize",
    .summary = "Find the fastest mix of libraries for a model, and write it as a plan",
    .operands = "MODEL",
    .detail = "Measures the libraries of this machine on the operators of MODEL, an ONNX file, "
              "places every\noperator on the one that makes the whole fastest, checks the result "
              "against the reference and\nraces it against each library alone. What was measured "
              "is kept for the next time.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
