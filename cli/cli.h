/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h: what the commands of `collage` share. The command is a thin user of <collage/collage.h>:
 * arguments and printing only. Results go to standard output; progress, warnings and the one line
 * that says why a command failed go to standard error.
 */
#ifndef COLLAGE_CLI_CLI_H
#define COLLAGE_CLI_CLI_H

#include <collage/collage.h>

#include "options.h"
#include "progress.h"

enum exit_status {
    EXIT_OK = 0,
    EXIT_WRONG_RESULT = 1, /* a result differs from the reference */
    EXIT_BAD_INPUT = 2,    /* bad usage, or a file that is missing, malformed or does not fit */
    EXIT_FAILED = 3        /* everything else */
};

/* A command: one row in main.c, one file each. */
struct command {
    const char *name;
    const char *summary;  /* one line of `collage --help` */
    const char *operands; /* as in the usage line: "MODEL" */
    const char *detail;   /* the text of `collage NAME --help` */
    size_t operand_minimum, operand_maximum;
    const struct option *options;
    size_t option_count;
    size_t settings_bytes; /* of the struct that the options' offsets point into; starts zeroed */
    int (*run)(const void *settings, const struct operands *operands);
};

extern const struct command command_costs, command_weights, command_optimize, command_run,
    command_verify, command_bench, command_bench_ops, command_inspect, command_backends,
    command_show, command_explain, command_measure, command_patterns;

/* One line on standard error: "collage: ...", or "collage COMMAND: ..." if command is not NULL. */
void complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit status that a library status means; complains with the context's message (NULL: with the
 * general text of the status). */
int complain_of(const collage_context *context, collage_status status);
/* The same with a message from elsewhere. */
int complain_with(collage_status status, const char *message);

/* A context whose progress and log lines go to `progress`. 0, or an exit status after complaining.
 */
int context_create(struct progress *progress, collage_context **out);
/* trust: code objects beside a plan, whoever may write them. */
int context_create_trusting(struct progress *progress, bool trust, collage_context **out);

/* collage_write_fn: user is a FILE. */
bool write_to_file(void *user, const char *bytes, size_t count);

/* Columns of the terminal behind a descriptor; 80 if it is none. */
int terminal_columns(int descriptor);

/* 0 and whether the file starts like a plan (JSON), or an exit status after complaining. */
int file_is_plan(const char *command, const char *path, bool *is_plan);

#endif
