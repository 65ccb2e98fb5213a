/* SPDX-License-Identifier: Apache-2.0 */
/* collage inspect: what a model holds. */
#include "shapes.h"

struct settings {
    bool text;
    struct option_list shapes;
};

static const struct option options[] = {
    { "text", 0, OPTION_FLAG, NULL, "print the whole canonical graph (docs/graph-text.md)",
      offsetof(struct settings, text) },
    SHAPE_OPTION(struct settings),
};

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    struct progress progress = { 0 };
    collage_context *context;
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    collage_model *model = NULL;
    result =
        load_model(context, command_inspect.name, operands->items[0], &settings->shapes, &model);
    if (result == EXIT_OK) {
        collage_status status =
            collage_model_print(context, model, !settings->text, write_to_file, stdout);
        if (status != COLLAGE_OK)
            result = complain_of(context, status);
    }
    collage_model_destroy(model);
    collage_context_destroy(context);
    return result;
}

const struct command command_inspect = {
    .name = "inspect",
    .summary = "Show what a model holds",
    .operands = "MODEL",
    .detail = "Loads MODEL, an ONNX file, and prints its inputs, outputs, operators and sizes, as "
              "they are\nafter shape inference and simplification.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
