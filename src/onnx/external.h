/* SPDX-License-Identifier: Apache-2.0 */
/*
 * external.h: the files beside a model that hold its weights. Each is mapped once, never read. A
 * location is a relative path inside the model's folder; where its links lead is checked too.
 */
#ifndef COLLAGE_ONNX_EXTERNAL_H
#define COLLAGE_ONNX_EXTERNAL_H

#include "base/file.h"
#include "base/hash.h"
#include "graph/name_map.h"

struct external_files {
    const char *folder;      /* real path of the model's folder; NULL: external data are refused */
    struct name_map indices; /* location -> index of the mapping */
    struct mapping *mappings;
    size_t count, capacity;
    struct hash_state *identity; /* takes each file's name, size and date */
};

/* Finds the folder of the model. */
collage_status external_open(const char *model_path, struct external_files *files,
                             struct error *error);
/* The bytes of that range. location must outlive `files`. COLLAGE_ERROR_IO: the file is missing. */
collage_status external_range(struct external_files *files, const char *location, uint64_t offset,
                              uint64_t bytes, const void **data, struct error *error);
/* Frees all but the mappings, which the caller takes over (files->mappings is memory_alloc'ed). */
void external_close(struct external_files *files);

#endif
