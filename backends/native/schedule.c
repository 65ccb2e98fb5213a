/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 96 };

struct schedule_axis *schedule_add_axis(struct schedule_space *space, const char *name,
                                        const char *const *words)
{
    struct schedule_axis *axis = &space->axes[space->count++];
    *axis = (struct schedule_axis){ .name = name, .words = words };
    return axis;
}

void schedule_add_value(struct schedule_axis *axis, int64_t value)
{
    for (size_t k = 0; k < axis->count; k++) {
        if (axis->values[k] == value)
            return;
    }
    if (axis->count < SCHEDULE_VALUES)
        axis->values[axis->count++] = value;
}

/* Which value each axis has in the number-th combination; 0: the family's choice. */
static bool take_apart(const struct schedule_space *space, size_t number,
                       size_t digits[SCHEDULE_AXES])
{
    for (size_t k = 0; k < space->count; k++) {
        digits[k] = number % (space->axes[k].count + 1);
        number /= space->axes[k].count + 1;
    }
    return number == 0;
}

bool schedule_text(const struct schedule_space *space, size_t index, char *text, size_t size)
{
    size_t digits[SCHEDULE_AXES], used = 0;
    if (!take_apart(space, index + 1, digits))
        return false;
    for (size_t k = 0; k < space->count && used < size; k++) {
        const struct schedule_axis *axis = &space->axes[k];
        if (digits[k] == 0)
            continue;
        int64_t value = axis->values[digits[k] - 1];
        int n = axis->words ? snprintf(text + used, size - used, "%s%s=%s", used ? " " : "",
                                       axis->name, axis->words[value])
                            : snprintf(text + used, size - used, "%s%s=%lld", used ? " " : "",
                                       axis->name, (long long)value);
        used += n > 0 ? (size_t)n : 0;
    }
    return used < size;
}

bool schedule_read(const struct schedule_space *space, const char *text,
                   int64_t values[SCHEDULE_AXES])
{
    char listed[TEXT_BYTES];
    for (size_t k = 0; k < SCHEDULE_AXES; k++)
        values[k] = -1;
    if (!text)
        return true;
    for (size_t index = 0; schedule_text(space, index, listed, sizeof listed); index++) {
        size_t digits[SCHEDULE_AXES];
        if (strcmp(listed, text) != 0)
            continue;
        (void)take_apart(space, index + 1, digits);
        for (size_t k = 0; k < space->count; k++) {
            if (digits[k] > 0)
                values[k] = space->axes[k].values[digits[k] - 1];
        }
        return true;
    }
    return false;
}
