/* SPDX-License-Identifier: Apache-2.0 */
/* collage costs: the store of measured costs: looking through it, exchanging it, tidying it up; and
 * files of costs that are given instead. */
#include <inttypes.h>
#include <string.h>

#include "registered.h"

struct settings {
    const char *backend, *op_type, *device, *target;
    double older;
    bool failed, uninstalled, replace;
};

static const struct option options[] = {
    { "backend", 'b', OPTION_TEXT, "NAME", "list, prune: costs of this backend",
      offsetof(struct settings, backend) },
    { "operator", 'o', OPTION_TEXT, "OP",
      "list, prune: costs of this operator, or of a 'transition'",
      offsetof(struct settings, op_type) },
    { "device", 'd', OPTION_TEXT, "ID", "list, prune: costs of this machine, or 'here'",
      offsetof(struct settings, device) },
    { "older", 0, OPTION_SECONDS, "TIME", "list, prune: longer in the store than this, such as 90d",
      offsetof(struct settings, older) },
    { "failed", 0, OPTION_FLAG, NULL, "list, prune: failures", offsetof(struct settings, failed) },
    { "uninstalled", 0, OPTION_FLAG, NULL,
      "list, prune: of library versions that are not installed here",
      offsetof(struct settings, uninstalled) },
    { "replace", 'r', OPTION_FLAG, NULL, "import, merge: costs that are there already are replaced",
      offsetof(struct settings, replace) },
    TARGET_OPTION(struct settings),
};

static collage_costs_filter filter_of(const struct settings *settings)
{
    return (collage_costs_filter){ .struct_size = sizeof(collage_costs_filter),
                                   .backend = settings->backend,
                                   .op_type = settings->op_type,
                                   .device = settings->device,
                                   .older_seconds = settings->older,
                                   .failed = settings->failed,
                                   .uninstalled = settings->uninstalled };
}

static bool has_filter(const struct settings *settings)
{
    return settings->backend || settings->op_type || settings->device || settings->older > 0 ||
           settings->failed || settings->uninstalled;
}

/* ---- the actions: each prints one line of result ---- */

static collage_status list(collage_context *context, const struct settings *settings,
                           const char *const *files, size_t file_count)
{
    (void)files, (void)file_count;
    uint64_t count = 0;
    const collage_costs_filter filter = filter_of(settings);
    collage_status status = collage_costs_list(context, &filter, write_to_file, stdout, &count);
    if (status == COLLAGE_OK)
        printf("%" PRIu64 " costs are listed.\n", count);
    return status;
}

/* ---- given costs ---- */

static collage_registration registration_of(const struct settings *settings)
{
    return (collage_registration){ .struct_size = sizeof(collage_registration),
                                   .keep = true,
                                   .target = settings->target };
}

static collage_status tell(collage_status status, const char *file, const char *what)
{
    char shown[1024];
    collage_printable(shown, sizeof shown, file);
    if (status == COLLAGE_OK)
        printf("%s: %s\n", shown, what);
    return status;
}

static collage_status add(collage_context *context, const struct settings *settings,
                          const char *const *files, size_t file_count)
{
    (void)file_count;
    const collage_registration how = registration_of(settings);
    return tell(collage_costs_add(context, files[0], &how), files[0], "added");
}

static collage_status replace(collage_context *context, const struct settings *settings,
                              const char *const *files, size_t file_count)
{
    (void)file_count;
    collage_registration how = registration_of(settings);
    how.replace = true;
    how.name = files[0];
    return tell(collage_costs_add(context, files[1], &how), files[0], "replaced");
}

static collage_status take_away(collage_context *context, const struct settings *settings,
                                const char *const *files, size_t file_count)
{
    (void)file_count;
    const collage_registration how = registration_of(settings);
    return tell(collage_costs_remove(context, files[0], &how), files[0], "removed");
}

/* ---- the store ---- */

static collage_status export(collage_context *context, const struct settings *settings,
                             const char *const *files, size_t file_count)
{
    (void)settings, (void)file_count;
    uint64_t count = 0;
    collage_status status = collage_costs_export(context, files[0], &count);
    if (status == COLLAGE_OK)
        printf("%" PRIu64 " costs are written.\n", count);
    return status;
}

static collage_status import(collage_context *context, const struct settings *settings,
                             const char *const *files, size_t file_count)
{
    (void)file_count;
    uint64_t count = 0;
    collage_status status = collage_costs_import(context, files[0], settings->replace, &count);
    if (status == COLLAGE_OK)
        printf("%" PRIu64 " costs were new and are taken.\n", count);
    return status;
}

