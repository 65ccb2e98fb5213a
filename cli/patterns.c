/* SPDX-License-Identifier: Apache-2.0 */
/* collage patterns: files of patterns: whether they are well-formed, and what they mean in a model.
 */
#include <string.h>

#include "shapes.h"

struct settings {
    struct option_list shapes;
};

static const struct option options[] = {
    SHAPE_OPTION(struct settings),
};

enum action { ACTION_CHECK, ACTION_MATCH, ACTION_NONE };

static enum action find_action(const char *name)
{
    if (strcmp(name, "check") == 0)
        return ACTION_CHECK;
    if (strcmp(name, "match") == 0)
        return ACTION_MATCH;
    complain(command_patterns.name, "'%s' is neither check nor match", name);
    return ACTION_NONE;
}

/* Whether the operands and options fit the action; complains if not. */
static bool check(enum action action, const struct settings *settings,
                  const struct operands *operands)
{
    static const struct {
        const char *name, *missing;
        size_t operands;
    } actions[] = {
        [ACTION_CHECK] = { "check", "FILE", 2 }, [ACTION_MATCH] = { "match", "FILE MODEL", 3 }
    };
    const char *command = command_patterns.name;
    if (action == ACTION_NONE)
        return false;
    if (operands->count < actions[action].operands)
        complain(command, "%s: %s is missing; see 'collage patterns --help'", actions[action].name,
                 actions[action].missing);
    else if (operands->count > actions[action].operands)
        complain(command, "%s: '%s' is one argument too many; see 'collage patterns --help'",
                 actions[action].name, operands->items[actions[action].operands]);
    else if (settings->shapes.count && action == ACTION_CHECK)
        complain(command, "--shape goes with match, not with check");
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
    if (action == ACTION_MATCH) {
        result = match(context, settings, file, operands->items[2]);
    } else {
        collage_status status = collage_patterns_check(context, file, write_to_file, stdout);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
    }
    progress_end(&progress);
    collage_context_destroy(context);
    return result;
}

const struct command command_patterns = {
    .name = "patterns",
    .summary = "Check a file of patterns, or show what it means in a model",
    .operands = "check FILE|match FILE MODEL",
    .detail = "check reads FILE, which says what else backends could run as one kernel "
              "(docs/patterns.md), and\nprints its entries. match prints for each entry the nodes "
              "of MODEL, an ONNX file, that it means.\n'collage optimize --patterns FILE' offers "
              "them to the backends.",
    .operand_minimum = 1,
    .operand_maximum = SIZE_MAX,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
