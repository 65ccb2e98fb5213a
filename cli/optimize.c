/* SPDX-License-Identifier: Apache-2.0 */
/* collage optimize: a model becomes a plan. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output.h"
#include "registered.h"
#include "search.h"
#include "shapes.h"

struct settings {
    const char *output, *backends, *dump, *placement_out, *tuning_log;
    int32_t threads;
    double budget, race, tune;
    collage_precision precision;
    struct option_list shapes;
    struct run_files files;
    struct search_settings search;
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
    RUN_FILE_OPTIONS(struct settings, files),
    { "search", 0, OPTION_TEXT, "NAME", "exact (default), op-level, two-level, greedy or brute",
      offsetof(struct settings, search.name) },
    { "kernel-cost", 0, OPTION_NANOSECONDS, "TIME",
      "op-level, two-level: added for each kernel, such as 0.01ms",
      offsetof(struct settings, search.kernel_cost) },
    { "search-time", 0, OPTION_SECONDS, "TIME", "two-level: time limit (default: 5m)",
      offsetof(struct settings, search.seconds) },
    { "search-generations", 0, OPTION_COUNT, "N", "two-level: generations at most (default: 100)",
      offsetof(struct settings, search.generations) },
    { "search-seed", 0, OPTION_COUNT, "N", "two-level: seed of the random numbers (default: 64)",
      offsetof(struct settings, search.seed) },
    { "allow-recompute", 0, OPTION_FLAG, NULL,
      "exact, brute: cheap operators may be computed by each that needs them",
      offsetof(struct settings, search.recompute) },
    { "place", 0, OPTION_LIST, "NODE=BACKEND",
      "nodes of this name (or glob) run on that backend; repeat for more",
      offsetof(struct settings, search.places) },
    { "placement", 0, OPTION_TEXT, "FILE", "hold to the placement in this CSV file, whole or part",
      offsetof(struct settings, search.placement) },
    { "placement-out", 0, OPTION_TEXT, "FILE", "write the plan's placement there, too, as CSV",
      offsetof(struct settings, placement_out) },
    { "tune", 0, OPTION_SOME_SECONDS, "[TIME]",
      "then search the schedules of kernels that matter, so long (default: 1m)",
      offsetof(struct settings, tune) },
    { "tuning-log", 0, OPTION_TEXT, "FILE",
      "use the schedules of this file; with --tune, write what was found there",
      offsetof(struct settings, tuning_log) },
    PRECISION_OPTION(struct settings),
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
                               const collage_optimize_options *choices, const collage_model *model,
                               const char *output, collage_plan **plan)
{
    collage_status status = COLLAGE_OK;
    if (settings->dump)
        status = collage_dump(context, model, NULL, settings->dump);
    if (status == COLLAGE_OK)
        status = collage_optimize(context, model, choices, plan);
    if (status == COLLAGE_OK)
        status = collage_plan_save(context, model, *plan, output);
    if (status == COLLAGE_OK && settings->placement_out)
        status = collage_placement_save(context, model, *plan, settings->placement_out);
    if (status == COLLAGE_OK && settings->dump)
        status = collage_dump(context, model, *plan, settings->dump);
    return status;
}

static int optimize_to(const struct settings *settings, const collage_optimize_options *choices,
                       const char *path, const char *output)
{
    struct progress progress;
    collage_context *context;
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    progress_begin(&progress, settings->quiet);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    progress.finishes = context;
    result = load_model(context, command_optimize.name, path, &settings->shapes, &model);
    if (result == EXIT_OK)
        result = add_run_files(context, &settings->files);
    if (result == EXIT_OK) {
        collage_status status = optimize(context, settings, choices, model, output, &plan);
        progress_end(&progress);
        if (status == COLLAGE_OK)
            status = collage_plan_report(context, model, plan,
                                         settings->json ? COLLAGE_FORMAT_JSON : COLLAGE_FORMAT_TEXT,
                                         write_to_file, stdout);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
        else if (!settings->json)
            printf("\nThe plan is in %s.\n", output);
        if (status == COLLAGE_OK && !settings->json && settings->placement_out)
            printf("The placement is in %s.\n", settings->placement_out);
    }
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

/* `optimize m.onnx -o m.onnx` must not cost anybody a model. */
static int check_not_model(const char *model, const char *option, const char *output)
{
    struct stat a, b;
    if (stat(model, &a) != 0 || stat(output, &b) != 0 || a.st_dev != b.st_dev ||
        a.st_ino != b.st_ino)
        return EXIT_OK;
    complain(command_optimize.name, "--%s: '%s' is the model; give another name", option, output);
    return EXIT_BAD_INPUT;
}

static int check_outputs(const struct settings *settings, const char *model, const char *output)
{
    const char *placement = settings->placement_out;
    const char *log = settings->tune > 0 ? settings->tuning_log : NULL;
    int result = output_check(command_optimize.name, output);
    if (result == EXIT_OK)
        result = check_not_model(model, "output", output);
    if (result == EXIT_OK && log)
        result = output_check(command_optimize.name, log);
    if (result != EXIT_OK || !placement)
        return result;
    if (strcmp(placement, output) == 0) {
        complain(command_optimize.name, "--placement-out: '%s' is the plan; give another name",
                 placement);
        return EXIT_BAD_INPUT;
    }
    result = output_check(command_optimize.name, placement);
    return result == EXIT_OK ? check_not_model(model, "placement-out", placement) : result;
}

static int search_to(const struct settings *settings, const char *path, const char *output)
{
    collage_optimize_options choices = { .struct_size = sizeof choices,
                                         .backends = settings->backends,
                                         .threads = settings->threads,
                                         .budget_seconds = settings->budget,
                                         .race_seconds = settings->race,
                                         .remeasure = settings->remeasure,
                                         .precision = settings->precision,
                                         .tune_seconds = settings->tune,
                                         .tuning_log = settings->tuning_log };
    struct pin_list pins = { .count = 0 };
    int result = search_parse(command_optimize.name, &settings->search, &choices, &pins);
    if (result == EXIT_OK)
        result = check_outputs(settings, path, output);
    if (result == EXIT_OK)
        result = optimize_to(settings, &choices, path, output);
    pins_free(&pins);
    return result;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    const char *path = operands->items[0];
    char *made = settings->output ? NULL : default_output(path);
    const char *output = settings->output ? settings->output : made;
    int result = EXIT_FAILED;
    if (output)
        result = search_to(settings, path, output);
    else
        complain(NULL, "out of memory");
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
              "is kept for the next time.\nCtrl-C ends measuring, and the plan is made of what is "
              "measured; a second one ends at once.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
