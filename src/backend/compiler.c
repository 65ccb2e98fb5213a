/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/printable.h"
#include "base/spawn.h"

enum { LOG_BYTES = 4096 };
static const double usual_seconds = 8; /* less than a candidate may take (worker.h) */

/* ---- finding ---- */

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* In the absolute folders of $PATH: where we happen to be is no place for compilers. */
static bool find_in_path(const char *name, char path[COMPILER_PATH])
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        int written = snprintf(path, COMPILER_PATH, "%.*s/%s", (int)length, at, name);
        if (at[0] == '/' && written > 0 && written < COMPILER_PATH && is_program(path))
            return true;
        at += length + (at[length] == ':');
    }
    path[0] = '\0';
    return false;
}

void compiler_find(struct compiler *compiler)
{
    static const char *const names[] = { "cc", "gcc", "clang" };
    const char *set = getenv("COLLAGE_CC");
    *compiler = (struct compiler){ .seconds = usual_seconds };
    if (set && strchr(set, '/')) {
        if (strlen(set) < COMPILER_PATH && is_program(set))
            snprintf(compiler->path, COMPILER_PATH, "%s", set);
        return;
    }
    if (set) {
        if (*set)
            find_in_path(set, compiler->path);
        return;
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (find_in_path(names[k], compiler->path))
            return;
}

/* ---- running ---- */

/* The private folder of one run, and what lies in it. */
struct workshop {
    char folder[COMPILER_PATH], source[COMPILER_PATH + 16], object[COMPILER_PATH + 16],
        log[COMPILER_PATH + 16];
};

static collage_status open_workshop(struct workshop *shop, const char *folder, const char *source,
                                    struct error *error)
{
    int written = snprintf(shop->folder, sizeof shop->folder, "%s/make-XXXXXX", folder);
    if (written < 0 || (size_t)written >= sizeof shop->folder)
        return error_set(error, COLLAGE_ERROR_IO, "the path '%s' is too long", folder);
    if (!mkdtemp(shop->folder)) {
        shop->folder[0] = '\0';
        return error_system(error, "make a folder in", folder);
    }
    snprintf(shop->source, sizeof shop->source, "%s/kernel.c", shop->folder);
    snprintf(shop->object, sizeof shop->object, "%s/kernel.so", shop->folder);
    snprintf(shop->log, sizeof shop->log, "%s/log", shop->folder);
    return file_write_private(shop->source, source, strlen(source), error);
}

/* Best effort: what stays behind lies in a folder of the user's, and is used by nobody. */
static void close_workshop(const struct workshop *shop)
{
    if (!shop->folder[0])
        return;
    (void)unlink(shop->source);
    (void)unlink(shop->object);
    (void)unlink(shop->log);
    (void)rmdir(shop->folder);
}

/* Waits for the end, at most so long. False: it was killed. */
static bool wait_for(pid_t pid, double seconds, int *status)
{
    const uint64_t end = clock_ns() + (uint64_t)(seconds * 1e9);
    const struct timespec moment = { 0, 2000000 };
    for (;;) {
        pid_t reaped = waitpid(pid, status, WNOHANG);
        if (reaped == pid)
            return true;
        if ((reaped < 0 && errno != EINTR) || clock_ns() > end)
            break;
        nanosleep(&moment, NULL);
    }
    kill(-pid, SIGKILL); /* it leads a group: its assembler and linker, too */
    kill(pid, SIGKILL);
    spawn_reap(pid, status);
    return false;
}

/* Its first line that speaks of an error, or its first line. */
static void read_log(const struct workshop *shop, char *line, size_t size)
{
    char bytes[LOG_BYTES];
    FILE *file = fopen(shop->log, "re");
    size_t count = file ? fread(bytes, 1, sizeof bytes - 1, file) : 0;
    if (file)
        (void)fclose(file);
    bytes[count] = '\0';
    const char *from = strstr(bytes, "error");
    while (from && from > bytes && from[-1] != '\n')
        from--;
    if (!from)
        from = bytes;
    snprintf(line, size, "%.*s", (int)strcspn(from, "\n"), from);
    printable_make(line, true);
}

static collage_status judge(const struct compiler *compiler, const struct workshop *shop,
                            bool ended, int status, struct error *error)
{
    char line[200];
    if (!ended)
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "the C compiler %.150s was stopped after %.0f s", compiler->path,
                         compiler->seconds);
    if (WIFSIGNALED(status))
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "the C compiler %.150s crashed (signal %d)", compiler->path,
                         WTERMSIG(status));
    if (WEXITSTATUS(status) == 0)
        return COLLAGE_OK;
    read_log(shop, line, sizeof line);
    return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                     "the C compiler %.150s failed (exit status %d)%s%s", compiler->path,
                     WEXITSTATUS(status), line[0] ? ": " : "", line);
}

