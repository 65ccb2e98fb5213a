/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h: files. Reading maps them; writing goes to a temporary file beside the target, which takes
 * its place only when it is whole, so that no reader ever sees half a file and a failure leaves the
 * old one.
 */
#ifndef COLLAGE_BASE_FILE_H
#define COLLAGE_BASE_FILE_H

#include "base/error.h"

struct mapping {
    const void *data; /* NULL for an empty file */
    size_t bytes;
};

/* Maps a regular file read-only and privately. Errors name the path. */
collage_status file_map(const char *path, struct mapping *out, struct error *error);
void file_unmap(struct mapping *mapping);

/* Streams a new file into place. */
struct file_writer;
collage_status file_writer_open(const char *path, struct file_writer **out, struct error *error);
collage_status file_writer_write(struct file_writer *writer, const void *data, size_t bytes,
                                 struct error *error);
/* Moves it into place and frees the writer; on failure the old file is untouched. */
collage_status file_writer_commit(struct file_writer *writer, struct error *error);
/* Drops it (NULL is fine). */
void file_writer_abort(struct file_writer *writer);

/* All at once. */
collage_status file_write(const char *path, const void *data, size_t bytes, struct error *error);
/* The same; nobody but the user may read or write the file. */
collage_status file_write_private(const char *path, const void *data, size_t bytes,
                                  struct error *error);
/* The same; all may read the file, and only the user may write it, whatever the umask. */
collage_status file_write_readable(const char *path, const void *data, size_t bytes,
                                   struct error *error);

/* Could somebody else than the user or root have written it? "belongs to another user", "may be
 * written by other users", or NULL. */
struct stat;
const char *file_owner_problem(const struct stat *info);

bool file_exists(const char *path);
/* mkdir -p, mode 0700 for what is new. */
collage_status file_make_directory(const char *path, struct error *error);

#endif
