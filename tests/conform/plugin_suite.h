/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_suite.h: what tests of one plugin share: its table without the host, sub-graphs from a
 * line of text, its refusals and variants.
 */
#ifndef CONFORM_PLUGIN_SUITE_H
#define CONFORM_PLUGIN_SUITE_H

#include "cases/case_graph.h"
#include "pattern/pattern.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SUITE_PORTS = 8 };

static inline const collage_backend_api *suite_plugin(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void *address = dlsym(library, COLLAGE_BACKEND_ENTRY_NAME);
    collage_backend_entry_fn entry;
    memcpy(&entry, &address, sizeof entry);
    assert_non_null(entry);
    assert_null(entry(COLLAGE_ABI_MAJOR + 1));
    const collage_backend_api *api = entry(COLLAGE_ABI_MAJOR);
    assert_non_null(api);
    return api;
}

/* A sub-graph from a case's text; destroy `made` after use. */
struct suite_case {
    struct case_graph made;
    struct region region;
    const collage_subgraph *subgraph;
};

static inline void suite_make(struct suite_case *made, const char *text)
{
    struct operator_case row = { "test", text, false };
    struct error error = { 0 };
    if (case_graph_create(&row, &made->made, &error) != COLLAGE_OK)
        fail_msg("%s", error.text);
    assert_int_equal(case_graph_subgraph(&made->made, 0, (uint32_t)made->made.graph->node_count,
                                         &made->region, &made->subgraph, &error),
                     COLLAGE_OK);
}

/* The plugin does not take it, and says so in one line that has `reason` in it. */
static inline void suite_refuses(const collage_backend_api *api, const collage_target *target,
                                 const char *text, const char *reason)
{
    struct suite_case made;
    collage_message why = { "" };
    suite_make(&made, text);
    if (api->supports(made.subgraph, target, &why))
        fail_msg("taken: %s", text);
    if (!why.text[0] || !strstr(why.text, reason) || strchr(why.text, '\n'))
        fail_msg("%s: '%s' does not say '%s'", text, why.text, reason);
    case_graph_destroy(&made.made);
}

/* The variants are exactly these: "name in,in>out", with the tags of layouts. */
static inline void suite_offers(const collage_backend_api *api, const collage_target *target,
                                const char *text, const char *const *expected)
{
    struct suite_case made;
    size_t k = 0;
    suite_make(&made, text);
    for (;; k++) {
        collage_layout inputs[SUITE_PORTS] = { { "" } }, outputs[SUITE_PORTS] = { { "" } };
        collage_variant variant = { .struct_size = sizeof variant,
                                    .inputs = inputs,
                                    .outputs = outputs };
        char line[128];
        if (!api->variant(made.subgraph, target, k, &variant))
            break;
        int count = snprintf(line, sizeof line, "%s ", variant.name);
        for (uint32_t i = 0; i < made.subgraph->input_count; i++)
            count += snprintf(line + count, sizeof line - (size_t)count, "%s%s", i ? "," : "",
                              inputs[i].tag);
        snprintf(line + count, sizeof line - (size_t)count, ">%s", outputs[0].tag);
        if (!expected[k])
            fail_msg("%s: unexpected variant %s", text, line);
        assert_string_equal(line, expected[k]);
    }
    if (expected[k])
        fail_msg("%s: no variant %s", text, expected[k]);
    case_graph_destroy(&made.made);
}

static inline void suite_patterns_parse(const collage_backend_api *api)
{
    assert_true(api->pattern_count > 0);
    for (size_t k = 0; k < api->pattern_count; k++) {
        struct pattern *pattern = NULL;
        struct error error = { 0 };
        if (pattern_parse(api->patterns[k].name, api->patterns[k].text, &pattern, &error) !=
            COLLAGE_OK)
            fail_msg("%s", error.text);
        pattern_destroy(pattern);
    }
}

/* Opening it with `variable` naming that file fails, in one line that has `reason` in it. */
static inline void suite_does_not_open(const collage_backend_api *api, const collage_target *target,
                                       const char *variable, const char *file, const char *reason)
{
    collage_backend *backend = NULL;
    collage_message message = { "" };
    setenv(variable, file, 1);
    assert_int_equal(api->open(NULL, target, &backend, &message), COLLAGE_ERROR_BACKEND);
    unsetenv(variable);
    assert_null(backend);
    if (!strstr(message.text, reason) || strchr(message.text, '\n'))
        fail_msg("'%s' does not say '%s'", message.text, reason);
}

/* Compiles the variant of that name; the layouts are those that the plugin gave it. */
static inline collage_status suite_compile(const collage_backend_api *api, collage_backend *backend,
                                           const collage_target *target,
                                           const struct suite_case *made, const char *name,
                                           collage_kernel **kernel, collage_message *message)
{
    collage_layout inputs[SUITE_PORTS] = { { "" } }, outputs[SUITE_PORTS] = { { "" } };
    collage_variant variant = { .struct_size = sizeof variant,
                                .inputs = inputs,
                                .outputs = outputs };
    for (size_t k = 0; api->variant(made->subgraph, target, k, &variant); k++) {
        if (strcmp(variant.name, name) == 0)
            break;
        memset(inputs, 0, sizeof inputs);
        memset(outputs, 0, sizeof outputs);
    }
    snprintf(variant.name, sizeof variant.name, "%s", name);
    const collage_compile_request request = { .struct_size = sizeof request,
                                              .subgraph = made->subgraph,
                                              .variant = &variant,
                                              .target = target };
    *kernel = NULL;
    return api->compile(backend, &request, kernel, message);
}

#endif
