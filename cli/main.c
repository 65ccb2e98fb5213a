/* SPDX-License-Identifier: Apache-2.0 */
/* collage: the command. Each row of the table is a file of this folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct command *const commands[] = {
    &command_optimize, &command_run,      &command_verify,    &command_bench,   &command_show,
    &command_explain,  &command_measure,  &command_bench_ops, &command_inspect, &command_backends,
    &command_costs,    &command_patterns, &command_weights,
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(void)
{
    fputs("Usage: collage COMMAND [ARGUMENT...]\n\n"
          "Runs a neural network (an ONNX file) on the fastest mix of the libraries of this "
          "machine.\n\nCommands:\n",
          stdout);
    for (size_t k = 0; k < COMMAND_COUNT; k++)
        printf("  %-10s %s\n", commands[k]->name, commands[k]->summary);
    fputs("\n'collage COMMAND --help' tells more about a command; 'collage --version' prints the "
          "version.\n\n"
          "Exit status: 0 success, 1 a wrong result, 2 bad usage or bad input, 3 another failure.\n"
          "Environment: COLLAGE_CACHE (folder of the measured costs), COLLAGE_PLUGINS (folders of "
          "the\nbackends, separated by ':'), COLLAGE_REGISTRY (file of what is registered), "
          "COLLAGE_WORKER\n(the measuring program).\n",
          stdout);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct operands operands = { calloc((size_t)argc + 1, sizeof *operands.items), 0 };
    void *settings = calloc(1, command->settings_bytes + 1);
    int status = EXIT_FAILED;
    if (!operands.items || !settings) {
        complain(NULL, "out of memory");
    } else {
        switch (options_parse(command, argc, argv, settings, &operands)) {
        case OPTIONS_RUN:
            status = command->run(settings, &operands);
            break;
        case OPTIONS_HELP:
            options_help(command, stdout);
            status = EXIT_OK;
            break;
        case OPTIONS_BAD:
            status = EXIT_BAD_INPUT;
            break;
        }
    }
    free(settings);
    free(operands.items);
    return status;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        complain(NULL, "a command is missing; see 'collage --help'");
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("collage %s\n", collage_version());
        return EXIT_OK;
    }
    for (size_t k = 0; k < COMMAND_COUNT; k++)
        if (strcmp(argv[1], commands[k]->name) == 0)
            return run_command(commands[k], argc - 2, argv + 2);
    complain(NULL, "there is no command '%s'; see 'collage --help'", argv[1]);
    return EXIT_BAD_INPUT;
}

/* Whoever started us may have closed the standard streams (`2>&-`). The next file or socket would
 * take their numbers and receive what is printed. Writing to these placeholders fails, as it
 * should.
 */
static void hold_standard_streams(void)
{
    int descriptor = STDIN_FILENO;
    while (descriptor >= 0 && descriptor <= STDERR_FILENO)
        descriptor = open("/dev/null", O_RDONLY);
    if (descriptor > STDERR_FILENO)
        close(descriptor);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    int status = dispatch(argc, argv);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) {
        complain(NULL, "standard output cannot be written: %s", strerror(errno));
        status = EXIT_BAD_INPUT;
    }
    return status;
}
