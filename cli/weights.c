/* SPDX-License-Identifier: Apache-2.0 */
/* collage weights: makes the weights of a benchmark network. */
#include "cli.h"

struct settings {
    const char *output;
};

static const struct option options[] = {
    { "output", 'o', OPTION_TEXT, "DIR", "put a copy of the model and its weights there",
      offsetof(struct settings, output) },
};

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    struct progress progress;
    collage_context *context;
    progress_begin(&progress, false);
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    uint64_t bytes = 0;
    collage_status status =
        collage_weights_fill(context, operands->items[0], settings->output, &bytes);
    progress_end(&progress);
    if (status == COLLAGE_OK)
        printf("Wrote the weights of %s (%.1f MB)%s%s.\n", operands->items[0], (double)bytes / 1e6,
               settings->output ? ", and a copy of it, to " : "",
               settings->output ? settings->output : "");
    else
        result = complain_of(context, status);
    collage_context_destroy(context);
    return result;
}

const struct command command_weights = {
    .name = "weights",
    .summary = "Make the weights of a benchmark network",
    .operands = "MODEL",
    .detail = "Writes the external weights of MODEL, an ONNX file that states a rule for making "
              "them\n(those in bench/networks do; docs/networks.md has the rule). Without --output "
              "they go\nbeside MODEL.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
