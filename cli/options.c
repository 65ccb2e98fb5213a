/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool bad(const struct command *command, const struct option *option, const char *value,
                const char *what, const char *instead)
{
    complain(command->name, "--%s: '%s' is not %s; give %s", option->name, value, what, instead);
    return false;
}

static bool set_flag(const struct command *command, const struct option *option, void *target,
                     const char *value)
{
    (void)command, (void)option, (void)value;
    *(bool *)target = true;
    return true;
}

static bool set_text(const struct command *command, const struct option *option, void *target,
                     const char *value)
{
    if (!*value)
        return bad(command, option, value, "a value", option->value);
    *(const char **)target = value;
    return true;
}

static bool set_count(const struct command *command, const struct option *option, void *target,
                      const char *value)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end)
        return bad(command, option, value, "a number", "a whole number, such as 2");
    if (errno || number < 1 || number > 1000000)
        return bad(command, option, value, "in range", "a whole number from 1 to 1000000");
    *(int32_t *)target = (int32_t)number;
    return true;
}

static bool set_precision(const struct command *command, const struct option *option, void *target,
                          const char *value)
{
    bool strict = strcmp(value, "strict") == 0;
    if (!strict && strcmp(value, "default") != 0)
        return bad(command, option, value, "a precision", "strict or default");
    *(collage_precision *)target = strict ? COLLAGE_PRECISION_STRICT : COLLAGE_PRECISION_DEFAULT;
    return true;
}

struct time_unit {
    const char *suffix; /* NULL ends the list */
    double factor;
};

/* A number and one of the units, more than 0. */
static bool set_time(const struct command *command, const struct option *option, double *target,
                     const char *value, const struct time_unit *units, const char *what)
{
    char *end;
    double number = strtod(value, &end);
    for (; units->suffix; units++) {
        if (end == value || strcmp(end, units->suffix) != 0 || !isfinite(number))
            continue;
        if (number <= 0)
            return bad(command, option, value, "in range", "a time of more than 0");
        *target = number * units->factor;
        return true;
    }
    return bad(command, option, value, "a time", what);
}

static bool set_seconds(const struct command *command, const struct option *option, void *target,
                        const char *value)
{
    static const struct time_unit units[] = { { "", 1 },     { "s", 1 },     { "m", 60 },
                                              { "h", 3600 }, { "d", 86400 }, { NULL, 0 } };
    return set_time(command, option, target, value, units,
                    "a number of seconds, or one such as 90s or 5m");
}

static bool set_some_seconds(const struct command *command, const struct option *option,
                             void *target, const char *value)
{
    if (value)
        return set_seconds(command, option, target, value);
    *(double *)target = OPTION_DEFAULT_SECONDS;
    return true;
}

static bool set_nanoseconds(const struct command *command, const struct option *option,
                            void *target, const char *value)
{
    static const struct time_unit units[] = {
        { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { NULL, 0 }
    };
    return set_time(command, option, target, value, units, "one such as 30ns, 10us or 0.01ms");
}

static bool add_to_list(const struct command *command, const struct option *option, void *target,
                        const char *value)
{
    struct option_list *list = target;
    if (list->count == OPTION_LIST_MAXIMUM) {
        complain(command->name, "--%s: given more than %d times", option->name,
                 OPTION_LIST_MAXIMUM);
        return false;
    }
    list->items[list->count++] = value;
    return true;
}

typedef bool (*option_setter)(const struct command *command, const struct option *option,
                              void *target, const char *value);
static const option_setter setters[] = {
    [OPTION_FLAG] = set_flag,
    [OPTION_TEXT] = set_text,
    [OPTION_COUNT] = set_count,
    [OPTION_SECONDS] = set_seconds,
    [OPTION_SOME_SECONDS] = set_some_seconds,
    [OPTION_NANOSECONDS] = set_nanoseconds,
    [OPTION_PRECISION] = set_precision,
    [OPTION_LIST] = add_to_list,
};

/* What follows an option whose value may be left out: its value, or the next argument? */
static bool begins_number(const char *argument)
{
    return argument[0] >= '0' && argument[0] <= '9';
}

/* The option that argument names; *value: what follows in the same argument, or NULL. */
static const struct option *find_option(const struct command *command, const char *argument,
                                        const char **value)
{
    *value = NULL;
    bool is_long = argument[1] == '-';
    const char *equals = is_long ? strchr(argument, '=') : NULL;
    size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument + 1) - is_long;
    for (size_t k = 0; k < command->option_count; k++) {
        const struct option *option = &command->options[k];
        if (is_long) {
            if (strlen(option->name) != length || strncmp(option->name, argument + 2, length) != 0)
                continue;
            *value = equals ? equals + 1 : NULL;
            return option;
        }
        if (option->letter && option->letter == argument[1]) {
            *value = argument[2] ? argument + 2 : NULL;
            return option;
        }
    }
    return NULL;
}

static bool check_operands(const struct command *command, const struct operands *operands)
{
    if (operands->count < command->operand_minimum) {
        complain(command->name, "%s is missing; see 'collage %s --help'", command->operands,
                 command->name);
        return false;
    }
    if (operands->count > command->operand_maximum) {
        complain(command->name, "'%s' is one argument too many; see 'collage %s --help'",
                 operands->items[command->operand_maximum], command->name);
        return false;
    }
    return true;
}

enum options_result options_parse(const struct command *command, int argc, char **argv,
                                  void *settings, struct operands *operands)
{
    bool options_ended = false;
    for (int k = 0; k < argc; k++) {
        const char *argument = argv[k];
        if (options_ended || argument[0] != '-' || !argument[1]) {
            operands->items[operands->count++] = argument;
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            options_ended = true;
            continue;
        }
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0)
            return OPTIONS_HELP;
        const char *value;
        const struct option *option = find_option(command, argument, &value);
        if (!option) {
            complain(command->name, "there is no option '%s'; see 'collage %s --help'", argument,
                     command->name);
            return OPTIONS_BAD;
        }
        if (option->kind == OPTION_FLAG && value) {
            complain(command->name, "--%s takes no value, but got '%s'", option->name, value);
            return OPTIONS_BAD;
        }
        if (option->kind == OPTION_SOME_SECONDS && !value && k + 1 < argc &&
            begins_number(argv[k + 1]))
            value = argv[++k];
        if (option->kind != OPTION_FLAG && option->kind != OPTION_SOME_SECONDS && !value) {
            if (k + 1 == argc) {
                complain(command->name, "--%s needs a value: %s", option->name, option->value);
                return OPTIONS_BAD;
            }
            value = argv[++k];
        }
        if (!setters[option->kind](command, option, (char *)settings + option->offset, value))
            return OPTIONS_BAD;
    }
    return check_operands(command, operands) ? OPTIONS_RUN : OPTIONS_BAD;
}

static void help_row(FILE *file, const struct option *option)
{
    char left[64];
    snprintf(left, sizeof left, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    if (option->letter)
        fprintf(file, "  -%c, ", option->letter);
    else
        fprintf(file, "      ");
    fprintf(file, "%-22s  %s\n", left, option->help);
}

void options_help(const struct command *command, FILE *file)
{
    static const struct option help = { .name = "help", .letter = 'h', .help = "print this text" };
    fprintf(file, "Usage: collage %s%s%s [OPTION...]\n\n%s\n\nOptions:\n", command->name,
            command->operands ? " " : "", command->operands ? command->operands : "",
            command->detail);
    for (size_t k = 0; k < command->option_count; k++)
        help_row(file, &command->options[k]);
    help_row(file, &help);
}
