/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures by Graphviz. Of its plugins only the dot layout and the SVG renderer are used, loaded by
 * name: with its own choice it would take Pango for measuring text, which reads a font after it was
 * freed when a second context is made in a process (Graphviz 2.43), and would draw differently on
 * machines with other fonts.
 */
#include "report/parts.h"

#include <dlfcn.h>
#include <gvc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Graphviz keeps state of its own for the whole process: one thread at a time. */
static pthread_mutex_t graphviz_lock = PTHREAD_MUTEX_INITIALIZER;

/* Its messages go nowhere: a library does not print. */
static int ignore_message(char *message)
{
    (void)message;
    return 0;
}

/* The plugin's table: from the folder "graphviz" beside libgvc. It stays loaded. */
static void *find_plugin(const char *name)
{
    GVC_t *(*function)(const lt_symlist_t *, int) = gvContextPlugins;
    void *address;
    memcpy(&address, &function, sizeof address); /* ISO C has no cast for this */
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    char path[4096], symbol[96];
    snprintf(path, sizeof path, "%.*sgraphviz/libgvplugin_%s.so.6", folder, info.dli_fname, name);
    snprintf(symbol, sizeof symbol, "gvplugin_%s_LTX_library", name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, symbol) : NULL;
}

static collage_status render(GVC_t *context, const char *dot, struct text *out, struct error *error)
{
    Agraph_t *graph = agmemread(dot);
    if (!graph)
        return error_set(error, COLLAGE_ERROR_INTERNAL, "Graphviz does not take the plan");
    char *data = NULL;
    unsigned int bytes = 0;
    collage_status status = COLLAGE_OK;
    if (gvLayout(context, graph, "dot") != 0 ||
        gvRenderData(context, graph, "svg", &data, &bytes) != 0 || !data)
        status = error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                           "Graphviz cannot draw the plan: write it as DOT instead");
    else
        text_append(out, data, bytes);
    gvFreeRenderData(data);
    gvFreeLayout(context, graph);
    agclose(graph);
    return status;
}

static collage_status draw(const char *dot, struct text *out, struct error *error)
{
    void *layout = find_plugin("dot_layout"), *core = find_plugin("core");
    if (!layout || !core)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "Graphviz's plugins are not beside its library: write the plan as DOT "
                         "instead");
    char layout_name[] = "gvplugin_dot_layout_LTX_library",
         core_name[] = "gvplugin_core_LTX_library";
    const lt_symlist_t plugins[] = { { layout_name, layout }, { core_name, core }, { NULL, NULL } };
    agusererrf before = agseterrf(ignore_message);
    GVC_t *context = gvContextPlugins(plugins, 0);
    collage_status status = context ? render(context, dot, out, error) : error_memory(error);
    if (context)
        gvFreeContext(context);
    agseterrf(before);
    return status;
}

collage_status report_svg(const struct text *dot, struct text *out, struct error *error)
{
    pthread_mutex_lock(&graphviz_lock);
    collage_status status = draw(dot->bytes, out, error);
    pthread_mutex_unlock(&graphviz_lock);
    return status;
}
