/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include <string.h>
#include <unistd.h>

/* Columns besides the last one, which is cut to what the terminal leaves. */
enum { FIXED_COLUMNS = 86, NAME_COLUMNS = 24 };

static double total_of(const collage_session *session)
{
    double total = 0;
    for (size_t k = 0; k < collage_session_step_count(session); k++) {
        collage_step_profile step = { .struct_size = sizeof step };
        if (collage_session_step(session, k, &step) == COLLAGE_OK)
            total += step.median_ns;
    }
    return total;
}

static void print_microseconds(FILE *file, double nanoseconds)
{
    if (nanoseconds > 0)
        fprintf(file, " %9.1f", nanoseconds * 1e-3);
    else
        fprintf(file, " %9s", "-");
}

/* What it had to do, and how near the median comes to the least time for that. */
static void print_work(FILE *file, const collage_step_profile *step)
{
    fprintf(file, " %8.4f %7.4f", step->flop * 1e-9, step->bytes * 1e-9);
    if (step->bound_ns > 0 && step->median_ns > 0)
        fprintf(file, " %5.1f%%", step->bound_ns * 100 / step->median_ns);
    else
        fprintf(file, " %6s", "-");
}

int profile_print(const collage_session *session, FILE *file)
{
    int columns = isatty(fileno(file)) ? terminal_columns(fileno(file)) : 200;
    int rest = columns - FIXED_COLUMNS - NAME_COLUMNS;
    size_t ops_size = (size_t)(rest < 12 ? 12 : rest) + 1;
    double total = total_of(session);
    collage_step_profile sum = { .median_ns = total };
    fprintf(file, "\n%4s  %-12s %9s %9s %9s %6s %8s %7s %6s  %-*s  %s\n", "step", "backend",
            "median us", "minimum", "predicted", "share", "GFLOP", "GB", "roof", NAME_COLUMNS,
            "name", "operators");
    for (size_t k = 0; k < collage_session_step_count(session); k++) {
        collage_step_profile step = { .struct_size = sizeof step };
        collage_status status = collage_session_step(session, k, &step);
        if (status != COLLAGE_OK)
            return complain_of(NULL, status);
        char backend[64], name[NAME_COLUMNS + 1], ops[256];
        collage_printable(backend, sizeof backend, step.backend);
        collage_printable(name, sizeof name, step.name);
        collage_printable(ops, ops_size < sizeof ops ? ops_size : sizeof ops, step.ops);
        fprintf(file, "%4zu  %-12s", k, backend);
        print_microseconds(file, step.median_ns);
        print_microseconds(file, step.minimum_ns);
        print_microseconds(file, step.predicted_ns);
        fprintf(file, " %5.1f%%", total > 0 ? step.median_ns * 100 / total : 0);
        print_work(file, &step);
        fprintf(file, "  %-*s  %s\n", NAME_COLUMNS, name, ops);
        sum.flop += step.flop;
        sum.bytes += step.bytes;
        sum.bound_ns += step.bound_ns;
    }
    fprintf(file, "%4s  %-12s %9.1f %9s %9s %6s", "", "total", total * 1e-3, "", "", "");
    print_work(file, &sum);
    fprintf(file, "\n");
    return EXIT_OK;
}
