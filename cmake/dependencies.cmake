# SPDX-License-Identifier: Apache-2.0
# What Collage stands on. Debian packages by pkg-config; headers and shared libraries of Python wheels from COLLAGE_VENV.
find_package(PkgConfig REQUIRED)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(GVC REQUIRED IMPORTED_TARGET libgvc)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
# CBC bounds placements; without it collage-solver is not built.
pkg_check_modules(CBC IMPORTED_TARGET cbc)
find_program(PROTOC_C protoc-c REQUIRED)

file(GLOB site_packages ${COLLAGE_VENV}/lib/python3*/site-packages)
find_path(COLLAGE_DLPACK_INCLUDE dlpack/dlpack.h PATHS ${site_packages}/tvm_ffi/include NO_DEFAULT_PATH REQUIRED)
find_file(COLLAGE_ONNX_PROTO onnx.proto PATHS ${site_packages}/onnx NO_DEFAULT_PATH REQUIRED)

# Backends; a missing one switches only its plugin off.
find_path(COLLAGE_ONEDNN_INCLUDE oneapi/dnnl/dnnl.h PATHS ${COLLAGE_VENV}/include)
find_library(COLLAGE_ONEDNN_LIBRARY dnnl PATHS ${COLLAGE_VENV}/lib)
file(GLOB COLLAGE_ONNXRUNTIME_LIBRARY ${site_packages}/onnxruntime/capi/libonnxruntime.so.*)
file(GLOB COLLAGE_OPENVINO_LIBRARY ${site_packages}/openvino/libs/libopenvino_c.so.*)
# Of several OpenBLAS and BLIS, those that use the threads of OpenMP, as oneDNN does.
find_library(COLLAGE_OPENBLAS_LIBRARY NAMES libopenblas.so.0 PATH_SUFFIXES openblas-openmp)
if(NOT COLLAGE_SANITIZE_ADDRESS) # LeakSanitizer dies of BLIS's thread-local memory (0.9; LSAN_OPTIONS=use_tls=0 helps)
    find_library(COLLAGE_BLIS_LIBRARY NAMES libblis.so.4 PATH_SUFFIXES blis-openmp)
endif()
# A bundle goes without MKL: it is larger than all the rest together.
if(NOT COLLAGE_BUNDLE)
    file(GLOB COLLAGE_MKL_LIBRARY ${COLLAGE_VENV}/lib/libmkl_rt.so.*)
endif()

# TVM is run by Python, not linked.
set(COLLAGE_TVM_VENV ${COLLAGE_VENV} CACHE PATH "Python environment that has TVM")
file(GLOB COLLAGE_TVM_LIBRARY ${COLLAGE_TVM_VENV}/lib/python3*/site-packages/tvm/_version.py)

# XNNPACK: the interface of its operators until 2023, which has no xnn_reshape functions.
find_path(COLLAGE_XNNPACK_INCLUDE xnnpack.h)
find_path(COLLAGE_PTHREADPOOL_INCLUDE pthreadpool.h)
find_library(COLLAGE_XNNPACK_LIBRARY NAMES libXNNPACK.so.0)
if(COLLAGE_XNNPACK_INCLUDE)
    file(STRINGS ${COLLAGE_XNNPACK_INCLUDE}/xnnpack.h COLLAGE_XNNPACK_NEWER REGEX xnn_reshape_convolution2d LIMIT_COUNT 1)
endif()
