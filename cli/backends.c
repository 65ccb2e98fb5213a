/* SPDX-License-Identifier: Apache-2.0 */
/* collage backends: which libraries there are. */
#include <jansson.h>
#include <stdlib.h>

#include "cli.h"

struct settings {
    bool json;
};

static const struct option options[] = {
    { "json", 0, OPTION_FLAG, NULL, "print a JSON array", offsetof(struct settings, json) },
};

static void print_text(const collage_backend_info *info)
{
    char name[64], version[64], problem[512];
    collage_printable(name, sizeof name, info->name);
    collage_printable(version, sizeof version, info->version);
    collage_printable(problem, sizeof problem, info->problem);
    printf("%-12s  %-11s  %-10s  %s\n", name, info->kind, *version ? version : "-",
           *problem ? problem : "available");
}

static bool add_json(json_t *list, const collage_backend_info *info)
{
    json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", info->name, "kind", info->kind,
                            "version", info->version, "file", info->file, "problem", info->problem);
    return row && json_array_append_new(list, row) == 0;
}

static int list_backends(collage_context *context, bool json)
{
    json_t *list = json ? json_array() : NULL;
    bool complete = !json || list;
    if (!json)
        printf("%-12s  %-11s  %-10s  %s\n", "backend", "kind", "version", "state");
    for (size_t k = 0; complete && k < collage_backend_count(context); k++) {
        collage_backend_info info = { .struct_size = sizeof info };
        collage_status status = collage_backend_describe(context, k, &info);
        if (status != COLLAGE_OK) {
            json_decref(list);
            return complain_of(context, status);
        }
        if (json)
            complete = add_json(list, &info);
        else
            print_text(&info);
    }
    if (complete && json)
        complete = json_dumpf(list, stdout, JSON_INDENT(2)) == 0 && putchar('\n') == '\n';
    json_decref(list);
    if (!complete)
        complain(NULL, "the list cannot be written");
    return complete ? EXIT_OK : EXIT_FAILED;
}

static int run(const void *data, const struct operands *operands)
{
    (void)operands;
    const struct settings *settings = data;
    struct progress progress = { 0 };
    collage_context *context;
    int result = context_create(&progress, &context);
    if (result != EXIT_OK)
        return result;
    result = list_backends(context, settings->json);
    collage_context_destroy(context);
    return result;
}

const struct command command_backends = {
    .name = "backends",
    .summary = "List the libraries that can be used here",
    .detail = "Lists the backends: name, kind, version of the library, and why one is not "
              "available. Each\nlibrary is opened in a process of its own to ask it.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