/* posix_spawn wants arguments that may be written to; nobody does. */
static char *writable(const char *text)
{
    char *out;
    memcpy(&out, &text, sizeof out);
    return out;
}

static collage_status start(const struct compiler *compiler, const struct workshop *shop,
                            const char *const *options, pid_t *pid, struct error *error)
{
    static const char *const fixed[] = { "-std=gnu17", "-O3", "-fPIC", "-shared", "-nostdlib", "-x",
                                         "c",          "-w",  "-pipe", "-Wl,-s",  NULL };
    char *arguments[1 + sizeof fixed / sizeof *fixed + COMPILER_OPTIONS + 4];
    size_t count = 0;
    arguments[count++] = writable(compiler->path);
    for (size_t k = 0; fixed[k]; k++)
        arguments[count++] = writable(fixed[k]);
    for (size_t k = 0; options && options[k] && k < COMPILER_OPTIONS; k++)
        arguments[count++] = writable(options[k]);
    arguments[count++] = writable(shop->source);
    arguments[count++] = writable("-o");
    arguments[count++] = writable(shop->object);
    arguments[count] = NULL;
    int log = open(shop->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (log >= 0)
        log = spawn_move_up(log);
    if (log < 0)
        return error_system(error, "write", shop->log);
    const int descriptors[] = { -1, log, log };
    int failed = spawn_program(compiler->path, arguments, descriptors,
                               sizeof descriptors / sizeof *descriptors, pid);
    close(log);
    return failed ? error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                              "the C compiler %.150s does not start: %s", compiler->path,
                              strerror(failed))
                  : COLLAGE_OK;
}

static collage_status take_object(const struct compiler *compiler, const struct workshop *shop,
                                  void **bytes, size_t *count, struct error *error)
{
    struct mapping file;
    struct error own = { 0 };
    if (file_map(shop->object, &file, &own) != COLLAGE_OK || file.bytes == 0 ||
        file.bytes > COMPILER_OUTPUT) {
        if (own.status == COLLAGE_OK)
            file_unmap(&file);
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "the C compiler %.150s made no shared object", compiler->path);
    }
    *bytes = memory_alloc(file.bytes);
    *count = file.bytes;
    if (*bytes)
        memcpy(*bytes, file.data, file.bytes);
    file_unmap(&file);
    return *bytes ? COLLAGE_OK : error_memory(error);
}

collage_status compiler_run(const struct compiler *compiler, const char *folder, const char *source,
                            const char *const *options, void **bytes, size_t *count,
                            struct error *error)
{
    *bytes = NULL;
    if (!compiler->path[0])
        return error_set(error, COLLAGE_ERROR_UNSUPPORTED,
                         "there is no C compiler (cc, gcc or clang in PATH, or COLLAGE_CC)");
    struct workshop shop = { .folder = "" };
    pid_t pid;
    int ending = 0;
    collage_status status = open_workshop(&shop, folder, source, error);
    if (status == COLLAGE_OK)
        status = start(compiler, &shop, options, &pid, error);
    if (status == COLLAGE_OK) {
        bool ended = wait_for(pid, compiler->seconds, &ending);
        status = judge(compiler, &shop, ended, ending, error);
    }
    if (status == COLLAGE_OK)
        status = take_object(compiler, &shop, bytes, count, error);
    close_workshop(&shop);
    return status;
}
