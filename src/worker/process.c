/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/printable.h"
#include "base/spawn.h"
#include "base/text.h"
#include "worker/family.h"

enum {
    TICK_MILLISECONDS = 100,
    ANSWER_LIMIT = 1 << 20 /* bytes; the worker may be mad */
};

/* ---- starting ---- */

/* What the new process finds at each of its descriptors: one of ours, or -1: nothing. */
enum { DESCRIPTOR_COUNT = PROCESS_ORACLE + 1 };

struct launch {
    const char *program;
    char *const *arguments;
    int descriptors[DESCRIPTOR_COUNT];
};

static void close_if_open(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

/* The two ends of what connects us: ours first. */
struct lines {
    int socket[2], output[2];
};

static int open_lines(struct lines *lines, bool output)
{
    *lines = (struct lines){ { -1, -1 }, { -1, -1 } };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines->socket) != 0)
        return errno;
    if (output && pipe2(lines->output, O_CLOEXEC) != 0)
        return errno;
    if ((lines->socket[1] = spawn_move_up(lines->socket[1])) < 0)
        return errno;
    if (output && (lines->output[1] = spawn_move_up(lines->output[1])) < 0)
        return errno;
    return 0;
}

/* Takes the lines over; failed: what went wrong so far. */
static collage_status finish_start(struct lines *lines, int failed, const struct launch *launch,
                                   struct process *process, struct error *error)
{
    if (!failed)
        failed = spawn_program(launch->program, launch->arguments, launch->descriptors,
                               DESCRIPTOR_COUNT, &process->pid);
    close_if_open(lines->socket[1]);
    close_if_open(lines->output[1]);
    if (failed) {
        close_if_open(lines->socket[0]);
        close_if_open(lines->output[0]);
        process->pid = 0;
        return error_set(error, COLLAGE_ERROR_IO, "cannot start '%s': %s", launch->program,
                         strerror(failed));
    }
    process->socket = lines->socket[0];
    process->output = lines->output[0];
    fcntl(process->socket, F_SETFL, O_NONBLOCK);
    if (process->output >= 0)
        fcntl(process->output, F_SETFL, O_NONBLOCK);
    return COLLAGE_OK;
}

collage_status process_start(const char *program, int oracle, collage_log_fn log, void *log_user,
                             struct process *process, struct error *error)
{
    *process = (struct process){
        .socket = -1, .output = -1, .label = "worker", .log = log, .log_user = log_user
    };
    struct lines lines;
    int oracle_copy = -1, failed = open_lines(&lines, log != NULL);
    if (!failed && oracle >= 0 &&
        (oracle_copy = fcntl(oracle, F_DUPFD_CLOEXEC, SPAWN_FIRST_SAFE)) < 0)
        failed = errno;
    char name[] = "collage-worker";
    char *arguments[] = { name, NULL };
    const int printed = lines.output[1];
    const struct launch launch = { program,
                                   arguments,
                                   { -1, printed, printed, lines.socket[1], oracle_copy } };
    collage_status status = finish_start(&lines, failed, &launch, process, error);
    close_if_open(oracle_copy);
    return status;
}

/* ---- peers ---- */

collage_status process_start_peer(const char *program, char *const *arguments, const char *label,
                                  collage_log_fn log, void *log_user, struct process *process,
                                  struct error *error)
{
    *process = (struct process){
        .socket = -1, .output = -1, .label = label, .log = log, .log_user = log_user
    };
    size_t count = 0;
    while (arguments[count])
        count++;
    char **all = memory_alloc((count + 3) * sizeof *all);
    if (!all)
        return error_memory(error);
    char name[] = "collage-worker", option[] = PROCESS_PEER_OPTION;
    all[0] = name;
    all[1] = option;
    memcpy(all + 2, arguments, count * sizeof *all);
    struct lines lines;
    int failed = open_lines(&lines, true);
    const int socket = lines.socket[1];
    const struct launch launch = { program, all, { socket, socket, lines.output[1], -1, -1 } };
    collage_status status = finish_start(&lines, failed, &launch, process, error);
    memory_free(all);
    return status;
}

/* What the peer starts and leaves behind becomes its child, not init's: so it is found when all of
 * them are killed. Both settings stay over exec. */
int process_become_peer(char *const *arguments)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    execvp(arguments[0], arguments);
    dprintf(STDERR_FILENO, "cannot start '%s': %s\n", arguments[0], strerror(errno));
    return 127;
}

/* ---- what it prints ---- */

static void end_line(struct process *process)
{
    process->line[process->line_count] = '\0';
    printable_make(process->line, process->line_count + 1 == sizeof process->line);
    process->line_count = 0;
    if (!process->line[0])
        return;
    snprintf(process->printed, sizeof process->printed, "%s", process->line);
    if (process->log) {
        char prefixed[512];
        snprintf(prefixed, sizeof prefixed, "%.128s: %s", process->label, process->line);
        printable_make(prefixed, false);
        process->log(process->log_user, COLLAGE_LOG_DEBUG, prefixed);
    }
}

/* Whole lines, cut where they are too long. At most what a pipe holds, since it may print faster
 * than we read. */
static void log_output(struct process *process)
{
    char bytes[4096];
    ssize_t n;
    for (int k = 0; k < 16 && process->output >= 0; k++) {
        if ((n = read(process->output, bytes, sizeof bytes)) <= 0)
            break;
        for (ssize_t at = 0; at < n; at++) {
            if (bytes[at] == '\n')
                end_line(process);
            else if (process->line_count + 1 < sizeof process->line)
                process->line[process->line_count++] = bytes[at] ? bytes[at] : '?';
        }
    }
}

/* ---- stopping ---- */

static void forget(struct process *process)
{
    log_output(process);
    end_line(process);
    close(process->socket);
    close_if_open(process->output);
    process->pid = 0;
    process->socket = process->output = -1;
}

void process_stop(struct process *process)
{
    if (process->pid == 0)
        return;
    int status;
    family_kill(process->pid);
    spawn_reap(process->pid, &status);
    forget(process);
}

bool process_is_alive(struct process *process)
{
    if (process->pid && family_has_ended(process->pid))
        process_stop(process);
    return process->pid != 0;
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
    for (int k = 0; k < 100 && !family_has_ended(process->pid); k++)
        poll(NULL, 0, TICK_MILLISECONDS / 5);
    family_kill(process->pid); /* also if it has ended: the others of its group */
    bool known = spawn_reap(process->pid, &status);
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
        if (ready == 0 && family_has_ended(process->pid)) /* others hold its end of the socket */
            return explain_end(process, exchange->error);
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
                return stop_with(exchange, COLLAGE_ERROR_INTERNAL, "its answer is too long");
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
            status =
                stop_with(&exchange, COLLAGE_ERROR_INTERNAL, "its answer is not of the protocol");
        }
    }
    text_free(&line);
    return status;
}

/* ---- races ---- */

void process_pause(const struct process *process)
{
    if (process->pid)
        family_signal(process->pid, SIGSTOP);
}

void process_resume(const struct process *process)
{
    if (process->pid)
        family_signal(process->pid, SIGCONT);
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
