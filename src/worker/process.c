/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

enum {
    TICK_MILLISECONDS = 100,
    ANSWER_LIMIT = 1 << 20, /* bytes; the worker may be mad */
    FIRST_SAFE_DESCRIPTOR = 10
};

/* ---- starting ---- */

/* Sources of dup2 are moved out of the way of its targets. */
static int move_up(int descriptor)
{
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_SAFE_DESCRIPTOR);
    close(descriptor);
    return moved;
}

static int describe_descriptors(posix_spawn_file_actions_t *actions, int socket, int oracle,
                                int output)
{
    int failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (int target = 1; target <= 2 && !failed; target++)
        failed = output >= 0
                     ? posix_spawn_file_actions_adddup2(actions, output, target)
                     : posix_spawn_file_actions_addopen(actions, target, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(actions, socket, PROCESS_SOCKET);
    if (!failed && oracle >= 0)
        failed = posix_spawn_file_actions_adddup2(actions, oracle, PROCESS_ORACLE);
    if (!failed) /* the host program's files are none of the worker's business */
        failed = posix_spawn_file_actions_addclosefrom_np(
            actions, oracle >= 0 ? PROCESS_ORACLE + 1 : PROCESS_SOCKET + 1);
    return failed;
}

/* In a group of its own, so that Ctrl-C reaches the parent only; signals as in a new program. */
static int describe_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!failed)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(attributes, &all);
    return failed ? failed : posix_spawnattr_setsigmask(attributes, &none);
}

static int spawn(const char *program, int socket, int oracle, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    failed = describe_descriptors(&actions, socket, oracle, output);
    if (!failed)
        failed = describe_attributes(&attributes);
    char name[] = "collage-worker";
    char *arguments[] = { name, NULL };
    if (!failed)
        failed = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static void close_if_open(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

collage_status process_start(const char *program, int oracle, collage_log_fn log, void *log_user,
                             struct process *process, struct error *error)
{
    *process = (struct process){ .socket = -1, .output = -1, .log = log, .log_user = log_user };
    int sockets[2] = { -1, -1 }, pipes[2] = { -1, -1 }, oracle_copy = -1;
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ? errno : 0;
    if (!failed && log)
        failed = pipe2(pipes, O_CLOEXEC) ? errno : 0;
    if (!failed && oracle >= 0 &&
        (oracle_copy = fcntl(oracle, F_DUPFD_CLOEXEC, FIRST_SAFE_DESCRIPTOR)) < 0)
        failed = errno;
    if (!failed && (sockets[1] = move_up(sockets[1])) < 0)
        failed = errno;
    if (!failed && log && (pipes[1] = move_up(pipes[1])) < 0)
        failed = errno;
    if (!failed)
        failed = spawn(program, sockets[1], oracle_copy, pipes[1], &process->pid);
    close_if_open(oracle_copy);
    close_if_open(sockets[1]);
    close_if_open(pipes[1]);
    if (failed) {
        close_if_open(sockets[0]);
        close_if_open(pipes[0]);
        process->pid = 0;
        return error_set(error, COLLAGE_ERROR_IO, "cannot start '%s': %s", program,
                         strerror(failed));
    }
    process->socket = sockets[0];
    process->output = pipes[0];
    fcntl(process->socket, F_SETFL, O_NONBLOCK);
    if (process->output >= 0)
        fcntl(process->output, F_SETFL, O_NONBLOCK);
    return COLLAGE_OK;
}

/* ---- what it prints ---- */

/* Lines may be torn where the pipe was read; they are for debugging only. */
static void log_output(struct process *process)
{
    char bytes[4096];
    ssize_t n;
    while (process->output >= 0 && (n = read(process->output, bytes, sizeof bytes - 1)) > 0) {
        bytes[n] = '\0';
        char *rest = bytes, *line;
        while ((line = strsep(&rest, "\n")) != NULL) {
            char prefixed[512];
            snprintf(prefixed, sizeof prefixed, "worker: %.480s", line);
            if (*line)
                process->log(process->log_user, COLLAGE_LOG_DEBUG, prefixed);
        }
    }
}

/* ---- stopping ---- */

static void forget(struct process *process)
{
    log_output(process);
    close(process->socket);
    close_if_open(process->output);
    process->pid = 0;
    process->socket = process->output = -1;
}

/* Waits for its end. The host program may reap children itself: then the status is not known. */
static bool reap(const struct process *process, int *status)
{
    pid_t reaped;
    while ((reaped = waitpid(process->pid, status, 0)) < 0 && errno == EINTR)
        ;
    return reaped == process->pid;
}

void process_stop(struct process *process)
{
    if (process->pid == 0)
        return;
    int status;
    kill(process->pid, SIGKILL);
    reap(process, &status);
    forget(process);
}

bool process_is_alive(struct process *process)
{
    if (process->pid == 0)
        return false;
    int status;
    pid_t ended = waitpid(process->pid, &status, WNOHANG);
    if (ended == process->pid || (ended < 0 && errno == ECHILD && kill(process->pid, 0) != 0)) {
        forget(process);
        return false;
    }
    return true;
}

/* ---- talking ---- */

static collage_status set_end(int status, bool known, struct error *error)
{
    if (known && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        return error_set(error, COLLAGE_ERROR_BACKEND, "crashed (SIG%s)", name ? name : "?");
    }
    if (known)
        return error_set(error, COLLAGE_ERROR_BACKEND, "ended the process (exit status %d)",
                         WEXITSTATUS(status));
    return error_set(error, COLLAGE_ERROR_BACKEND, "ended the process");
}

/* The socket is closed: says why. A worker that only closed it is killed, and called crashed. */
static collage_status explain_end(struct process *process, struct error *error)
{
    int status = 0;
    bool known = false;
    for (int k = 0; k < 100 && !known; k++) {
        pid_t ended = waitpid(process->pid, &status, WNOHANG);
        known = ended == process->pid;
        if (ended < 0 && errno != EINTR)
            break;
        if (!known)
            poll(NULL, 0, TICK_MILLISECONDS / 5);
    }
    if (!known) {
        kill(process->pid, SIGKILL);
        known = reap(process, &status);
    }
    forget(process);
    return set_end(status, known, error);
}

struct exchange {
    struct process *process;
    double seconds;
    uint64_t deadline;
    process_tick_fn tick;
    void *user;
    struct error *error;
};

static collage_status stop_with(struct exchange *exchange, collage_status status, const char *text)
{
    process_stop(exchange->process);
    return error_set(exchange->error, status, "%s", text);
}

/* Waits until the socket is ready for `events`, draining what the worker prints. */
static collage_status wait_for(struct exchange *exchange, short events)
{
    struct process *process = exchange->process;
    for (;;) {
        if (exchange->tick && !exchange->tick(exchange->user))
            return stop_with(exchange, COLLAGE_ERROR_INTERRUPTED, "interrupted");
        uint64_t now = clock_ns();
        if (now >= exchange->deadline) {
            char text[64];
            snprintf(text, sizeof text, "timed out after %.3g s", exchange->seconds);
            return stop_with(exchange, COLLAGE_ERROR_TIMEOUT, text);
        }
        uint64_t left = (exchange->deadline - now) / 1000000 + 1;
        struct pollfd watched[2] = { { .fd = process->socket, .events = events },
                                     { .fd = process->output, .events = POLLIN } };
        int ready = poll(watched, 2, left < TICK_MILLISECONDS ? (int)left : (int)TICK_MILLISECONDS);
        if (ready > 0 && watched[1].revents) {
            log_output(process);
            if (watched[1].revents & (POLLHUP | POLLERR)) { /* or poll would return at once */
                close_if_open(process->output);
                process->output = -1;
            }
        }
        if (ready > 0 && watched[0].revents)
            return COLLAGE_OK;
    }
}

static collage_status send_all(struct exchange *exchange, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = send(exchange->process->socket, bytes, count, MSG_NOSIGNAL);
        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            collage_status status = wait_for(exchange, POLLOUT);
            if (status != COLLAGE_OK)
                return status;
        } else if (n == 0 || errno != EINTR) {
            return explain_end(exchange->process, exchange->error);
        }
    }
    return COLLAGE_OK;
}

