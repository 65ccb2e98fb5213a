/* SPDX-License-Identifier: Apache-2.0 */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int spawn_move_up(int descriptor)
{
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, SPAWN_FIRST_SAFE);
    int failed = errno;
    close(descriptor);
    errno = failed;
    return moved;
}

bool spawn_reap(pid_t pid, int *status)
{
    pid_t reaped;
    while ((reaped = waitpid(pid, status, 0)) < 0 && errno == EINTR)
        ;
    return reaped == pid;
}

static int describe_descriptors(posix_spawn_file_actions_t *actions, const int *descriptors,
                                size_t count)
{
    int failed = 0, next = 0;
    for (int target = 0; target < (int)count && !failed; target++) {
        if (descriptors[target] >= 0)
            failed = posix_spawn_file_actions_adddup2(actions, descriptors[target], target);
        else if (target <= STDERR_FILENO)
            failed = posix_spawn_file_actions_addopen(
                actions, target, "/dev/null", target == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
        if (descriptors[target] >= 0 || target <= STDERR_FILENO)
            next = target + 1;
    }
    /* the host program's files are none of the child's business */
    return failed ? failed : posix_spawn_file_actions_addclosefrom_np(actions, next);
}

static int describe_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!failed)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(attributes, &all);
    return failed ? failed : posix_spawnattr_setsigmask(attributes, &none);
}

int spawn_program(const char *program, char *const *arguments, const int *descriptors, size_t count,
                  pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed) {
        posix_spawn_file_actions_destroy(&actions);
        return failed;
    }
    failed = describe_descriptors(&actions, descriptors, count);
    if (!failed)
        failed = describe_attributes(&attributes);
    if (!failed)
        failed = posix_spawn(pid, program, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}
