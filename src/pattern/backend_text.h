/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend_text.h: the patterns and rules that a plugin itself gives as text
 * (collage_backend_api.pattern_text), in the language of files of patterns. In: a backend's table;
 * out: entries that are for this backend.
 */
#ifndef COLLAGE_PATTERN_BACKEND_TEXT_H
#define COLLAGE_PATTERN_BACKEND_TEXT_H

#include "backend/registry.h"
#include "pattern/pattern_file.h"

/* *out is NULL if the backend has no such text. Errors name backend, line and column. */
collage_status backend_text_parse(const collage_backend_api *api, struct pattern_file **out,
                                  struct error *error);

/* Reads the text of one backend, or of all (from `first` on); those whose text does not parse
 * become malformed: without a table, with a problem. COLLAGE_ERROR_MEMORY only. */
collage_status backend_text_check(struct registry *registry, uint32_t first, struct error *error);

#endif
