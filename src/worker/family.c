/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/family.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { DESCENDANTS_MAX = 512, PASSES = 4 };

struct family {
    pid_t members[DESCENDANTS_MAX]; /* the leader first */
    size_t count;
};

void family_signal(pid_t leader, int signal)
{
    if (kill(-leader, signal) != 0)
        kill(leader, signal);
}

/* /proc/PID/task/TID/children: numbers with blanks between them. */
static void add_children(struct family *family, pid_t parent, const char *thread)
{
    char path[320];
    snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)parent, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    long child;
    while (family->count < DESCENDANTS_MAX && fscanf(file, "%ld", &child) == 1)
        family->members[family->count++] = (pid_t)child;
    fclose(file);
}

/* The leader and all its descendants, as far as there is room. */
static void collect(struct family *family, pid_t leader)
{
    family->members[0] = leader;
    family->count = 1;
    for (size_t k = 0; k < family->count; k++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/task", (long)family->members[k]);
        DIR *threads = opendir(path);
        for (struct dirent *entry; threads && (entry = readdir(threads)) != NULL;)
            if (entry->d_name[0] != '.')
                add_children(family, family->members[k], entry->d_name);
        if (threads)
            closedir(threads);
    }
}

/* They are stopped first, until no new ones turn up: what is stopped starts nobody. */
void family_kill(pid_t leader)
{
    struct family family;
    size_t known = 0;
    family_signal(leader, SIGSTOP);
    for (int pass = 0; pass < PASSES; pass++) {
        collect(&family, leader);
        for (size_t k = 1; k < family.count; k++)
            kill(family.members[k], SIGSTOP);
        if (family.count == known)
            break;
        known = family.count;
    }
    for (size_t k = 1; k < family.count; k++)
        kill(family.members[k], SIGKILL);
    family_signal(leader, SIGKILL);
}

bool family_has_ended(pid_t leader)
{
    siginfo_t info = { .si_pid = 0 };
    if (waitid(P_PID, (id_t)leader, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        return info.si_pid == leader;
    /* The host program reaps its children itself. */
    return errno == ECHILD && kill(leader, 0) != 0;
}
