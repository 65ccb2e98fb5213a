/* SPDX-License-Identifier: Apache-2.0 */
/* collage-worker: the process that measures; started by the library only (worker/worker.h). */
#include "worker/worker.h"

int main(int argc, char **argv)
{
    return worker_serve(argc, argv);
}
