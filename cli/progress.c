/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* A signal handler has no other way to reach anything. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void set_interrupt(void (*handler)(int), unsigned flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = (int)flags;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

/* Leaves it alone where whoever started us wants it ignored, as nohup does. */
static bool watch_interrupt(void)
{
    struct sigaction old;
    if (sigaction(SIGINT, NULL, &old) != 0 || old.sa_handler == SIG_IGN)
        return false;
    set_interrupt(on_interrupt, (unsigned)SA_RESETHAND | (unsigned)SA_RESTART);
    return true;
}

void progress_begin(struct progress *progress, bool quiet)
{
    memset(progress, 0, sizeof *progress);
    const char *term = getenv("TERM");
    progress->quiet = quiet;
    progress->terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    clock_gettime(CLOCK_MONOTONIC, &progress->started);
    progress->watching = watch_interrupt();
}

void progress_erase(struct progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}

void progress_end(struct progress *progress)
{
    progress_erase(progress);
    if (progress->watching)
        set_interrupt(SIG_DFL, 0);
    progress->watching = false;
}

static const char *stage_title(const char *stage)
{
    static const struct {
        const char *stage, *title;
    } titles[] = {
        { "reference", "Computing the reference" },
        { "measure", "Measuring" },
        { "tune", "Tuning" },
        { "place", "Placing" },
        { "race", "Racing the best plans" },
    };
    for (size_t k = 0; k < sizeof titles / sizeof titles[0]; k++)
        if (strcmp(titles[k].stage, stage) == 0)
            return titles[k].title;
    return stage;
}

static long seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)(now.tv_sec - start->tv_sec);
}

enum { BAR_CELLS = 16 };

static void add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends; what does not fit is left out. */
static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
}

/* "; best 1.234 ms, onnxruntime alone 1.567 ms; at most 3:10 left": as far as it is known. */
static void describe(const collage_progress *now, char *text, size_t size)
{
    char alone[40];
    collage_printable(alone, sizeof alone, now->alone ? now->alone : "");
    text[0] = '\0';
    if (now->best_ns > 0)
        add(text, size, "; best %.3f ms", now->best_ns / 1e6);
    if (now->alone_ns > 0)
        add(text, size, "%s %s alone %.3f ms", now->best_ns > 0 ? "," : ";", alone,
            now->alone_ns / 1e6);
    if (now->seconds_left >= 1) {
        long left = now->seconds_left < 1e9 ? (long)now->seconds_left : 1000000000L;
        add(text, size, "; at most %ld:%02ld left", left / 60, left % 60);
    }
}

/* "Measuring [====      ]  25 %  0:12  30 of 120; best 1.234 ms  what", cut to the terminal. */
static void draw_bar(struct progress *progress, const collage_progress *now, size_t percent)
{
    char title[40], detail[256], facts[160], bar[BAR_CELLS + 1], line[640];
    collage_printable(title, sizeof title, stage_title(now->stage));
    collage_printable(detail, sizeof detail, now->detail ? now->detail : "");
    size_t filled = percent * BAR_CELLS / 100;
    memset(bar, ' ', BAR_CELLS);
    memset(bar, '=', filled);
    bar[BAR_CELLS] = '\0';
    long seconds = seconds_since(&progress->started);
    describe(now, facts, sizeof facts);
    snprintf(line, sizeof line, "%s [%s] %3zu %%  %ld:%02ld  %zu of %zu%s  %s", title, bar, percent,
             seconds / 60, seconds % 60, now->done, now->total, facts, detail);
    char shown[sizeof line];
    size_t columns = (size_t)terminal_columns(STDERR_FILENO); /* the last column would wrap */
    collage_printable(shown, columns < sizeof shown ? columns : sizeof shown, line);
    fprintf(stderr, "\r%s\033[K", shown);
    fflush(stderr);
    progress->drawn = true;
}

/* A line at a new stage, at each tenth of it unless that is less than a second later, and after ten
 * seconds. */
static void report_line(struct progress *progress, const collage_progress *now, size_t percent,
                        bool new_stage)
{
    long seconds = seconds_since(&progress->started);
    bool due = (percent / 10 != progress->tenth && seconds > progress->reported_at) ||
               seconds >= progress->reported_at + 10;
    if (!new_stage && !due)
        return;
    progress->tenth = percent / 10;
    progress->reported_at = seconds;
    char title[40], facts[160];
    collage_printable(title, sizeof title, stage_title(now->stage));
    describe(now, facts, sizeof facts);
    fprintf(stderr, "%s: %zu of %zu (%zu %%), %ld s%s\n", title, now->done, now->total, percent,
            seconds, facts);
}

/* The first Ctrl-C of a search: what is measured makes the plan. The handler is gone by now: the
 * next one kills. */
static void end_early(struct progress *progress)
{
    collage_context_finish(progress->finishes);
    if (progress->told)
        return;
    progress->told = true;
    progress_erase(progress);
    if (!progress->quiet)
        fputs("Ending early: the plan is made of what is measured. Ctrl-C again ends at once.\n",
              stderr);
}

bool progress_update(void *user, const collage_progress *now)
{
    struct progress *progress = user;
    if (interrupted && !progress->finishes) {
        progress_erase(progress);
        return false;
    }
    if (interrupted)
        end_early(progress);
    if (progress->quiet)
        return true;
    size_t done = now->done < now->total ? now->done : now->total;
    size_t percent = now->total ? (size_t)((double)done * 100.0 / (double)now->total) : 0;
    bool new_stage = strcmp(progress->stage, now->stage) != 0;
    if (new_stage)
        collage_printable(progress->stage, sizeof progress->stage, now->stage);
    if (progress->terminal)
        draw_bar(progress, now, percent);
    else
        report_line(progress, now, percent, new_stage);
    return true;
}

void progress_log(void *user, collage_log_level level, const char *line)
{
    struct progress *progress = user;
    if (progress->quiet || level > COLLAGE_LOG_WARNING)
        return;
    progress_erase(progress);
    complain(NULL, "%s: %s", level == COLLAGE_LOG_ERROR ? "error" : "warning", line);
}
