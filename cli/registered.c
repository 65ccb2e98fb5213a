/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "registered.h"

static void print_entry(const collage_registered_info *info)
{
    char target[128], name[64], path[1024], problem[512];
    collage_printable(target, sizeof target, info->target);
    collage_printable(name, sizeof name, info->name);
    collage_printable(path, sizeof path, info->path);
    collage_printable(problem, sizeof problem, info->problem);
    printf("  %-8s  %s%s%s%s", info->kind, name, *name && *path ? "  " : "", path,
           info->kept ? "" : "  (this run only)");
    if (strcmp(target, "any") != 0)
        printf("  for %s%s", target, info->here ? "" : " (another machine)");
    printf("%s%s\n", *problem ? ": " : "", problem);
}

static enum registered_what what_is(const char *kind)
{
    if (strcmp(kind, "patterns") == 0)
        return WHAT_PATTERNS;
    return strcmp(kind, "costs") == 0 || strcmp(kind, "function") == 0 ? WHAT_COSTS : WHAT_BACKENDS;
}

int print_registered(collage_context *context, enum registered_what what)
{
    char file[1024];
    bool any = false;
    collage_printable(file, sizeof file, collage_registry_file(context));
    for (size_t k = 0; k < collage_registered_count(context); k++) {
        collage_registered_info info = { .struct_size = sizeof info };
        collage_status status = collage_registered_describe(context, k, &info);
        if (status != COLLAGE_OK)
            return complain_of(context, status);
        if (what_is(info.kind) != what)
            continue;
        if (!any)
            printf("%sRegistered in %s:\n", what == WHAT_PATTERNS ? "" : "\n", file);
        any = true;
        print_entry(&info);
    }
    if (!any && what == WHAT_PATTERNS)
        printf("No file of patterns is registered in %s.\n", file);
    return EXIT_OK;
}

int add_run_files(collage_context *context, const struct run_files *files)
{
    collage_status status = COLLAGE_OK;
    for (size_t k = 0; k < files->patterns.count && status == COLLAGE_OK; k++)
        status = collage_patterns_add(context, files->patterns.items[k], NULL);
    for (size_t k = 0; k < files->costs.count && status == COLLAGE_OK; k++)
        status = collage_costs_add(context, files->costs.items[k], NULL);
    return status == COLLAGE_OK ? EXIT_OK : complain_of(context, status);
}
