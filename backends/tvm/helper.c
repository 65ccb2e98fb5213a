/* SPDX-License-Identifier: Apache-2.0 */
#include "helper.h"

#include "../message.h"
#include <tvm_program.h> /* made by CMake of the files *.py */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_SAFE = 10, LINE_BYTES = 1024, ANSWER_BYTES = 16 << 20 };
static const double usual_seconds = 17; /* the host gives a candidate 20 */
static const uint64_t usual_memory = (uint64_t)8 << 30;

void helper_init(struct helper *helper, int32_t threads)
{
    *helper = (struct helper){ .to = -1,
                               .from = -1,
                               .threads = threads,
                               .seconds = usual_seconds,
                               .memory_bytes = usual_memory };
}

/* ---- time ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* May the descriptor be used before the deadline? */
static bool wait_until(int descriptor, short event, double deadline)
{
    for (;;) {
        struct pollfd entry = { descriptor, event, 0 };
        double left = deadline - now();
        int ready = left > 0 ? poll(&entry, 1, (int)(left * 1e3) + 1) : 0;
        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

/* ---- its life ---- */

void helper_stop(struct helper *helper)
{
    if (helper->pid > 0) {
        kill(-helper->pid, SIGKILL); /* it leads a group */
        kill(helper->pid, SIGKILL);
        while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (helper->to >= 0)
        close(helper->to);
    if (helper->from >= 0)
        close(helper->from);
    helper->pid = 0;
    helper->to = helper->from = -1;
}

/* Says how it ended, if it has, and makes an end of it. */
static collage_status give_up(struct helper *helper, const char *otherwise,
                              collage_message *message)
{
    int status = 0;
    pid_t reaped = 0;
    for (int k = 0; k < 50 && reaped == 0; k++) { /* a closed pipe is seen before the end */
        const struct timespec moment = { 0, 2000000 };
        reaped = waitpid(helper->pid, &status, WNOHANG);
        if (reaped == 0)
            nanosleep(&moment, NULL);
    }
    if (reaped > 0) {
        kill(-helper->pid, SIGKILL);
        helper->pid = 0;
    }
    helper_stop(helper);
    if (reaped > 0 && WIFSIGNALED(status))
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler crashed (signal %d)",
                    WTERMSIG(status));
    if (reaped > 0)
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler ended (exit status %d)",
                    WEXITSTATUS(status));
    return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler %s", otherwise);
}

static collage_status too_slow(struct helper *helper, collage_message *message)
{
    double seconds = helper->seconds;
    helper_stop(helper);
    return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler was stopped after %g s", seconds);
}

static int move_up(int descriptor)
{
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_SAFE);
    close(descriptor);
    return moved;
}

/* posix_spawn wants arguments that may be written to; nobody does. */
static char *writable(const char *text)
{
    char *out;
    memcpy(&out, &text, sizeof out);
    return out;
}

/* A group of its own. What else is open here is none of its business. */
static int spawn(struct helper *helper, const char *python, int theirs)
{
    static const char program[] = "-c";
    char threads[16];
    char *arguments[] = { writable(python),      writable("-I"), writable(program),
                          writable(tvm_program), threads,        NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    snprintf(threads, sizeof threads, "%d", (int)helper->threads);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    sigfillset(&all);
    sigemptyset(&none);
    failed = posix_spawn_file_actions_adddup2(&actions, theirs, STDIN_FILENO);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(&actions, theirs, STDOUT_FILENO);
    failed = failed ? failed
                    : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                       O_WRONLY, 0);
    failed = failed ? failed : posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    failed = failed ? failed
                    : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
                                                                POSIX_SPAWN_SETSIGDEF |
                                                                POSIX_SPAWN_SETSIGMASK);
    failed = failed ? failed : posix_spawnattr_setpgroup(&attributes, 0);
    failed = failed ? failed : posix_spawnattr_setsigdefault(&attributes, &all);
    failed = failed ? failed : posix_spawnattr_setsigmask(&attributes, &none);
    failed = failed ? failed
                    : posix_spawn(&helper->pid, python, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Sockets instead of pipes: writing to one that is closed need not raise SIGPIPE. */
static collage_status start(struct helper *helper, const char *python, collage_message *message)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler does not start: %s",
                    strerror(errno));
    int theirs = move_up(ends[1]);
    helper->to = ends[0];
    helper->from = fcntl(ends[0], F_DUPFD_CLOEXEC, FIRST_SAFE);
    int failed = theirs < 0 || helper->from < 0 ? errno : spawn(helper, python, theirs);
    if (theirs >= 0)
        close(theirs);
    if (failed) {
        helper->pid = 0;
        helper_stop(helper);
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler does not start: %s",
                    strerror(failed));
    }
    const struct rlimit limit = { helper->memory_bytes, helper->memory_bytes };
    if (helper->memory_bytes && prlimit(helper->pid, RLIMIT_AS, &limit, NULL) != 0 &&
        errno != ESRCH) { /* it has ended already: that is seen later */
        helper_stop(helper);
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler cannot be limited: %s",
                    strerror(errno));
    }
    return COLLAGE_OK;
}

