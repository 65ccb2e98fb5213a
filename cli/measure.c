/* SPDX-License-Identifier: Apache-2.0 */
/* collage measure: one node of a model on every backend. */
#include "registered.h"
#include "shapes.h"

struct settings {
    const char *node, *backends;
    int32_t threads;
    double budget;
    collage_precision precision;
    struct option_list shapes;
    struct run_files files;
    bool remeasure, quiet;
};

static const struct option options[] = {
    { "node", 'n', OPTION_TEXT, "N", "which: a node's name, a result of it, or its number",
      offsetof(struct settings, node) },
    { "threads", 't', OPTION_COUNT, "T", "threads to use (default: the physical cores)",
      offsetof(struct settings, threads) },
    { "backends", 'b', OPTION_TEXT, "A,B", "use these backends only (see 'collage backends')",
      offsetof(struct settings, backends) },
    { "budget", 0, OPTION_SECONDS, "TIME", "time limit for measuring, such as 90s (default: 5m)",
      offsetof(struct settings, budget) },
    SHAPE_OPTION(struct settings),
    RUN_FILE_OPTIONS(struct settings, files),
    PRECISION_OPTION(struct settings),
    { "remeasure", 0, OPTION_FLAG, NULL, "measure anew what was measured before",
      offsetof(struct settings, remeasure) },
    { "quiet", 'q', OPTION_FLAG, NULL, "no progress and no warnings",
      offsetof(struct settings, quiet) },
};

static bool write_out(void *user, const char *bytes, size_t count)
{
    progress_erase(user); /* the text would stand behind the bar */
    return fwrite(bytes, 1, count, stdout) == count;
}

static collage_status measure(collage_context *context, const struct settings *settings,
                              const collage_model *model, struct progress *progress)
{
    const collage_measure_options choices = { .struct_size = sizeof choices,
                                              .node = settings->node,
                                              .backends = settings->backends,
                                              .threads = settings->threads,
                                              .budget_seconds = settings->budget,
                                              .remeasure = settings->remeasure,
                                              .precision = settings->precision };
    return collage_measure(context, model, &choices, write_out, progress);
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    if (!settings->node) {
        complain(command_measure.name, "--node is missing; see 'collage measure --help'");
        return EXIT_BAD_INPUT;
    }
    struct progress progress;
    collage_context *context;
    collage_model *model = NULL;
    progress_begin(&progress, settings->quiet);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    result =
        load_model(context, command_measure.name, operands->items[0], &settings->shapes, &model);
    if (result == EXIT_OK)
        result = add_run_files(context, &settings->files);
    if (result == EXIT_OK) {
        collage_status status = measure(context, settings, model, &progress);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
    }
    progress_end(&progress);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

const struct command command_measure = {
    .name = "measure",
    .summary = "Measure one node of a model on every backend",
    .operands = "MODEL",
    .detail = "Prints every candidate that covers the node, on every backend: cost, statistics, "
              "layouts, memory\nand the error against the reference, from the store or measured "
              "now; and what was refused or\nfailed. What is measured is kept.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
