/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_list.h: the list that says where plugins are, as $COLLAGE_PLUGINS has it, and what it
 * means. Its parts are separated by ':'; the first part that speaks of a name decides:
 *     /folder          all collage_*.so in it, in the order of their names
 *     /folder/any.so   this plugin
 *     !name            no backend of this name
 */
#ifndef COLLAGE_BACKEND_PLUGIN_LIST_H
#define COLLAGE_BACKEND_PLUGIN_LIST_H

#include "base/error.h"

struct plugin_item {
    char *text; /* the path of a plugin; off: a name */
    bool named; /* the list names the file, not its folder */
    bool off;
};

struct plugin_list {
    struct plugin_item *items;
    size_t count, capacity;
};

/* What is missing is warned of. Free it also after a failure. */
collage_status plugin_list_make(const char *list, const collage_host *host, struct plugin_list *out,
                                struct error *error);
void plugin_list_free(struct plugin_list *list);

/* "onednn" of "/folder/collage_onednn.so": *length characters from the result on. */
const char *plugin_name_of_file(const char *path, size_t *length);

#endif
