/* SPDX-License-Identifier: Apache-2.0 */
/* collage bench-ops: single operators on each backend, side by side. */
#include <stdlib.h>

#include "shapes.h"

struct settings {
    const char *backends, *filter;
    int32_t threads;
    collage_precision precision;
    bool all, list, json, quiet;
};

static const struct option options[] = {
    { "backends", 'b', OPTION_TEXT, "LIST",
      "use only these backends, comma-separated (default: all but the reference)",
      offsetof(struct settings, backends) },
    { "threads", 't', OPTION_COUNT, "N", "threads to use (default: the physical cores)",
      offsetof(struct settings, threads) },
    { "filter", 'f', OPTION_TEXT, "TEXT", "only cases with this in their name",
      offsetof(struct settings, filter) },
    { "all", 'a', OPTION_FLAG, NULL, "the small cases of the conformance tests, too",
      offsetof(struct settings, all) },
    { "list", 'l', OPTION_FLAG, NULL, "list the cases instead of running them",
      offsetof(struct settings, list) },
    PRECISION_OPTION(struct settings),
    { "json", 0, OPTION_FLAG, NULL, "print one JSON object", offsetof(struct settings, json) },
    { "quiet", 'q', OPTION_FLAG, NULL, "no progress and no warnings",
      offsetof(struct settings, quiet) },
};

/* The table appears case by case, the line of progress below it. */
static bool write_out(void *user, const char *bytes, size_t count)
{
    progress_erase(user);
    return fwrite(bytes, 1, count, stdout) == count && fflush(stdout) == 0;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    struct progress progress;
    collage_context *context;
    progress_begin(&progress, settings->quiet);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    const collage_bench_operators_options choices = { .struct_size = sizeof choices,
                                                      .cases = operands->items,
                                                      .case_count = operands->count,
                                                      .filter = settings->filter,
                                                      .backends = settings->backends,
                                                      .threads = settings->threads,
                                                      .all = settings->all,
                                                      .list = settings->list,
                                                      .precision = settings->precision };
    collage_status status = collage_bench_operators(
        context, &choices, settings->json ? COLLAGE_FORMAT_JSON : COLLAGE_FORMAT_TEXT, write_out,
        &progress);
    progress_end(&progress);
    if (status != COLLAGE_OK)
        result = complain_of(context, status);
    collage_context_destroy(context);
    return result;
}

const struct command command_bench_ops = {
    .name = "bench-ops",
    .summary = "Time single operators on each backend",
    .operands = "[CASE...]",
    .detail = "Runs cases of the table of operators (default: layers of real networks) on each "
              "backend, in\neach variant, verified and timed like the parts of a network, and "
              "prints which is the fastest.\n'--all --list' shows what there is.",
    .operand_minimum = 0,
    .operand_maximum = SIZE_MAX,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
