/* SPDX-License-Identifier: Apache-2.0 */
/* collage bench: the mix and each library alone, side by side. */
#include <stdlib.h>
#include <string.h>

#include "registered.h"
#include "shapes.h"

struct settings {
    int32_t threads;
    double seconds;
    const char *peers;
    struct option_list shapes;
    struct run_files files;
    bool together, ablate, json, quiet, trust;
};

static const struct option options[] = {
    { "threads", 't', OPTION_COUNT, "N", "threads to use on a model (default: the physical cores)",
      offsetof(struct settings, threads) },
    { "seconds", 's', OPTION_SECONDS, "TIME", "time to spend on each (default: 20)",
      offsetof(struct settings, seconds) },
    { "peers", 'p', OPTION_TEXT, "LIST",
      "others that take part: names such as torch,tvm, or all, or programs",
      offsetof(struct settings, peers) },
    { "together", 0, OPTION_FLAG, NULL,
      "of plans of one model: all in one race, each compared with the first",
      offsetof(struct settings, together) },
    { "ablate", 0, OPTION_FLAG, NULL,
      "of a model: the speed with 1, 2, ... libraries, one more at a time",
      offsetof(struct settings, ablate) },
    SHAPE_OPTION(struct settings),
    RUN_FILE_OPTIONS(struct settings, files),
    TRUST_OPTION(struct settings),
    { "json", 0, OPTION_FLAG, NULL, "print one JSON array, an object for each",
      offsetof(struct settings, json) },
    { "quiet", 'q', OPTION_FLAG, NULL, "no progress and no warnings",
      offsetof(struct settings, quiet) },
};

static collage_status optimize(collage_context *context, const struct settings *settings,
                               const collage_model *model, collage_plan **plan)
{
    const collage_optimize_options choices = { .struct_size = sizeof choices,
                                               .threads = settings->threads };
    return collage_optimize(context, model, &choices, plan);
}

/* What path names: a plan with its model, or a model, which is optimised first. */
static int load(collage_context *context, const struct settings *settings, const char *path,
                struct progress *progress, collage_model **model, collage_plan **plan)
{
    bool is_plan;
    int result = file_is_plan(command_bench.name, path, &is_plan);
    if (result != EXIT_OK)
        return result;
    const char *of_models = settings->threads                ? "threads"
                            : settings->shapes.count         ? "shape"
                            : settings->files.patterns.count ? "patterns"
                            : settings->files.costs.count    ? "costs"
                                                             : NULL;
    if (is_plan && of_models) {
        complain(command_bench.name, "--%s goes with a model, but '%s' is a plan, which pins it",
                 of_models, path);
        return EXIT_BAD_INPUT;
    }
    if (!is_plan && settings->together) {
        complain(command_bench.name, "--together goes with plans, but '%s' is a model", path);
        return EXIT_BAD_INPUT;
    }
    collage_status status = COLLAGE_OK;
    if (is_plan) {
        status = collage_plan_load(context, path, NULL, model, plan);
    } else {
        result = load_model(context, command_bench.name, path, &settings->shapes, model);
        if (result == EXIT_OK)
            status = optimize(context, settings, *model, plan);
    }
    progress_erase(progress);
    return status == COLLAGE_OK ? result : complain_of(context, status);
}

/* The first plan with its model, the others for their names' sake: they are of the same model. */
static int compare(collage_context *context, const struct settings *settings, collage_model *model,
                   collage_plan *const *plans, const char *const *names, size_t count,
                   struct progress *progress, FILE *out)
{
    const collage_bench_options choices = { .struct_size = sizeof choices,
                                            .seconds = settings->seconds,
                                            .peers = settings->peers,
                                            .others = (const collage_plan *const *)plans + 1,
                                            .other_count = count - 1,
                                            .names = names };
    collage_status status = collage_bench(
        context, model, plans[0], &choices,
        settings->json ? COLLAGE_FORMAT_JSON : COLLAGE_FORMAT_TEXT, write_to_file, out);
    progress_erase(progress);
    return status == COLLAGE_OK ? EXIT_OK : complain_of(context, status);
}

static int bench(collage_context *context, const struct settings *settings, const char *path,
                 struct progress *progress, FILE *out)
{
    collage_model *model = NULL;
    collage_plan *plan = NULL;
    int result = load(context, settings, path, progress, &model, &plan);
    if (result == EXIT_OK)
        result = compare(context, settings, model, &plan, NULL, 1, progress, out);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    return result;
}

/* What the table calls a plan: its file without folder and ending; the caller's. */
static char *name_of(const char *path)
{
    static const char ending[] = ".plan.json";
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    if (length >= sizeof ending && strcmp(base + length - (sizeof ending - 1), ending) == 0)
        length -= sizeof ending - 1;
    return strndup(base, length);
}

/* The names of the plans; false if out of memory. Both lists are the caller's. */
static bool make_lists(const struct operands *operands, char ***names, collage_plan ***plans)
{
    *names = calloc(operands->count, sizeof(**names));
    *plans = calloc(operands->count, sizeof(**plans));
    bool ok = *names && *plans;
    for (size_t k = 0; k < operands->count && ok; k++) {
        (*names)[k] = name_of(operands->items[k]);
        ok = (*names)[k] != NULL;
    }
    return ok;
}

