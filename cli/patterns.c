/* SPDX-License-Identifier: Apache-2.0 */
/* collage patterns: files of patterns: whether they are well-formed, what they mean in a model,
 * which ones are offered always. */
#include <string.h>

#include "registered.h"
#include "shapes.h"

struct settings {
    struct option_list shapes;
    const char *target;
};

static const struct option options[] = {
    SHAPE_OPTION(struct settings),
    TARGET_OPTION(struct settings),
};

enum action { ACTION_CHECK, ACTION_MATCH, ACTION_LIST, ACTION_ADD, ACTION_REMOVE, ACTION_NONE };

static const struct {
    const char *name, *missing;
    size_t operands;
} actions[] = {
    [ACTION_CHECK] = { "check", "FILE", 2 },   [ACTION_MATCH] = { "match", "FILE MODEL", 3 },
    [ACTION_LIST] = { "list", "", 1 },         [ACTION_ADD] = { "add", "FILE", 2 },
    [ACTION_REMOVE] = { "remove", "FILE", 2 },
};

static enum action find_action(const char *name)
{
    enum action action = ACTION_CHECK;
    while (action < ACTION_NONE && strcmp(actions[action].name, name) != 0)
        action++;
    if (action == ACTION_NONE)
        complain(command_patterns.name, "'%s' is none of check, match, list, add and remove", name);
    return action;
}

/* Whether the operands and options fit the action; complains if not. */
static bool check(enum action action, const struct settings *settings,
                  const struct operands *operands)
{
    const char *command = command_patterns.name;
    if (action == ACTION_NONE)
        return false;
    if (operands->count < actions[action].operands)
        complain(command, "%s: %s is missing; see 'collage patterns --help'", actions[action].name,
                 actions[action].missing);
    else if (operands->count > actions[action].operands)
        complain(command, "%s: '%s' is one argument too many; see 'collage patterns --help'",
                 actions[action].name, operands->items[actions[action].operands]);
    else if (settings->shapes.count && action != ACTION_MATCH)
        complain(command, "--shape goes with match, not with %s", actions[action].name);
    else if (settings->target && action != ACTION_ADD && action != ACTION_REMOVE)
        complain(command, "--target goes with add and remove, not with %s", actions[action].name);
    else
        return true;
    return false;
}

static int match(collage_context *context, const struct settings *settings, const char *file,
                 const char *path)
{
    collage_model *model = NULL;
    int result = load_model(context, command_patterns.name, path, &settings->shapes, &model);
    if (result == EXIT_OK) {
        collage_status status = collage_patterns_match(context, model, file, write_to_file, stdout);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
    }
    collage_model_destroy(model);
    return result;
}

/* All but match: what can be done without a model. */
static int act(collage_context *context, const struct settings *settings, enum action action,
               const char *file)
{
    const collage_registration how = { .struct_size = sizeof how,
                                       .keep = true,
                                       .target = settings->target };
    collage_status status = COLLAGE_OK;
    if (action == ACTION_LIST)
        return print_registered(context, WHAT_PATTERNS);
    if (action == ACTION_CHECK)
        status = collage_patterns_check(context, file, write_to_file, stdout);
    else if (action == ACTION_ADD)
        status = collage_patterns_add(context, file, &how);
    else
        status = collage_patterns_remove(context, file, &how);
    if (status != COLLAGE_OK)
        return complain_of(context, status);
    if (action != ACTION_CHECK) {
        char shown[1024];
        collage_printable(shown, sizeof shown, file);
        printf("%s: %s\n", shown, action == ACTION_ADD ? "added" : "removed");
    }
    return EXIT_OK;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    enum action action = find_action(operands->items[0]);
    if (!check(action, settings, operands))
        return EXIT_BAD_INPUT;
    struct progress progress;
    collage_context *context;
    progress_begin(&progress, false);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    const char *file = operands->items[1];
    if (action == ACTION_MATCH)
        result = match(context, settings, file, operands->items[2]);
    else
        result = act(context, settings, action, file);
    progress_end(&progress);
    collage_context_destroy(context);
    return result;
}

const struct command command_patterns = {
    .name = "patterns",
    .summary = "Check, look at and register files of patterns",
    .operands = "check FILE|match FILE MODEL|list|add FILE|remove FILE",
    .detail = "check reads FILE, which says what else backends could run as one kernel "
              "(docs/patterns.md), and\nprints its entries. match prints for each entry the nodes "
              "of MODEL, an ONNX file, that it means.\n'collage optimize --patterns FILE' offers "
              "them to the backends; add makes that so for all later\nruns, remove ends it, list "
              "prints what was added.",
    .operand_minimum = 1,
    .operand_maximum = SIZE_MAX,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
