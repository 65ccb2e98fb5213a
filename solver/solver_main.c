/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collage-solver: solves one 0-1 program with CBC, or its relaxation with Clp; started by the
 * library only (place/solve.h), which kills it when its time is over. Standard input is a socket:
 * the program comes in by it (place/program.h), the answer goes back. What CBC prints goes nowhere.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <Cbc_C_Interface.h>
#include <Clp_C_Interface.h>

#include "base/clock.h"
#include "place/program.h"
#include "place/program_io.h"

enum { SOCKET = 0 };
static const double no_number = 1e40;
enum { SLICE_ITERATIONS = 1000, CLP_STOPPED = 3 };

/* CBC takes its start indices as int. */
static bool is_sane(const struct program_request *request)
{
    return request->magic == PROGRAM_MAGIC && request->column_count <= PROGRAM_MOST &&
           request->row_count <= PROGRAM_MOST && request->entry_count <= PROGRAM_MOST &&
           request->seconds >= 0 && request->seconds < 1e6;
}

/* ---- the program comes in ---- */

static bool read_array(void *out, uint32_t count, size_t size)
{
    void **array = out;
    *array = memory_alloc(((size_t)count + 1) * size);
    return *array && io_read(SOCKET, *array, count * size, UINT64_MAX);
}

static bool are_indices_sane(const struct program *program)
{
    if (program->first[0] != 0 || program->first[program->column_count] != program->entry_count)
        return false;
    for (uint32_t c = 0; c < program->column_count; c++)
        if (program->first[c] > program->first[c + 1])
            return false;
    for (uint32_t e = 0; e < program->entry_count; e++)
        if (program->row[e] >= program->row_count)
            return false;
    return true;
}

static bool read_program(const struct program_request *request, struct program *program)
{
    *program = (struct program){ .column_count = request->column_count,
                                 .row_count = request->row_count,
                                 .entry_count = request->entry_count,
                                 .has_start = request->has_start };
    uint32_t columns = request->column_count, rows = request->row_count;
    return read_array(&program->cost, columns, sizeof(double)) &&
           read_array(&program->integer, columns, sizeof(uint8_t)) &&
           read_array(&program->first, columns + 1, sizeof(uint32_t)) &&
           read_array(&program->row, request->entry_count, sizeof(uint32_t)) &&
           read_array(&program->factor, request->entry_count, sizeof(double)) &&
           read_array(&program->lower, rows, sizeof(double)) &&
           read_array(&program->upper, rows, sizeof(double)) &&
           read_array(&program->start, columns, sizeof(uint8_t)) && are_indices_sane(program);
}

/* As the libraries want it. */
struct arrays {
    int *first, *row;
    double *lower, *upper; /* of the columns */
};

static bool make_arrays(const struct program *program, double most, struct arrays *out)
{
    uint32_t columns = program->column_count;
    out->first = memory_alloc(((size_t)columns + 1) * sizeof(int));
    out->row = memory_alloc(((size_t)program->entry_count + 1) * sizeof(int));
    out->lower = memory_alloc(((size_t)columns + 1) * sizeof(double));
    out->upper = memory_alloc(((size_t)columns + 1) * sizeof(double));
    if (!out->first || !out->row || !out->lower || !out->upper)
        return false;
    for (uint32_t c = 0; c <= columns; c++)
        out->first[c] = (int)program->first[c];
    for (uint32_t e = 0; e < program->entry_count; e++)
        out->row[e] = (int)program->row[e];
    for (uint32_t c = 0; c < columns; c++)
        out->upper[c] = most;
    return true;
}

static void free_arrays(struct arrays *arrays)
{
    memory_free(arrays->first);
    memory_free(arrays->row);
    memory_free(arrays->lower);
    memory_free(arrays->upper);
}

/* ---- the answer goes back ---- */

static bool send_answer(const struct program *program, struct program_reply *reply,
                        const double *columns, const double *prices)
{
    reply->magic = PROGRAM_MAGIC;
    reply->column_count = columns ? program->column_count : 0;
    reply->row_count = prices ? program->row_count : 0;
    return io_write(SOCKET, reply, sizeof *reply, UINT64_MAX) &&
           io_write(SOCKET, columns, reply->column_count * sizeof(double), UINT64_MAX) &&
           io_write(SOCKET, prices, reply->row_count * sizeof(double), UINT64_MAX);
}

/* Clp's own limit is one of processor time. Prices are good for a bound wherever it is stopped. */
static void relax_until(Clp_Simplex *model, uint64_t deadline)
{
    do {
        Clp_setMaximumIterations(model, Clp_numberIterations(model) + SLICE_ITERATIONS);
        Clp_dual(model, 0);
    } while (Clp_status(model) == CLP_STOPPED && clock_ns() < deadline);
}

