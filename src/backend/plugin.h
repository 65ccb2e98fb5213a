/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.h: one plugin file: loaded, asked for its table, and the table checked. What comes out is
 * a table of the host's own size (what an older plugin does not have is NULL), or a problem in
 * words.
 */
#ifndef COLLAGE_BACKEND_PLUGIN_H
#define COLLAGE_BACKEND_PLUGIN_H

#include "base/error.h"
#include "base/memory.h"

/* Copies a plugin's table into the arena after checking it. COLLAGE_ERROR_BACKEND names what is
 * wrong. */
collage_status plugin_check_table(struct arena *arena, const collage_backend_api *table,
                                  const collage_backend_api **out, struct error *error);

/* *library is the dlopen handle; it is never closed: libraries with thread pools crash when they
 * are unloaded. */
collage_status plugin_load(struct arena *arena, const char *path, const collage_backend_api **out,
                           void **library, struct error *error);

#endif