static void free_lists(size_t count, char **names, collage_plan **plans)
{
    for (size_t k = 0; k < count; k++) {
        if (names)
            free(names[k]);
        if (plans)
            collage_plan_destroy(plans[k]);
    }
    free(names);
    free(plans);
}

/* All plans in one race. They are of one model: that of the first is kept. */
static int bench_together(collage_context *context, const struct settings *settings,
                          const struct operands *operands, struct progress *progress, FILE *out)
{
    collage_model *model = NULL;
    collage_plan **plans;
    char **names;
    int result = EXIT_OK;
    if (!make_lists(operands, &names, &plans)) {
        complain(NULL, "out of memory");
        result = EXIT_FAILED;
    }
    for (size_t k = 0; k < operands->count && result == EXIT_OK; k++) {
        collage_model *other = NULL;
        result =
            load(context, settings, operands->items[k], progress, k ? &other : &model, &plans[k]);
        collage_model_destroy(other);
    }
    if (result == EXIT_OK)
        result = compare(context, settings, model, plans, (const char *const *)names,
                         operands->count, progress, out);
    free_lists(operands->count, names, plans);
    collage_model_destroy(model);
    return result;
}

/* The costs come from the store as far as it has them; the libraries then join one by one. */
static int ablate(collage_context *context, const struct settings *settings, const char *path,
                  struct progress *progress, FILE *out)
{
    bool is_plan;
    collage_model *model = NULL;
    int result = file_is_plan(command_bench.name, path, &is_plan);
    if (result == EXIT_OK && is_plan) {
        complain(command_bench.name,
                 "--ablate goes with a model, but '%s' is a plan, which has its libraries", path);
        return EXIT_BAD_INPUT;
    }
    if (result == EXIT_OK)
        result = load_model(context, command_bench.name, path, &settings->shapes, &model);
    if (result == EXIT_OK) {
        const collage_ablate_options choices = { .struct_size = sizeof choices,
                                                 .threads = settings->threads,
                                                 .seconds = settings->seconds };
        collage_status status = collage_ablate(
            context, model, &choices, settings->json ? COLLAGE_FORMAT_JSON : COLLAGE_FORMAT_TEXT,
            write_to_file, out);
        progress_erase(progress);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
    }
    collage_model_destroy(model);
    return result;
}

static int bench_all(const struct settings *settings, const struct operands *operands, FILE *out)
{
    struct progress progress;
    collage_context *context;
    progress_begin(&progress, settings->quiet);
    int result = context_create_trusting(&progress, settings->trust, &context);
    if (result != EXIT_OK)
        return result;
    collage_status status = collage_peers_check(context, settings->peers);
    result = status == COLLAGE_OK ? add_run_files(context, &settings->files)
                                  : complain_of(context, status);
    fputs(settings->json && result == EXIT_OK ? "[\n" : "", out);
    if (settings->together && result == EXIT_OK)
        result = bench_together(context, settings, operands, &progress, out);
    for (size_t k = 0; k < operands->count && !settings->together && result == EXIT_OK; k++) {
        const char *path = operands->items[k];
        if (settings->json)
            fputs(k ? ",\n" : "", out);
        else if (operands->count > 1)
            fprintf(out, "%s%s\n", k ? "\n" : "", path);
        result = settings->ablate ? ablate(context, settings, path, &progress, out)
                                  : bench(context, settings, path, &progress, out);
        fflush(out);
    }
    fputs(settings->json && result == EXIT_OK ? "]\n" : "", out);
    progress_end(&progress);
    collage_context_destroy(context);
    return result;
}

/* Text is printed as it comes; JSON only when it is whole. */
static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    if (settings->ablate && settings->peers) {
        complain(command_bench.name, "--peers does not go with --ablate: peers are no libraries "
                                     "that could join");
        return EXIT_BAD_INPUT;
    }
    if (settings->ablate && settings->together) {
        complain(command_bench.name, "--together goes with plans, --ablate with models");
        return EXIT_BAD_INPUT;
    }
    if (!settings->json)
        return bench_all(settings, operands, stdout);
    char *text = NULL;
    size_t count = 0;
    FILE *memory = open_memstream(&text, &count);
    int result = EXIT_FAILED;
    if (memory) {
        result = bench_all(settings, operands, memory);
        if (fclose(memory) == 0 && result == EXIT_OK)
            fwrite(text, 1, count, stdout);
    } else {
        complain(NULL, "out of memory");
    }
    free(text);
    return result;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "Compare the mix with each library alone",
    .operands = "MODEL|PLAN...",
    .detail =
        "Runs a plan and each library alone (a process of its own, its own defaults, the "
        "same threads)\nin turn, and prints the minimum, the median and the ratio to the "
        "plan. A model is optimised first.\n"
        "With --together: all plans and each library alone in one run, each compared with the "
        "first plan.\n"
        "With --ablate: the best single library, then one library more at a time, always the "
        "one that makes\nthe whole cheapest by the measured costs; all these are run in turn.",
    .operand_minimum = 1,
    .operand_maximum = SIZE_MAX,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
