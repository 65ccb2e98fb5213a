/* SPDX-License-Identifier: Apache-2.0 */
#include "place/program_io.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

/* Waits for the descriptor; false when the time is over. */
static bool wait_for(int descriptor, short events, uint64_t deadline)
{
    for (;;) {
        uint64_t now = clock_ns();
        if (now >= deadline)
            return false;
        uint64_t left = (deadline - now) / 1000000 + 1;
        struct pollfd watched = { .fd = descriptor, .events = events };
        int ready = poll(&watched, 1, left < 1000 ? (int)left : 1000);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

static bool is_to_be_tried_again(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

bool io_write(int descriptor, const void *bytes, size_t count, uint64_t deadline)
{
    const char *next = bytes;
    while (count > 0) {
        ssize_t n = send(descriptor, next, count, MSG_NOSIGNAL);
        if (n > 0) {
            next += n;
            count -= (size_t)n;
        } else if (n == 0 || !is_to_be_tried_again() || !wait_for(descriptor, POLLOUT, deadline)) {
            return false;
        }
    }
    return true;
}

bool io_read(int descriptor, void *bytes, size_t count, uint64_t deadline)
{
    char *next = bytes;
    while (count > 0) {
        ssize_t n = recv(descriptor, next, count, 0);
        if (n > 0) {
            next += n;
            count -= (size_t)n;
        } else if (n == 0 || !is_to_be_tried_again() || !wait_for(descriptor, POLLIN, deadline)) {
            return false;
        }
    }
    return true;
}
