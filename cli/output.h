/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: a file that appears whole or not at all: written beside its place, then moved. */
#ifndef COLLAGE_CLI_OUTPUT_H
#define COLLAGE_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
    const char *path;
    char *temporary;
    FILE *file;
    int problem; /* why a write failed; 0: none did */
};

/* Whether path could be written, before the work that makes its contents. 0, or an exit status
 * after complaining. */
int output_check(const char *command, const char *path);

int output_open(const char *command, const char *path, struct output *output);
/* collage_write_fn: user is an output. */
bool output_write(void *user, const char *bytes, size_t count);
/* Moves the file into its place; 0, or an exit status after complaining, with nothing left. */
int output_commit(const char *command, struct output *output);
/* Leaves nothing. */
void output_abort(struct output *output);

#endif
