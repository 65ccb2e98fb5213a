/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cli.h"

void clean_text(char *out, size_t size, const char *text)
{
    size_t count = strlen(text);
    if (size == 0)
        return;
    if (count > size - 1) {
        count = size - 1;
        while (count > 0 && ((unsigned char)text[count] & 0xc0) == 0x80)
            count--; /* not in the middle of a UTF-8 character */
    }
    for (size_t k = 0; k < count; k++) {
        unsigned char c = (unsigned char)text[k];
        out[k] = c < 0x20 || c == 0x7f ? '?' : text[k];
    }
    out[count] = '\0';
}

void complain(const char *command, const char *format, ...)
{
    char text[1024], clean[sizeof text];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    clean_text(clean, sizeof clean, text);
    fflush(stdout);
    fprintf(stderr, "collage%s%s: %s\n", command ? " " : "", command ? command : "", clean);
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
    collage_context_options options = { .struct_size = sizeof options,
                                        .log = progress_log,
                                        .progress = progress_update,
                                        .user = progress };
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
