/* SPDX-License-Identifier: Apache-2.0 */
/* consumer MODEL: optimises a model for the reference backend, runs it, prints one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <collage/collage.h>

static void require(collage_status status, const char *what, const char *message)
{
    if (status != COLLAGE_OK) {
        fprintf(stderr, "consumer: %s: %s: %s\n", what, collage_status_text(status), message);
        exit(EXIT_FAILURE);
    }
}

static DLTensor make_tensor(collage_tensor_info *info, size_t *bytes)
{
    DLTensor tensor;
    memset(&tensor, 0, sizeof tensor);
    *bytes = sizeof(float);
    for (int32_t k = 0; k < info->rank; k++)
        *bytes *= (size_t)info->dims[k];
    tensor.data = calloc(1, *bytes);
    tensor.device.device_type = kDLCPU;
    tensor.ndim = info->rank;
    tensor.dtype.code = kDLFloat;
    tensor.dtype.bits = 32;
    tensor.dtype.lanes = 1;
    tensor.shape = info->dims;
    return tensor;
}

int main(int argc, char **argv)
{
    collage_context *context;
    collage_model *model;
    collage_plan *plan;
    collage_session *session;
    collage_optimize_options options;
    collage_tensor_info in, out;
    size_t bytes;

    if (argc != 2)
        return EXIT_FAILURE;
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    options.backends = "reference";
    options.threads = 1;
    options.budget_seconds = 5;
    options.race_seconds = 0.2;
    in.struct_size = out.struct_size = sizeof in;

    require(collage_context_create(NULL, &context), "context", "");
    require(collage_model_load(context, argv[1], NULL, 0, &model), "model",
            collage_context_message(context));
    require(collage_optimize(context, model, &options, &plan), "optimise",
            collage_context_message(context));
    require(collage_session_create(context, model, plan, &session), "session",
            collage_context_message(context));
    require(collage_model_input(model, 0, &in), "input", "");
    require(collage_model_output(model, 0, &out), "output", "");
    DLTensor input = make_tensor(&in, &bytes);
    require(collage_model_example_input(context, model, 0, input.data, bytes), "example", "");
    DLTensor output = make_tensor(&out, &bytes);
    require(collage_session_run(session, &input, 1, &output, 1), "run",
            collage_session_message(session));
    printf("collage %s: %s[0] = %.4f\n", collage_version(), out.name, ((float *)output.data)[0]);

    free(input.data);
    free(output.data);
    collage_session_destroy(session);
    collage_plan_destroy(plan);
    collage_model_destroy(model);
    collage_context_destroy(context);
    return EXIT_SUCCESS;
}
