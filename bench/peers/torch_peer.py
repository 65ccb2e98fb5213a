# SPDX-License-Identifier: Apache-2.0
"""PyTorch, eager: the model converted by onnx_to_torch.py, on the CPU, in float32."""
import peer


class Torch:
    name = "PyTorch"
    details = "eager"

    def __init__(self, threads):
        import torch

        self.library = torch
        self.version = torch.__version__.split("+")[0]
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision("highest")

    def threads(self):
        return self.library.get_num_threads()

    def compile(self, module):
        return module

    def load(self, model, inputs):
        import onnx_to_torch

        torch = self.library
        tensors = [torch.from_numpy(array) for array in inputs.values()]
        converted = onnx_to_torch.convert(model, dict(zip(inputs, tensors)))
        peer.forget_peak()
        module = self.compile(converted)

        def run_once():
            with torch.inference_mode():
                return module(*tensors)

        return run_once

    def outputs(self, results):
        return [tensor.numpy() for tensor in results]


if __name__ == "__main__":
    peer.serve(Torch)
