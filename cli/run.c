/* SPDX-License-Identifier: Apache-2.0 */
/* collage run: a plan, run on files or on the example inputs. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "output.h"
#include "profile.h"
#include "shapes.h"
#include "tensors.h"

struct settings {
    const char *model, *output;
    struct option_list inputs;
    int32_t runs;
    bool profile, trust;
};

static const struct option options[] = {
    { "input", 'i', OPTION_LIST, "NAME=FILE",
      "read an input from a .npy file; repeat for more (default: example inputs)",
      offsetof(struct settings, inputs) },
    { "output", 'o', OPTION_TEXT, "DIR", "write each output there as NAME.npy (else: a summary)",
      offsetof(struct settings, output) },
    { "model", 'm', OPTION_TEXT, "FILE", "the model of the plan, if it has moved",
      offsetof(struct settings, model) },
    { "runs", 'n', OPTION_COUNT, "N", "run so often (default: 1; with --profile: 20)",
      offsetof(struct settings, runs) },
    { "profile", 'p', OPTION_FLAG, NULL,
      "print the time of each step, and how near it is to the roofline",
      offsetof(struct settings, profile) },
    TRUST_OPTION(struct settings),
};

enum { PROFILE_RUNS = 20 };

/* Everything a run holds; all of it is freed by job_free. */
struct job {
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
    collage_session *session;
    struct tensor *inputs, *outputs;
    DLTensor *input_list, *output_list;
    size_t input_count, output_count;
};

static void job_free(struct job *job)
{
    for (size_t k = 0; job->inputs && k < job->input_count; k++)
        tensor_free(&job->inputs[k]);
    for (size_t k = 0; job->outputs && k < job->output_count; k++)
        tensor_free(&job->outputs[k]);
    free(job->inputs);
    free(job->outputs);
    free(job->input_list);
    free(job->output_list);
    collage_session_destroy(job->session);
    collage_plan_destroy(job->plan);
    collage_model_destroy(job->model);
    collage_context_destroy(job->context);
}

static int out_of_memory(void)
{
    complain(NULL, "out of memory");
    return EXIT_FAILED;
}

/* The file given for an input, or NULL. */
static const char *file_of_input(const struct option_list *list, const char *name)
{
    size_t length = strlen(name);
    for (size_t k = list->count; k-- > 0;)
        if (strncmp(list->items[k], name, length) == 0 && list->items[k][length] == '=')
            return list->items[k] + length + 1;
    return NULL;
}

/* Every --input must name an input of the model. */
static int check_input_names(const struct job *job, const struct option_list *list)
{
    for (size_t k = 0; k < list->count; k++) {
        bool known = false;
        for (size_t j = 0; j < job->input_count && !known; j++) {
            collage_tensor_info info = { .struct_size = sizeof info };
            collage_model_input(job->model, j, &info);
            size_t length = strlen(info.name);
            known =
                strncmp(list->items[k], info.name, length) == 0 && list->items[k][length] == '=';
        }
        if (!known) {
            complain(command_run.name,
                     "--input: '%s' is not NAME=FILE with an input of the model; see 'collage "
                     "inspect'",
                     list->items[k]);
            return EXIT_BAD_INPUT;
        }
    }
    return EXIT_OK;
}

static int make_input(struct job *job, const struct settings *settings, size_t index)
{
    collage_tensor_info info = { .struct_size = sizeof info };
    collage_status status = collage_model_input(job->model, index, &info);
    if (status != COLLAGE_OK)
        return complain_of(job->context, status);
    const char *file = file_of_input(&settings->inputs, info.name);
    struct tensor *tensor = &job->inputs[index];
    if (file)
        return tensor_read(job->context, command_run.name, file, &info, tensor);
    if (!tensor_create(tensor, &info))
        return out_of_memory();
    status = collage_model_example_input(job->context, job->model, index, tensor->dl.data,
                                         tensor->bytes);
    if (status != COLLAGE_OK)
        return complain_of(job->context, status);
    char name[128];
    collage_printable(name, sizeof name, info.name);
    printf("Input %s: the example input.\n", name);
    return EXIT_OK;
}

