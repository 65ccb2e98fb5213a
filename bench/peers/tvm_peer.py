# SPDX-License-Identifier: Apache-2.0
"""TVM (Relax): its ONNX front end and its default CPU pipeline, compiled by LLVM for this processor; no tuning."""
import os

import peer


class Tvm:
    name = "TVM"
    details = "Relax, untuned"

    def __init__(self, threads):
        os.environ["TVM_NUM_THREADS"] = str(threads)  # read when its thread pool starts
        import tvm
        from tvm import relax
        from tvm.relax.frontend import onnx as front_end

        if not tvm.runtime.enabled("llvm"):
            raise peer.Absent("TVM without LLVM")
        self.tvm, self.relax, self.front_end = tvm, relax, front_end
        self.version = tvm.__version__

    def threads(self):
        return self.tvm.get_global_func("runtime.NumThreads")()

    def load(self, model, inputs):
        import onnx

        tvm, relax = self.tvm, self.relax
        shapes = {name: list(array.shape) for name, array in inputs.items()}
        module = self.front_end.from_onnx(onnx.load(model), shape_dict=shapes, keep_params_in_input=False)
        target = tvm.target.Target.from_device(tvm.cpu())
        peer.forget_peak()
        with target:
            executable = tvm.compile(module, target=target)
        machine = relax.VirtualMachine(executable, tvm.cpu())
        tensors = [tvm.runtime.tensor(array) for array in inputs.values()]
        machine.set_input("main", *tensors)
        self.machine = machine
        return lambda: machine.invoke_stateful("main")

    def outputs(self, results):
        found = self.machine.get_outputs("main")
        return [found.numpy()] if hasattr(found, "numpy") else [part.numpy() for part in found]


if __name__ == "__main__":
    peer.serve(Tvm)
