# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's Python package: its own defaults, on the CPU."""
import peer


class OnnxRuntime:
    name = "ONNX Runtime"
    details = "Python"

    def __init__(self, threads):
        import onnxruntime

        self.library = onnxruntime
        self.version = onnxruntime.__version__
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads

    def threads(self):
        return self.options.intra_op_num_threads

    def load(self, model, inputs):
        session = self.library.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, inputs)


if __name__ == "__main__":
    peer.serve(OnnxRuntime)