/* Reads up to the newline, which it drops. One request is answered by one line: nothing follows. */
static collage_status receive_line(struct exchange *exchange, struct text *line)
{
    for (;;) {
        char bytes[4096];
        ssize_t n = recv(exchange->process->socket, bytes, sizeof bytes, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return explain_end(exchange->process, exchange->error);
        if (n > 0) {
            text_append(line, bytes, (size_t)n);
            if (line->failed)
                return stop_with(exchange, COLLAGE_ERROR_MEMORY, "out of memory");
            if (line->count > ANSWER_LIMIT)
                return stop_with(exchange, COLLAGE_ERROR_INTERNAL,
                                 "the worker's answer is too long");
            if (bytes[n - 1] == '\n') {
                line->bytes[--line->count] = '\0';
                return COLLAGE_OK;
            }
            continue;
        }
        collage_status status = wait_for(exchange, POLLIN);
        if (status != COLLAGE_OK)
            return status;
    }
}

collage_status process_ask(struct process *process, const json_t *request, double seconds,
                           process_tick_fn tick, void *user, json_t **answer, struct error *error)
{
    *answer = NULL;
    struct exchange exchange = { process, seconds, clock_ns() + (uint64_t)(seconds * 1e9),
                                 tick,    user,    error };
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    if (!text)
        return error_set(error, COLLAGE_ERROR_MEMORY,
                         "out of memory (or a path or name is not UTF-8)");
    struct text line = { 0 };
    collage_status status = send_all(&exchange, text, strlen(text));
    if (status == COLLAGE_OK)
        status = send_all(&exchange, "\n", 1);
    if (status == COLLAGE_OK)
        status = receive_line(&exchange, &line);
    json_free_t release;
    json_get_alloc_funcs(NULL, &release);
    release(text);
    if (status == COLLAGE_OK) {
        *answer = json_loadb(line.bytes, line.count, 0, NULL);
        if (!json_is_object(*answer)) {
            json_decref(*answer);
            *answer = NULL;
            status = stop_with(&exchange, COLLAGE_ERROR_INTERNAL,
                               "the worker's answer is not of the protocol");
        }
    }
    text_free(&line);
    return status;
}

/* ---- races ---- */

void process_pause(const struct process *process)
{
    if (process->pid)
        kill(process->pid, SIGSTOP);
}

void process_resume(const struct process *process)
{
    if (process->pid)
        kill(process->pid, SIGCONT);
}

uint64_t process_peak_bytes(const struct process *process)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)process->pid);
    FILE *file = process->pid ? fopen(path, "re") : NULL;
    if (!file)
        return 0;
    unsigned long long kilobytes = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1)
            break;
    fclose(file);
    return kilobytes * 1024;
}
