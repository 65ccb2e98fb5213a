/* SPDX-License-Identifier: Apache-2.0 */
/* trial_internal.h: what trial.c (making and running) and trial_check.c (checking) share. */
#ifndef COLLAGE_MEASURE_TRIAL_INTERNAL_H
#define COLLAGE_MEASURE_TRIAL_INTERNAL_H

#include "measure/guard.h"
#include "measure/trial.h"

struct trial {
    const struct trial_spec *spec;
    const collage_backend_api *api;
    collage_backend *backend;
    collage_kernel *kernels[2]; /* by enum trial_kernel */
    collage_kernel_info info;
    collage_layout *input_layouts, *output_layouts;
    struct guarded *inputs, *outputs, scratch;
    struct guarded *pristine; /* copies of the inputs that are written over */
    const void **input_pointers;
    void **output_pointers; /* of the outputs, or of the inputs that they share */
    bool shared;
    void **constants; /* of the twin; by value */
};

/* Puts the output of one in-place pair into its input; all outputs back into their own memory. */
collage_status trial_share_pair(struct trial *trial, uint32_t pair, struct error *error);
void trial_unshare(struct trial *trial);
/* Is the input's memory now an output's? */
bool trial_writes_over(const struct trial *trial, uint32_t input);

#endif
