/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solve.h: internal to place/: has a program solved by the solver process (solver/), which is
 * killed when its time is over. A solver that is missing, crashes or answers nonsense gives no
 * answer, and nothing else happens.
 */
#ifndef COLLAGE_PLACE_SOLVE_H
#define COLLAGE_PLACE_SOLVE_H

#include "place/program.h"

/* `deadline`: on clock_ns, when the answer must be there. Returns COLLAGE_OK with an answer; its
 * numbers are finite, but need not be right. Otherwise an error that says what happened. */
collage_status program_solve(const char *solver, const struct program *program,
                             enum program_task task, uint64_t deadline, struct program_answer *out,
                             struct error *error);

#endif
