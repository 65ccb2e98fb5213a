# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's Python package: its own defaults, in float32, on the CPU."""
import peer


class OpenVino:
    name = "OpenVINO"
    details = "Python"

    def __init__(self, threads):
        import openvino

        self.library = openvino
        self.version = openvino.__version__.split("-")[0]
        self.core = openvino.Core()
        self.core.set_property("CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"})

    def threads(self):
        return self.core.get_property("CPU", "INFERENCE_NUM_THREADS")

    def load(self, model, inputs):
        network = self.core.read_model(model)
        names = {port.get_any_name(): port for port in network.inputs}
        free = {names[name]: list(array.shape) for name, array in inputs.items()
                if names[name].partial_shape.is_dynamic}
        if free:
            network.reshape(free)
        compiled = self.core.compile_model(network, "CPU")
        request = compiled.create_infer_request()
        self.tensors = [self.library.Tensor(array, shared_memory=True) for array in inputs.values()]
        for name, tensor in zip(inputs, self.tensors):
            request.set_tensor(name, tensor)
        self.request, self.count = request, len(compiled.outputs)
        return request.infer

    def outputs(self, results):
        return [self.request.get_output_tensor(index).data for index in range(self.count)]


if __name__ == "__main__":
    peer.serve(OpenVino)
