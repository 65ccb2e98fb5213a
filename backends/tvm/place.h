/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h: where TVM is: a Python that has it ($COLLAGE_TVM_PYTHON, or the one that the build
 * found), or only its version, in a file beside the plugins: that is enough to run plans. Python is
 * not started to find out.
 */
#ifndef TVM_PLACE_H
#define TVM_PLACE_H

#include <collage/backend.h>

#include <limits.h>

struct place {
    char python[PATH_MAX]; /* "": there is none */
    char version[40];      /* of TVM */
};

collage_status place_find(struct place *place, collage_message *message);

#endif
