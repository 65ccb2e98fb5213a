/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: command lines by table. An option says where in the command's settings struct its
 * value goes; the same table gives the help text. Long options are --name VALUE or --name=VALUE,
 * short ones -n VALUE or -nVALUE; "--" ends them; the rest are operands.
 */
#ifndef COLLAGE_CLI_OPTIONS_H
#define COLLAGE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPTION_LIST_MAXIMUM    64
#define OPTION_DEFAULT_SECONDS 60.0

enum option_kind {
    OPTION_FLAG,         /* bool; takes no value */
    OPTION_TEXT,         /* const char * */
    OPTION_COUNT,        /* int32_t, 1 or more */
    OPTION_SOME_SECONDS, /* as OPTION_SECONDS; without a value it is OPTION_DEFAULT_SECONDS */
    OPTION_SECONDS,      /* double: 90, 90s, 5m, 1.5h, 30d; more than 0 */
    OPTION_NANOSECONDS,  /* double: 30ns, 10us, 0.01ms; more than 0 */
    OPTION_PRECISION,    /* collage_precision */
    OPTION_LIST          /* struct option_list; may be given several times */
};

struct option {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum option_kind kind;
    const char *value; /* what the help calls the value; NULL for a flag */
    const char *help;
    size_t offset; /* in the settings */
};

struct option_list {
    const char *items[OPTION_LIST_MAXIMUM];
    size_t count;
};

struct operands {
    const char **items;
    size_t count;
};

struct command;

enum options_result { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_BAD };

/* Fills settings (zeroed by the caller) and operands (items: room for argc) from argv[0..argc).
 * OPTIONS_HELP: --help was among them. OPTIONS_BAD: has complained. */
enum options_result options_parse(const struct command *command, int argc, char **argv,
                                  void *settings, struct operands *operands);

/* The text of `collage COMMAND --help`. */
void options_help(const struct command *command, FILE *file);

#endif
