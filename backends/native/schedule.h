/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h: the schedules of a kernel as texts, such as "tiles=56 parallel=channels". A family
 * names the axes along which its work can be cut, each with the values that it may have beside the
 * family's own choice. An axis that a text does not name is as the family likes.
 */
#ifndef NATIVE_SCHEDULE_H
#define NATIVE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCHEDULE_AXES = 3, SCHEDULE_VALUES = 6 };

struct schedule_axis {
    const char *name;         /* lower-case letters */
    const char *const *words; /* spellings of the values, which are indices then; NULL: numbers */
    int64_t values[SCHEDULE_VALUES];
    size_t count;
};

struct schedule_space {
    struct schedule_axis axes[SCHEDULE_AXES];
    size_t count;
};

/* Adds an axis; then values to it. What does not fit is left out. */
struct schedule_axis *schedule_add_axis(struct schedule_space *space, const char *name,
                                        const char *const *words);
void schedule_add_value(struct schedule_axis *axis, int64_t value);

/* The index-th combination that is not the family's own choice for all axes; false: there are no
 * more. */
bool schedule_text(const struct schedule_space *space, size_t index, char *text, size_t size);

/* The value of each axis in `text`, -1 where it does not name it. False: it is none of the space.
 */
bool schedule_read(const struct schedule_space *space, const char *text,
                   int64_t values[SCHEDULE_AXES]);

#endif
