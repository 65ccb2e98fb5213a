/* SPDX-License-Identifier: Apache-2.0 */
/* collage backends: which libraries there are; adding, replacing and removing them. */
#include <stdlib.h>
#include <string.h>

#include "registered.h"

struct settings {
    bool json;
    const char *target;
};

static const struct option options[] = {
    TARGET_OPTION(struct settings),
    { "json", 0, OPTION_FLAG, NULL, "list: print a JSON array", offsetof(struct settings, json) },
};

static void print_text(const collage_backend_info *info)
{
    char name[64], version[64], problem[512];
    collage_printable(name, sizeof name, info->name);
    collage_printable(version, sizeof version, info->version);
    collage_printable(problem, sizeof problem, info->problem);
    printf("%-12s  %-11s  %-10s  %8zu  %s\n", name, info->kind, *version ? version : "-",
           info->patterns, *problem ? problem : "available");
}

static int list_backends(collage_context *context)
{
    printf("%-12s  %-11s  %-10s  %-8s  %s\n", "backend", "kind", "version", "patterns", "state");
    for (size_t k = 0; k < collage_backend_count(context); k++) {
        collage_backend_info info = { .struct_size = sizeof info };
        collage_status status = collage_backend_describe(context, k, &info);
        if (status != COLLAGE_OK)
            return complain_of(context, status);
        print_text(&info);
    }
    return print_registered(context, WHAT_BACKENDS);
}

/* ---- the actions ---- */

static int list(collage_context *context, const struct settings *settings,
                const char *const *operands)
{
    (void)operands;
    if (!settings->json)
        return list_backends(context);
    collage_status status = collage_backends_report(context, write_to_file, stdout);
    return status == COLLAGE_OK ? EXIT_OK : complain_of(context, status);
}

static collage_registration registration_of(const struct settings *settings)
{
    return (collage_registration){ .struct_size = sizeof(collage_registration),
                                   .keep = true,
                                   .target = settings->target };
}

/* what: "added"; name: of the backend, or its plugin. */
static int tell(collage_context *context, collage_status status, const char *name, const char *what)
{
    char shown[1024];
    if (status != COLLAGE_OK)
        return complain_of(context, status);
    collage_printable(shown, sizeof shown, name);
    printf("%s: %s\n", shown, what);
    return EXIT_OK;
}

static int add(collage_context *context, const struct settings *settings,
               const char *const *operands)
{
    const collage_registration how = registration_of(settings);
    return tell(context, collage_backend_add(context, operands[0], &how), operands[0], "added");
}

static int replace(collage_context *context, const struct settings *settings,
                   const char *const *operands)
{
    collage_registration how = registration_of(settings);
    how.replace = true;
    how.name = operands[0];
    return tell(context, collage_backend_add(context, operands[1], &how), operands[0], "replaced");
}

static int take_away(collage_context *context, const struct settings *settings,
                     const char *const *operands)
{
    const collage_registration how = registration_of(settings);
    return tell(context, collage_backend_remove(context, operands[0], &how), operands[0],
                "removed");
}

static int restore(collage_context *context, const struct settings *settings,
                   const char *const *operands)
{
    const collage_registration how = registration_of(settings);
    return tell(context, collage_backend_restore(context, operands[0], &how), operands[0],
                "as if nothing was registered");
}

static const struct action {
    const char *name;
    size_t operands;
    const char *missing;
    int (*run)(collage_context *context, const struct settings *settings,
               const char *const *operands);
} actions[] = {
    { "list", 0, "", list },
    { "add", 1, "PLUGIN", add },
    { "replace", 2, "NAME PLUGIN", replace },
    { "remove", 1, "NAME", take_away },
    { "restore", 1, "NAME", restore },
};
enum { ACTION_COUNT = sizeof actions / sizeof actions[0] };

/* NULL after complaining. */
static const struct action *find_action(const struct settings *settings,
                                        const struct operands *operands)
{
    const char *name = operands->count ? operands->items[0] : "list";
    const size_t given = operands->count ? operands->count - 1 : 0;
    size_t k = 0;
    while (k < ACTION_COUNT && strcmp(actions[k].name, name) != 0)
        k++;
    if (k == ACTION_COUNT)
        complain(command_backends.name, "'%s' is none of list, add, replace, remove and restore",
                 name);
    else if (given < actions[k].operands)
        complain(command_backends.name, "%s: %s is missing; see 'collage backends --help'", name,
                 actions[k].missing);
    else if (given > actions[k].operands)
        complain(command_backends.name,
                 "%s: '%s' is one argument too many; see 'collage backends --help'", name,
                 operands->items[actions[k].operands + 1]);
    else if (k != 0 && settings->json)
        complain(command_backends.name, "--json goes with list, not with %s", name);
    else if (k == 0 && settings->target)
        complain(command_backends.name, "--target does not go with list");
    else
        return &actions[k];
    return NULL;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    const struct action *action = find_action(settings, operands);
    if (!action)
        return EXIT_BAD_INPUT;
    struct progress progress = { 0 };
    collage_context *context;
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    result = action->run(context, settings, operands->items + 1);
    collage_context_destroy(context);
    return result;
}

const struct command command_backends = {
    .name = "backends",
    .summary = "List the libraries that can be used here, add and remove them",
    .operands = "[list|add PLUGIN|replace NAME PLUGIN|remove NAME|restore NAME]",
    .detail =
        "list, which is meant if nothing is given, lists the backends: name, kind, version of the "
        "library,\nhow many patterns it gives itself, and why one is not available. Each library "
        "is opened in a\nprocess of its own to ask it. add takes a plugin, a file; replace takes "
        "one instead of the backend\nof that name; remove switches a backend off, or forgets what "
        "was added; restore forgets all that was\nsaid about a name. What is added is checked, "
        "and kept in the registry file for all later runs.",
    .operand_maximum = SIZE_MAX,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
