/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.h: peers are programs that run the model in their own way (a framework that is no backend of
 * ours) and take part in a race. They speak docs/peers.md: one JSON object a line on their standard
 * input and output. Nothing that they say is trusted: their results are compared with the oracle,
 * and their clock with ours. What goes wrong with a peer is the peer's failure, nobody else's.
 */
#ifndef COLLAGE_WORKER_PEER_H
#define COLLAGE_WORKER_PEER_H

#include "reference/oracle.h"
#include "worker/process.h"

struct peer {
    const char *name;       /* "torch" */
    char *const *arguments; /* NULL-terminated; the first is the program */
    double answer_seconds;  /* after which it counts as hung; 0: as long as each step may take */
};

/* The example inputs as files in a private folder, and names for the outputs beside them. */
struct peer_files;
collage_status peer_files_create(const struct graph *graph, const struct oracle *oracle,
                                 struct peer_files **out, struct error *error);
/* Removes the folder and all files in it. */
void peer_files_destroy(struct peer_files *files);

/* A peer in a race. All is borrowed. */
struct peer_seat {
    const struct peer *peer;
    struct process *process; /* started by process_start_peer */
    const struct peer_files *files;
    const char *model_path;
    int32_t threads;
    process_tick_fn tick;
    void *user;
};

/* Greets it: what it is goes into `about` ("PyTorch 2.15, Inductor"). Has it load the model and run
 * it once, and compares. Then runs it until its clock and ours have been seen to agree. *worst: the
 * error of the worst output; *run_ns: the time of a run. Failures name what the peer did wrong:
 * "absent: no module named 'torch'". */
collage_status peer_line_up(const struct peer_seat *seat, char *about, size_t about_size,
                            double *worst, double *run_ns, struct error *failure);

/* `warm` runs, then `runs` that count. *median_ns: of these. `seconds`: the limit. */
collage_status peer_round(const struct peer_seat *seat, size_t warm, size_t runs, double seconds,
                          double *median_ns, struct error *failure);

/* How many runs of run_ns fill `seconds`: at least `least`, at most what an answer holds. */
size_t peer_count_runs(double seconds, double run_ns, size_t least);

#endif