/* No upper ends for the columns: the rows imply them, and all of the bound is then in the prices.
 */
static bool relax(const struct program *program, double seconds)
{
    uint64_t deadline = clock_ns() + (uint64_t)(seconds * 1e9);
    struct arrays arrays = { 0 };
    Clp_Simplex *model = make_arrays(program, HUGE_VAL, &arrays) ? Clp_newModel() : NULL;
    bool sent = false;
    if (model) {
        Clp_setLogLevel(model, 0);
        Clp_loadProblem(model, (int)program->column_count, (int)program->row_count, arrays.first,
                        arrays.row, program->factor, arrays.lower, arrays.upper, program->cost,
                        program->lower, program->upper);
        relax_until(model, deadline);
        struct program_reply reply = { .bound = -HUGE_VAL };
        sent = send_answer(program, &reply, NULL, Clp_getRowPrice(model));
        Clp_deleteModel(model);
    }
    free_arrays(&arrays);
    return sent;
}

/* CBC finds the other columns itself. */
static bool start_from(Cbc_Model *model, const struct program *program)
{
    int *columns = memory_alloc(((size_t)program->column_count + 1) * sizeof *columns), count = 0;
    double *values = memory_alloc(((size_t)program->column_count + 1) * sizeof *values);
    bool good = columns && values;
    for (uint32_t c = 0; good && c < program->column_count; c++)
        if (program->integer[c]) {
            columns[count] = (int)c;
            values[count++] = program->start[c];
        }
    if (good)
        Cbc_setMIPStartI(model, count, columns, values);
    memory_free(columns);
    memory_free(values);
    return good;
}

/* Not before the relaxation is solved; and CBC has numbers that stand for none. */
static double bound_of(Cbc_Model *model, bool proven)
{
    if (proven)
        return Cbc_getObjValue(model);
    double bound = Cbc_getBestPossibleObjValue(model);
    bool known = Cbc_isInitialSolveProvenOptimal(model) && fabs(bound) < no_number;
    return known ? bound : -HUGE_VAL;
}

static bool solve(const struct program *program, double seconds)
{
    struct arrays arrays = { 0 };
    Cbc_Model *model = make_arrays(program, 1, &arrays) ? Cbc_newModel() : NULL;
    bool sent = false;
    if (model) {
        char limit[32];
        snprintf(limit, sizeof limit, "%.3f", seconds);
        Cbc_loadProblem(model, (int)program->column_count, (int)program->row_count, arrays.first,
                        arrays.row, program->factor, arrays.lower, arrays.upper, program->cost,
                        program->lower, program->upper);
        for (uint32_t c = 0; c < program->column_count; c++)
            if (program->integer[c])
                Cbc_setInteger(model, (int)c);
        if (program->has_start)
            start_from(model, program);
        Cbc_setParameter(model, "timeMode", "elapsed");
        Cbc_setParameter(model, "seconds", limit);
        Cbc_setParameter(model, "ratioGap", "0");
        Cbc_setParameter(model, "allowableGap", "0");
        Cbc_solve(model);
        const double *best = Cbc_bestSolution(model);
        bool proven = best && Cbc_isProvenOptimal(model);
        struct program_reply reply = { .bound = bound_of(model, proven),
                                       .has_solution = best != NULL,
                                       .proven = proven };
        sent = send_answer(program, &reply, best, NULL);
    }
    if (model)
        Cbc_deleteModel(model);
    free_arrays(&arrays);
    return sent;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* needs far more addresses than memory */
#else
#define SANITIZED 0
#endif

/* A solver that runs wild ends by itself, even if nobody is left to kill it. */
static void limit_resources(const struct program_request *request)
{
    rlim_t bytes = (rlim_t)request->memory_mebibytes << 20, seconds = (rlim_t)request->seconds + 2;
    if (!SANITIZED)
        setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, bytes });
    setrlimit(RLIMIT_CPU, &(struct rlimit){ seconds, seconds });
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
}

int main(void)
{
    struct program_request request = { 0 };
    struct program program = { 0 };
    if (!io_read(SOCKET, &request, sizeof request, UINT64_MAX) || !is_sane(&request))
        return 2;
    limit_resources(&request);
    bool sent = read_program(&request, &program) &&
                (request.task == PROGRAM_RELAX ? relax : solve)(&program, request.seconds);
    program_free(&program);
    return sent ? 0 : 1;
}