/* ---- talking ---- */

static collage_status send_all(struct helper *helper, const char *bytes, size_t count,
                               double deadline, collage_message *message)
{
    for (size_t done = 0; done < count;) {
        if (!wait_until(helper->to, POLLOUT, deadline))
            return too_slow(helper, message);
        ssize_t n = send(helper->to, bytes + done, count - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return give_up(helper, "takes no requests", message);
        done += (size_t)n;
    }
    return COLLAGE_OK;
}

static collage_status receive(struct helper *helper, char *bytes, size_t count, double deadline,
                              collage_message *message)
{
    for (size_t done = 0; done < count;) {
        if (!wait_until(helper->from, POLLIN, deadline))
            return too_slow(helper, message);
        ssize_t n = read(helper->from, bytes + done, count - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return give_up(helper, "ended in the middle of an answer", message);
        done += (size_t)n;
    }
    return COLLAGE_OK;
}

/* A line of printable ASCII, without its newline. Byte by byte: it is short, and what follows it
 * belongs to somebody else. */
static collage_status receive_line(struct helper *helper, char line[LINE_BYTES], double deadline,
                                   collage_message *message)
{
    for (size_t k = 0; k < LINE_BYTES; k++) {
        collage_status status = receive(helper, line + k, 1, deadline, message);
        if (status != COLLAGE_OK)
            return status;
        if (line[k] == '\n') {
            line[k] = '\0';
            return COLLAGE_OK;
        }
        if (line[k] < ' ' || line[k] > '~')
            break;
    }
    helper_stop(helper);
    return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler answered something else");
}

static collage_status receive_answer(struct helper *helper, char **answer, double deadline,
                                     collage_message *message)
{
    char line[LINE_BYTES], *end = line;
    collage_status status = receive_line(helper, line, deadline, message);
    if (status != COLLAGE_OK)
        return status;
    if (strncmp(line, "error ", 6) == 0)
        return fail(message, COLLAGE_ERROR_UNSUPPORTED, "TVM: %.400s", line + 6);
    bool is_count = strncmp(line, "ok ", 3) == 0 && line[3] >= '1' && line[3] <= '9';
    unsigned long count = is_count ? strtoul(line + 3, &end, 10) : 0;
    if (!is_count || *end || count > ANSWER_BYTES) {
        helper_stop(helper);
        return fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler answered %s",
                    is_count && !*end ? "too much" : "something else");
    }
    char *text = malloc(count + 1);
    if (!text) {
        helper_stop(helper);
        return fail(message, COLLAGE_ERROR_MEMORY, "out of memory");
    }
    status = receive(helper, text, count, deadline, message);
    text[count] = '\0';
    if (status == COLLAGE_OK && strlen(text) != count) {
        helper_stop(helper);
        status = fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler answered something else");
    }
    if (status == COLLAGE_OK)
        *answer = text;
    else
        free(text);
    return status;
}

collage_status helper_ask(struct helper *helper, const char *python, const char *request,
                          char **answer, collage_message *message)
{
    const double deadline = now() + helper->seconds;
    char line[LINE_BYTES];
    collage_status status = COLLAGE_OK;
    *answer = NULL;
    if (!helper->pid) {
        status = start(helper, python, message);
        if (status == COLLAGE_OK)
            status = receive_line(helper, line, deadline, message);
        if (status == COLLAGE_OK && strcmp(line, "ready") != 0) {
            helper_stop(helper);
            status = fail(message, COLLAGE_ERROR_BACKEND, "TVM's compiler answered something else");
        }
    }
    if (status == COLLAGE_OK)
        status = send_all(helper, request, strlen(request), deadline, message);
    if (status == COLLAGE_OK)
        status = send_all(helper, "\n", 1, deadline, message);
    if (status == COLLAGE_OK)
        status = receive_answer(helper, answer, deadline, message);
    return status;
}
