/* SPDX-License-Identifier: Apache-2.0 */
/* reference_backend.h: the reference operators as an op-level backend: every operator we know, one
 * node at a time, row-major (and Identity between any two layouts: the reorder of last resort). */
#ifndef COLLAGE_BACKEND_REFERENCE_BACKEND_H
#define COLLAGE_BACKEND_REFERENCE_BACKEND_H

#include <collage/backend.h>

const collage_backend_api *reference_backend(void);

#endif
