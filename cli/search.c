/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    collage_search search;
} searches[] = {
    { "exact", COLLAGE_SEARCH_EXACT },         { "op-level", COLLAGE_SEARCH_OP_LEVEL },
    { "two-level", COLLAGE_SEARCH_TWO_LEVEL }, { "greedy", COLLAGE_SEARCH_GREEDY },
    { "brute", COLLAGE_SEARCH_BRUTE },
};

static int find_search(const char *command, const char *name, collage_search *search)
{
    for (size_t k = 0; k < sizeof searches / sizeof searches[0]; k++)
        if (strcmp(searches[k].name, name) == 0) {
            *search = searches[k].search;
            return EXIT_OK;
        }
    complain(command,
             "--search: '%s' is no search; give exact, op-level, two-level, greedy or brute", name);
    return EXIT_BAD_INPUT;
}

/* An option that would do nothing is a mistake. */
static int check_use(const char *command, const struct search_settings *settings,
                     collage_search search)
{
    const bool two_level = search == COLLAGE_SEARCH_TWO_LEVEL;
    const struct {
        const char *name;
        bool given, useful;
        const char *with;
    } rows[] = {
        { "kernel-cost", settings->kernel_cost > 0, two_level || search == COLLAGE_SEARCH_OP_LEVEL,
          "op-level or two-level" },
        { "search-time", settings->seconds > 0, two_level, "two-level" },
        { "search-generations", settings->generations > 0, two_level, "two-level" },
        { "search-seed", settings->seed > 0, two_level, "two-level" },
        { "allow-recompute", settings->recompute,
          search == COLLAGE_SEARCH_EXACT || search == COLLAGE_SEARCH_BRUTE, "exact or brute" },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (rows[k].given && !rows[k].useful) {
            complain(command, "--%s goes with --search %s only", rows[k].name, rows[k].with);
            return EXIT_BAD_INPUT;
        }
    return EXIT_OK;
}

/* Names of nodes may hold '=', those of backends do not. */
static int parse_pins(const char *command, const struct option_list *texts, struct pin_list *pins)
{
    size_t bytes = 1;
    for (size_t k = 0; k < texts->count; k++)
        bytes += strlen(texts->items[k]) + 1;
    pins->texts = malloc(bytes);
    if (!pins->texts) {
        complain(NULL, "out of memory");
        return EXIT_FAILED;
    }
    char *at = pins->texts;
    for (size_t k = 0; k < texts->count; k++) {
        size_t length = strlen(texts->items[k]) + 1;
        memcpy(at, texts->items[k], length);
        char *equals = strrchr(at, '=');
        if (!equals || equals == at || !equals[1]) {
            complain(command, "--place: '%s' is not NODE=BACKEND, such as 'conv*=onednn'",
                     texts->items[k]);
            return EXIT_BAD_INPUT;
        }
        *equals = '\0';
        pins->items[pins->count++] = (collage_pin){ .node = at, .backend = equals + 1 };
        at += length;
    }
    return EXIT_OK;
}

int search_parse(const char *command, const struct search_settings *settings,
                 collage_optimize_options *options, struct pin_list *pins)
{
    int result = EXIT_OK;
    if (settings->name)
        result = find_search(command, settings->name, &options->search);
    if (result == EXIT_OK)
        result = check_use(command, settings, options->search);
    if (result == EXIT_OK)
        result = parse_pins(command, &settings->places, pins);
    options->kernel_cost_ns = settings->kernel_cost;
    options->search_seconds = settings->seconds;
    options->search_generations = settings->generations;
    options->search_seed = (uint64_t)settings->seed;
    options->placement = settings->placement;
    options->allow_recompute = settings->recompute;
    options->pins = pins->items;
    options->pin_count = pins->count;
    return result;
}

void pins_free(struct pin_list *pins)
{
    free(pins->texts);
    pins->texts = NULL;
}