static collage_status merge(collage_context *context, const struct settings *settings,
                            const char *const *files, size_t file_count)
{
    uint64_t total = 0;
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < file_count && status == COLLAGE_OK; k++) {
        uint64_t count = 0;
        status = collage_costs_merge(context, files[k], settings->replace, &count);
        total += count;
    }
    if (status == COLLAGE_OK)
        printf("%" PRIu64 " costs were new or better and are taken.\n", total);
    return status;
}

static collage_status prune(collage_context *context, const struct settings *settings,
                            const char *const *files, size_t file_count)
{
    (void)files, (void)file_count;
    uint64_t removed = 0, left = 0;
    const collage_costs_filter filter = filter_of(settings);
    collage_status status = collage_costs_prune(context, &filter, &removed, &left);
    if (status == COLLAGE_OK)
        printf("%" PRIu64 " costs are removed, %" PRIu64 " are left.\n", removed, left);
    return status;
}

static const struct action {
    const char *name;
    size_t least_files, most_files;
    bool filter, needs_filter, replace, target; /* which options it takes, and which it needs */
    collage_status (*run)(collage_context *context, const struct settings *settings,
                          const char *const *files, size_t file_count);
} actions[] = {
    { "list", 0, 0, true, false, false, false, list },
    { "export", 1, 1, false, false, false, false, export },
    { "import", 1, 1, false, false, true, false, import },
    { "merge", 1, SIZE_MAX, false, false, true, false, merge },
    { "prune", 0, 0, true, true, false, false, prune },
    { "add", 1, 1, false, false, false, true, add },
    { "replace", 2, 2, false, false, false, true, replace },
    { "remove", 1, 1, false, false, false, true, take_away },
};

static const struct action *find_action(const char *name)
{
    for (size_t k = 0; k < sizeof actions / sizeof actions[0]; k++)
        if (strcmp(actions[k].name, name) == 0)
            return &actions[k];
    complain(command_costs.name,
             "'%s' is none of list, export, import, merge, prune, add, replace and remove", name);
    return NULL;
}

/* Whether the operands and options fit the action; complains if not. */
static bool check(const struct action *action, const struct settings *settings,
                  const struct operands *operands)
{
    const char *command = command_costs.name;
    size_t files = operands->count - 1;
    if (files < action->least_files)
        complain(command, "%s: %s is missing; see 'collage costs --help'", action->name,
                 action->least_files > 1 ? "FILE NEW" : "FILE");
    else if (files > action->most_files)
        complain(command, "%s: '%s' is one argument too many; see 'collage costs --help'",
                 action->name, operands->items[action->most_files + 1]);
    else if (settings->replace && !action->replace)
        complain(command, "--replace goes with import and merge, not with %s", action->name);
    else if (settings->target && !action->target)
        complain(command, "--target goes with add, replace and remove, not with %s", action->name);
    else if (has_filter(settings) && !action->filter)
        complain(command, "a choice of costs goes with list and prune, not with %s", action->name);
    else if (!has_filter(settings) && action->needs_filter)
        complain(command,
                 "%s: which costs? give --older, --uninstalled, --failed, --backend, --operator "
                 "or --device",
                 action->name);
    else
        return true;
    return false;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    const struct action *action = find_action(operands->items[0]);
    if (!action || !check(action, settings, operands))
        return EXIT_BAD_INPUT;
    struct progress progress;
    collage_context *context;
    progress_begin(&progress, false);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    collage_status status =
        action->run(context, settings, operands->items + 1, operands->count - 1);
    progress_end(&progress);
    if (status != COLLAGE_OK)
        result = complain_of(context, status);
    else if (action->run == list)
        result = print_registered(context, WHAT_COSTS);
    collage_context_destroy(context);
    return result;
}

const struct command command_costs = {
    .name = "costs",
    .summary = "List, exchange, merge or prune measured costs; add files of given ones",
    .operands = "list|export|import|merge|prune|add|replace|remove [FILE...]",
    .detail =
        "list prints the costs that are kept. export writes all to FILE, import takes those "
        "of FILE into\nthe store. merge takes other stores (costs.sqlite, or its folder, or "
        "what export wrote): of two\ncosts of one kernel the lower one stays. prune removes "
        "costs: those that fit all options; list\nwith the same options shows which. Each "
        "file is taken or written as a whole or not at all. A\ncost holds for the machine, "
        "the library's version and the number of threads it was measured\nwith, so costs of "
        "many machines may lie in one store.\nadd FILE takes a file of costs that are given "
        "instead of measured (docs/measuring.md), for all\nlater runs; replace FILE NEW takes "
        "another in its place, remove FILE ends it. list shows them, too.",
    .operand_minimum = 1,
    .operand_maximum = SIZE_MAX,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
