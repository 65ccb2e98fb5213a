# SPDX-License-Identifier: Apache-2.0
# start.py: the beginning of the helper, which is all files of this folder joined (backends/CMakeLists.txt): they import
# nothing of each other. helper.c starts it as `python -I -c PROGRAM THREADS`.
import os
import sys

# Before TVM is loaded.
os.environ.update(TVM_NUM_THREADS=sys.argv[1] if len(sys.argv) > 1 else "1", TVM_BIND_THREADS="0")
