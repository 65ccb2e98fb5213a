# SPDX-License-Identifier: Apache-2.0
"""PyTorch compiled by Inductor (torch.compile with its defaults); it needs a C++ compiler."""
import os
import shutil

import peer
import torch_peer


class Inductor(torch_peer.Torch):
    details = "Inductor"

    def __init__(self, threads):
        # Compilers in this process: helpers that stay behind could disturb the others' runs.
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
        super().__init__(threads)
        if not any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "clang++")):
            raise peer.Absent("no C++ compiler (g++)")

    def compile(self, module):
        self.library.set_grad_enabled(False)
        return self.library.compile(module, fullgraph=True)


if __name__ == "__main__":
    peer.serve(Inductor)
