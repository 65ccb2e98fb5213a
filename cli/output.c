/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static int unwritable(const char *command, const char *path, const char *why)
{
    complain(command, "'%s' cannot be written: %s", path, why);
    return EXIT_BAD_INPUT;
}

int output_check(const char *command, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return unwritable(command, path, "it is not a regular file; give another name");
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder) {
        complain(NULL, "out of memory");
        return EXIT_FAILED;
    }
    int problem = 0;
    if (stat(folder, &info) != 0)
        problem = errno;
    else if (!S_ISDIR(info.st_mode))
        problem = ENOTDIR;
    else if (access(folder, W_OK | X_OK) != 0)
        problem = errno;
    free(folder);
    return problem ? unwritable(command, path, strerror(problem)) : EXIT_OK;
}

static void output_free(struct output *output)
{
    free(output->temporary);
    *output = (struct output){ 0 };
}

int output_open(const char *command, const char *path, struct output *output)
{
    int result = output_check(command, path);
    if (result != EXIT_OK)
        return result;
    *output = (struct output){ .path = path };
    if (asprintf(&output->temporary, "%s.XXXXXX", path) < 0) {
        complain(NULL, "out of memory");
        return EXIT_FAILED;
    }
    int descriptor = mkstemp(output->temporary);
    mode_t mask = umask(0);
    umask(mask);
    if (descriptor >= 0 && fchmod(descriptor, 0666 & ~mask) == 0)
        output->file = fdopen(descriptor, "w");
    if (output->file)
        return EXIT_OK;
    result = unwritable(command, path, strerror(errno));
    if (descriptor >= 0) {
        close(descriptor);
        unlink(output->temporary);
    }
    output_free(output);
    return result;
}

bool output_write(void *user, const char *bytes, size_t count)
{
    struct output *output = user;
    if (fwrite(bytes, 1, count, output->file) == count)
        return true;
    output->problem = errno;
    return false;
}

int output_commit(const char *command, struct output *output)
{
    int problem = output->problem;
    if (fflush(output->file) != 0 && !problem)
        problem = errno;
    if (fclose(output->file) != 0 && !problem)
        problem = errno;
    if (!problem && rename(output->temporary, output->path) != 0)
        problem = errno;
    int result = EXIT_OK;
    if (problem) {
        result = unwritable(command, output->path, strerror(problem));
        unlink(output->temporary);
    }
    output_free(output);
    return result;
}

void output_abort(struct output *output)
{
    fclose(output->file);
    unlink(output->temporary);
    output_free(output);
}
