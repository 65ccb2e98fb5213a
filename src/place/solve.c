/* SPDX-License-Identifier: Apache-2.0 */
#include "place/solve.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "place/program_io.h"

enum { SOLVER_MEBIBYTES = 4096 };

/* The solver is told to be done so much earlier that its answer is there in time. */
static const double spare_seconds = 0.05, spare_share = 0.1;

struct solver_process {
    pid_t pid;
    int socket;
    uint64_t deadline;
};

static collage_status start(const char *solver, struct solver_process *out, struct error *error)
{
    int sockets[2] = { -1, -1 };
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) ? errno : 0;
    if (!failed) {
        sockets[1] = spawn_move_up(sockets[1]);
        failed = sockets[1] < 0 ? errno : 0;
        const int descriptors[] = { sockets[1], -1, -1 };
        char name[] = "collage-solver";
        char *const arguments[] = { name, NULL };
        if (!failed)
            failed = spawn_program(solver, arguments, descriptors, 3, &out->pid);
        if (sockets[1] >= 0)
            close(sockets[1]);
        if (failed)
            close(sockets[0]);
    }
    if (failed)
        return error_set(error, COLLAGE_ERROR_IO, "cannot start '%s': %s", solver,
                         strerror(failed));
    out->socket = sockets[0];
    fcntl(out->socket, F_SETFL, O_NONBLOCK);
    return COLLAGE_OK;
}

static void stop(struct solver_process *process)
{
    int status;
    close(process->socket);
    kill(process->pid, SIGKILL);
    spawn_reap(process->pid, &status);
}

static bool put(const struct solver_process *process, const void *array, uint32_t count,
                size_t size)
{
    return io_write(process->socket, array, count * size, process->deadline);
}

static bool send_program(const struct solver_process *process, const struct program *program,
                         enum program_task task)
{
    double left = (double)(process->deadline - clock_ns()) * 1e-9;
    double spare = spare_seconds + spare_share * left;
    const struct program_request request = { .magic = PROGRAM_MAGIC,
                                             .task = task,
                                             .column_count = program->column_count,
                                             .row_count = program->row_count,
                                             .entry_count = program->entry_count,
                                             .has_start = program->has_start,
                                             .memory_mebibytes = SOLVER_MEBIBYTES,
                                             .seconds = left > spare ? left - spare : 0 };
    uint32_t columns = program->column_count, rows = program->row_count;
    return put(process, &request, 1, sizeof request) &&
           put(process, program->cost, columns, sizeof(double)) &&
           put(process, program->integer, columns, sizeof(uint8_t)) &&
           put(process, program->first, columns + 1, sizeof(uint32_t)) &&
           put(process, program->row, program->entry_count, sizeof(uint32_t)) &&
           put(process, program->factor, program->entry_count, sizeof(double)) &&
           put(process, program->lower, rows, sizeof(double)) &&
           put(process, program->upper, rows, sizeof(double)) &&
           put(process, program->start, columns, sizeof(uint8_t));
}

/* Numbers, all finite. *status: COLLAGE_ERROR_BACKEND if the solver gives no such. */
static double *get(const struct solver_process *process, uint32_t count, collage_status *status)
{
    double *numbers = memory_alloc(count * sizeof *numbers);
    if (*status == COLLAGE_OK && !numbers)
        *status = COLLAGE_ERROR_MEMORY;
    if (*status == COLLAGE_OK &&
        !io_read(process->socket, numbers, count * sizeof *numbers, process->deadline))
        *status = COLLAGE_ERROR_BACKEND;
    for (uint32_t k = 0; k < count && *status == COLLAGE_OK; k++)
        if (!isfinite(numbers[k]))
            *status = COLLAGE_ERROR_BACKEND;
    return numbers;
}

static collage_status receive_answer(const struct solver_process *process,
                                     const struct program *program, struct program_answer *out)
{
    struct program_reply *reply = &out->reply;
    if (!io_read(process->socket, reply, sizeof *reply, process->deadline) ||
        reply->magic != PROGRAM_MAGIC || isnan(reply->bound) ||
        (reply->column_count && reply->column_count != program->column_count) ||
        (reply->row_count && reply->row_count != program->row_count))
        return COLLAGE_ERROR_BACKEND;
    collage_status status = COLLAGE_OK;
    out->columns = get(process, reply->column_count, &status);
    out->prices = get(process, reply->row_count, &status);
    reply->has_solution = reply->has_solution && reply->column_count;
    return status;
}

collage_status program_solve(const char *solver, const struct program *program,
                             enum program_task task, uint64_t deadline, struct program_answer *out,
                             struct error *error)
{
    *out = (struct program_answer){ 0 };
    struct solver_process process = { .deadline = deadline };
    if (program->column_count == 0)
        return error_set(error, COLLAGE_ERROR_ARGUMENT, "a program without columns");
    if (clock_ns() >= deadline)
        return error_set(error, COLLAGE_ERROR_TIMEOUT, "no time left for '%s'", solver);
    collage_status status = start(solver, &process, error);
    if (status)
        return status;
    status = send_program(&process, program, task) ? receive_answer(&process, program, out)
                                                   : COLLAGE_ERROR_BACKEND;
    stop(&process);
    if (status == COLLAGE_OK)
        return COLLAGE_OK;
    program_answer_free(out);
    if (status == COLLAGE_ERROR_MEMORY)
        return error_memory(error);
    return clock_ns() >= deadline
               ? error_set(error, COLLAGE_ERROR_TIMEOUT, "'%s' timed out", solver)
               : error_set(error, COLLAGE_ERROR_BACKEND, "'%s' gave no answer", solver);
}
