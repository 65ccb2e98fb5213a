/* SPDX-License-Identifier: Apache-2.0 */
/* collage costs: takes measured costs from one machine's store to another. */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

struct settings {
    bool replace;
};

static const struct option options[] = {
    { "replace", 'r', OPTION_FLAG, NULL, "import: costs that are there already are replaced",
      offsetof(struct settings, replace) },
};

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    const char *action = operands->items[0], *path = operands->items[1];
    bool is_import = strcmp(action, "import") == 0;
    if (!is_import && strcmp(action, "export") != 0) {
        complain(command_costs.name, "'%s' is neither export nor import", action);
        return EXIT_BAD_INPUT;
    }
    struct progress progress;
    collage_context *context;
    progress_begin(&progress, false);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    uint64_t count = 0;
    collage_status status = is_import
                                ? collage_costs_import(context, path, settings->replace, &count)
                                : collage_costs_export(context, path, &count);
    progress_end(&progress);
    if (status == COLLAGE_OK)
        printf(is_import ? "%" PRIu64 " costs were new and are taken.\n"
                         : "%" PRIu64 " costs are written.\n",
               count);
    else
        result = complain_of(context, status);
    collage_context_destroy(context);
    return result;
}

const struct command command_costs = {
    .name = "costs",
    .summary = "Export or import measured costs",
    .operands = "export|import FILE",
    .detail = "Writes all measured costs to FILE, or takes those of FILE into the store, all or "
              "none. A cost\nholds for the machine, the library's version and the number of "
              "threads it was measured\nwith, so costs of many machines may lie in one store.",
    .operand_minimum = 2,
    .operand_maximum = 2,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
