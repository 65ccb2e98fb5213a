/* SPDX-License-Identifier: Apache-2.0 */
/* run_plan PLAN: runs a plan (one float32 input and output) and prints the first values. */
#include <stdio.h>
#include <stdlib.h>

#include <collage/collage.h>

static void check(collage_status status, const char *message)
{
    if (status != COLLAGE_OK) {
        fprintf(stderr, "run_plan: %s\n", message);
        exit(EXIT_FAILURE);
    }
}

/* A float32 tensor of that shape; strides NULL means row-major. */
static DLTensor make_tensor(collage_tensor_info *info, size_t *bytes)
{
    *bytes = sizeof(float);
    for (int32_t k = 0; k < info->rank; k++)
        *bytes *= (size_t)info->dims[k];
    return (DLTensor){ .data = calloc(1, *bytes),
                       .device = { kDLCPU, 0 },
                       .ndim = info->rank,
                       .dtype = { kDLFloat, 32, 1 },
                       .shape = info->dims };
}

int main(int argc, char **argv)
{
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
    collage_session *session;
    collage_tensor_info in = { .struct_size = sizeof in }, out = { .struct_size = sizeof out };
    size_t bytes;

    check(argc == 2 ? COLLAGE_OK : COLLAGE_ERROR_ARGUMENT, "give the name of a plan file");
    check(collage_context_create(NULL, &context), "there is no context");
    const char *plan_file = argv[1];
    collage_status status = collage_plan_load(context, plan_file, NULL, &model, &plan);
    check(status, collage_context_message(context));
    status = collage_session_create(context, model, plan, &session);
    check(status, collage_context_message(context));

    collage_model_input(model, 0, &in);
    collage_model_output(model, 0, &out);
    bool fits = in.dtype == COLLAGE_FLOAT32 && out.dtype == COLLAGE_FLOAT32;
    check(fits ? COLLAGE_OK : COLLAGE_ERROR_UNSUPPORTED, "this example knows float32 only");
    DLTensor input = make_tensor(&in, &bytes);
    collage_model_example_input(context, model, 0, input.data, bytes);
    DLTensor output = make_tensor(&out, &bytes);
    status = collage_session_run(session, &input, 1, &output, 1);
    check(status, collage_session_message(session));
    const float *values = output.data;
    for (size_t k = 0; k < 4 && k < bytes / sizeof *values; k++)
        printf("%s[%zu] = %g\n", out.name, k, (double)values[k]);

    free(input.data);
    free(output.data);
    collage_session_destroy(session);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return EXIT_SUCCESS;
}