static int make_tensors(struct job *job, const struct settings *settings)
{
    job->input_count = collage_model_input_count(job->model);
    job->output_count = collage_model_output_count(job->model);
    job->inputs = calloc(job->input_count + 1, sizeof *job->inputs);
    job->outputs = calloc(job->output_count + 1, sizeof *job->outputs);
    job->input_list = calloc(job->input_count + 1, sizeof *job->input_list);
    job->output_list = calloc(job->output_count + 1, sizeof *job->output_list);
    if (!job->inputs || !job->outputs || !job->input_list || !job->output_list)
        return out_of_memory();
    int result = check_input_names(job, &settings->inputs);
    for (size_t k = 0; k < job->input_count && result == EXIT_OK; k++) {
        result = make_input(job, settings, k);
        job->input_list[k] = job->inputs[k].dl;
    }
    for (size_t k = 0; k < job->output_count && result == EXIT_OK; k++) {
        collage_tensor_info info = { .struct_size = sizeof info };
        collage_status status = collage_model_output(job->model, k, &info);
        if (status != COLLAGE_OK)
            result = complain_of(job->context, status);
        else if (!tensor_create(&job->outputs[k], &info))
            result = out_of_memory();
        job->output_list[k] = job->outputs[k].dl;
    }
    return result;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs it and prints the times. */
static int run_session(struct job *job, int32_t runs, bool profile)
{
    double *milliseconds = calloc((size_t)runs, sizeof *milliseconds);
    if (!milliseconds)
        return out_of_memory();
    int result = EXIT_OK;
    if (profile) {
        collage_status status = collage_session_set_profiling(job->session, true);
        if (status != COLLAGE_OK)
            result = complain_of(NULL, status);
    }
    for (int32_t k = 0; k < runs && result == EXIT_OK; k++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        collage_status status = collage_session_run(job->session, job->input_list, job->input_count,
                                                    job->output_list, job->output_count);
        clock_gettime(CLOCK_MONOTONIC, &end);
        milliseconds[k] = (double)(end.tv_sec - start.tv_sec) * 1e3 +
                          (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
        if (status != COLLAGE_OK)
            result = complain_with(status, collage_session_message(job->session));
    }
    qsort(milliseconds, (size_t)runs, sizeof *milliseconds, compare_doubles);
    if (result == EXIT_OK && runs == 1)
        printf("Time: %.3f ms (one run; --runs tells more).\n", milliseconds[0]);
    else if (result == EXIT_OK)
        printf("Time: minimum %.3f ms, median %.3f ms of %d runs.\n", milliseconds[0],
               milliseconds[runs / 2], (int)runs);
    free(milliseconds);
    return result;
}

/* Names come from the model: what is no plain file name in them becomes '_'. */
static void plain_name(const struct tensor *tensor, char *name, size_t size)
{
    collage_printable(name, size, tensor->info.name);
    for (char *c = name; *c; c++)
        if (*c == '/' || (*c == '.' && c == name))
            *c = '_';
}

/* Are two outputs the same as file names? Then each gets its number behind its name. */
static bool names_clash(const struct job *job)
{
    for (size_t k = 1; k < job->output_count; k++) {
        char name[128], other[128];
        plain_name(&job->outputs[k], name, sizeof name);
        for (size_t j = 0; j < k; j++) {
            plain_name(&job->outputs[j], other, sizeof other);
            if (strcmp(other, name) == 0)
                return true;
        }
    }
    return false;
}

static int write_output(struct job *job, size_t index, const char *folder)
{
    const struct tensor *tensor = &job->outputs[index];
    char name[128], number[32] = "", *path;
    plain_name(tensor, name, sizeof name);
    if (names_clash(job))
        snprintf(number, sizeof number, "-%zu", index);
    if (asprintf(&path, "%s/%s%s.npy", folder, name, number) < 0)
        return out_of_memory();
    collage_status status = collage_tensor_write(job->context, path, &tensor->dl);
    int result = status == COLLAGE_OK ? EXIT_OK : complain_of(job->context, status);
    if (result == EXIT_OK)
        printf("Wrote %s.\n", path);
    free(path);
    return result;
}

/* After the runs: measuring what the machine can do would have warmed it up, or tired it. */
static int print_profile(struct job *job)
{
    collage_status status = collage_session_find_peaks(job->context, job->session);
    return status == COLLAGE_OK ? profile_print(job->session, stdout)
                                : complain_of(job->context, status);
}

static int run_job(struct job *job, const struct settings *settings, const char *plan)
{
    struct progress progress = { 0 };
    int result = context_create_trusting(&progress, settings->trust, &job->context);
    if (result != EXIT_OK)
        return result;
    collage_status status =
        collage_plan_load(job->context, plan, settings->model, &job->model, &job->plan);
    if (status != COLLAGE_OK)
        return complain_of(job->context, status);
    result = make_tensors(job, settings);
    if (result != EXIT_OK)
        return result;
    status = collage_session_create(job->context, job->model, job->plan, &job->session);
    if (status != COLLAGE_OK)
        return complain_of(job->context, status);
    int32_t runs = settings->runs ? settings->runs : settings->profile ? PROFILE_RUNS : 1;
    result = run_session(job, runs, settings->profile);
    for (size_t k = 0; k < job->output_count && result == EXIT_OK; k++) {
        if (settings->output)
            result = write_output(job, k, settings->output);
        else
            tensor_print_summary(&job->outputs[k], stdout);
    }
    if (result == EXIT_OK && settings->profile)
        result = print_profile(job);
    return result;
}

static int run(const void *data, const struct operands *operands)
{
    const struct settings *settings = data;
    struct stat info;
    if (settings->output && (stat(settings->output, &info) != 0 || !S_ISDIR(info.st_mode))) {
        complain(command_run.name, "--output: '%s' is not a folder; make it first",
                 settings->output);
        return EXIT_BAD_INPUT;
    }
    struct job job = { 0 };
    int result = run_job(&job, settings, operands->items[0]);
    job_free(&job);
    return result;
}

const struct command command_run = {
    .name = "run",
    .summary = "Run a plan",
    .operands = "PLAN",
    .detail = "Runs PLAN on the given inputs and prints the shape, the mean, the extremes and the "
              "first values\nof each output, or writes the outputs as .npy files.",
    .operand_minimum = 1,
    .operand_maximum = 1,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
