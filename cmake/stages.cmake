# SPDX-License-Identifier: Apache-2.0

# Warnings and sanitizers for our own code.
function(collage_compile_options target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wcast-qual
        -Wwrite-strings -Wformat=2 -Wdouble-promotion -fno-math-errno $<$<BOOL:${COLLAGE_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE $<$<BOOL:${COLLAGE_VERIFY_STAGES}>:COLLAGE_VERIFY_STAGES>)
    if(COLLAGE_SANITIZE_ADDRESS)
        target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    endif()
    if(COLLAGE_SANITIZE_THREAD)
        target_compile_options(${target} PUBLIC -fsanitize=thread)
        target_link_options(${target} PUBLIC -fsanitize=thread)
    endif()
endfunction()

# A stage: all of src/NAME/*.c as the static library collage_NAME, linked to what follows.
function(collage_stage name)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    add_library(collage_${name} STATIC ${sources})
    collage_compile_options(collage_${name})
    target_include_directories(collage_${name} PUBLIC
        ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include ${COLLAGE_DLPACK_INCLUDE})
    target_link_libraries(collage_${name} PUBLIC ${ARGN})
    set_target_properties(collage_${name} PROPERTIES LINKER_LANGUAGE C)
endfunction()

# onnx.pb-c.{c,h} from COLLAGE_ONNX_PROTO, compiled into `target` (generated code: no warnings of ours).
function(collage_generate_onnx_messages target)
    get_filename_component(folder ${COLLAGE_ONNX_PROTO} DIRECTORY)
    set(out ${CMAKE_BINARY_DIR}/generated)
    file(MAKE_DIRECTORY ${out})
    add_custom_command(
        OUTPUT ${out}/onnx.pb-c.c ${out}/onnx.pb-c.h
        COMMAND ${PROTOC_C} --c_out=${out} --proto_path=${folder} ${COLLAGE_ONNX_PROTO}
        DEPENDS ${COLLAGE_ONNX_PROTO})
    add_library(collage_onnx_messages STATIC ${out}/onnx.pb-c.c ${out}/onnx.pb-c.h)
    target_include_directories(collage_onnx_messages SYSTEM PUBLIC ${out})
    target_link_libraries(collage_onnx_messages PUBLIC PkgConfig::PROTOBUF_C)
    target_link_libraries(${target} PUBLIC collage_onnx_messages)
endfunction()
