/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli.h"

void complain(const char *command, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    collage_printable(text, sizeof text, text);
    fflush(stdout);
    fprintf(stderr, "collage%s%s: %s\n", command ? " " : "", command ? command : "", text);
}

/* Which failures are the user's to mend; all others are EXIT_FAILED. */
static int exit_status_of(collage_status status)
{
    static const struct {
        collage_status status;
        enum exit_status result;
    } rows[] = {
        { COLLAGE_OK, EXIT_OK },
        { COLLAGE_ERROR_WRONG_RESULT, EXIT_WRONG_RESULT },
        { COLLAGE_ERROR_ARGUMENT, EXIT_BAD_INPUT },
        { COLLAGE_ERROR_IO, EXIT_BAD_INPUT },
        { COLLAGE_ERROR_FORMAT, EXIT_BAD_INPUT },
        { COLLAGE_ERROR_UNSUPPORTED, EXIT_BAD_INPUT },
        { COLLAGE_ERROR_SHAPE, EXIT_BAD_INPUT },
        { COLLAGE_ERROR_MISMATCH, EXIT_BAD_INPUT },
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (rows[k].status == status)
            return (int)rows[k].result;
    return EXIT_FAILED;
}

int complain_of(const collage_context *context, collage_status status)
{
    return complain_with(status, context ? collage_context_message(context) : "");
}

int complain_with(collage_status status, const char *message)
{
    complain(NULL, "%s", *message ? message : collage_status_text(status));
    return exit_status_of(status);
}

int context_create(struct progress *progress, collage_context **out)
{
    return context_create_trusting(progress, false, out);
}

int context_create_trusting(struct progress *progress, bool trust, collage_context **out)
{
    collage_context_options options = { .struct_size = sizeof options,
                                        .log = progress_log,
                                        .progress = progress_update,
                                        .user = progress,
                                        .trust = trust };
    collage_status status = collage_context_create(&options, out);
    if (status == COLLAGE_OK)
        return EXIT_OK;
    int result = complain_of(*out, status);
    collage_context_destroy(*out);
    *out = NULL;
    return result;
}

bool write_to_file(void *user, const char *bytes, size_t count)
{
    return fwrite(bytes, 1, count, (FILE *)user) == count;
}

int terminal_columns(int descriptor)
{
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

int file_is_plan(const char *command, const char *path, bool *is_plan)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        complain(command, "'%s' cannot be opened: %s", path, strerror(errno));
        return EXIT_BAD_INPUT;
    }
    int c = getc(file);
    while (c != EOF && isspace(c))
        c = getc(file);
    *is_plan = c == '{';
    fclose(file);
    return EXIT_OK;
}
