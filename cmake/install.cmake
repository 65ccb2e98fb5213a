# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where (docs/installing.md). Everything finds the rest by its place relative to itself, so
# a prefix may be moved. Included last: it installs the targets of all folders.
include(CMakePackageConfigHelpers)

# Targets by their kind, from all folders: plugins, and programs that only the library starts (collage_*_program).
set(plugins "")
set(programs "")
get_property(folders DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY SUBDIRECTORIES)
foreach(folder ${CMAKE_SOURCE_DIR} ${folders})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target ${targets})
        if(target MATCHES "^collage_plugin_")
            list(APPEND plugins ${target})
        elseif(target MATCHES "^collage_.*_program$")
            list(APPEND programs ${target})
        endif()
    endforeach()
endforeach()

# Sets in `result` the path from one folder of the prefix to another.
function(collage_path_between from to result)
    file(RELATIVE_PATH path /${from} /${to})
    string(REGEX REPLACE "/$" "" path "${path}")
    set(${result} "${path}" PARENT_SCOPE)
endfunction()

# Where the targets of a folder look for libcollage and, in a bundle, for the libraries that come along. There the path
# is of the kind that also holds for the libraries that a library needs (DT_RPATH).
function(collage_set_rpath folder)
    collage_path_between(${folder} ${CMAKE_INSTALL_LIBDIR} path)
    set(rpath $ORIGIN/${path})
    if(COLLAGE_BUNDLE)
        collage_path_between(${folder} ${bundled_dir} path)
        list(APPEND rpath $ORIGIN/${path})
    endif()
    set_target_properties(${ARGN} PROPERTIES INSTALL_RPATH "${rpath}")
endfunction()
collage_set_rpath(${CMAKE_INSTALL_BINDIR} collage_cli)
if(COLLAGE_BUNDLE)
    collage_set_rpath(${programs_dir} ${programs})
    collage_path_between(${CMAKE_INSTALL_LIBDIR} ${bundled_dir} path)
    set_target_properties(collage PROPERTIES INSTALL_RPATH $ORIGIN/${path})
    collage_set_rpath(${plugins_dir} ${plugins})
    foreach(target collage_cli collage ${programs} ${plugins})
        target_link_options(${target} PRIVATE LINKER:--disable-new-dtags)
    endforeach()
endif()

collage_path_between(${CMAKE_INSTALL_LIBDIR} ${programs_dir} path)
target_compile_definitions(collage PRIVATE COLLAGE_PROGRAMS_FROM_LIBRARY="${path}")
target_include_directories(collage INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${dlpack_dir}>)

# ---- what is installed ----

install(TARGETS collage_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${programs} RUNTIME DESTINATION ${programs_dir})
install(TARGETS collage EXPORT collage LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(plugins)
    install(TARGETS ${plugins} LIBRARY DESTINATION ${plugins_dir})
endif()

install(FILES include/collage/collage.h include/collage/registration.h include/collage/backend.h
    DESTINATION ${headers_dir})
install(FILES ${COLLAGE_DLPACK_INCLUDE}/dlpack/dlpack.h DESTINATION ${dlpack_dir}/dlpack)

install(EXPORT collage FILE collageConfig.cmake NAMESPACE collage:: DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/collageConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/collageConfigVersion.cmake DESTINATION ${package_dir})
collage_path_between(${pkgconfig_dir} "" prefix_from_pkgconfig)
configure_file(cmake/install/collage.pc.in ${CMAKE_BINARY_DIR}/collage.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/collage.pc DESTINATION ${pkgconfig_dir})

install(FILES docs/man/collage.1 DESTINATION ${man_dir})
install(FILES cmake/install/collage.bash RENAME collage DESTINATION ${completion_dir})
install(FILES LICENSE docs/third-party-notices.txt DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- the component `backends`: copies of the libraries behind the plugins, with their licences ----

# Installs the library `file` under the name by which its plugin looks for it beside the plugins.
function(collage_install_backend name file soname)
    file(REAL_PATH ${file} file)
    install(FILES ${file} RENAME ${soname} DESTINATION ${backends_dir}/${name} COMPONENT backends EXCLUDE_FROM_ALL)
endfunction()

# Installs the licences that match the patterns, or says that there are none.
function(collage_install_licences name)
    file(GLOB files ${ARGN})
    if(NOT files)
        message(STATUS "No licence file of ${name} found: the component 'backends' lacks it")
    endif()
    install(FILES ${files} DESTINATION ${licences_dir}/${name} COMPONENT backends EXCLUDE_FROM_ALL)
endfunction()

if(TARGET collage_plugin_onednn)
    collage_install_backend(onednn ${COLLAGE_ONEDNN_LIBRARY} libdnnl.so.3)
    collage_install_licences(onednn ${site_packages}/onednn_cpu_gomp-*.dist-info/LICENSE*)
endif()
if(TARGET collage_plugin_onnxruntime)
    collage_install_backend(onnxruntime ${COLLAGE_ONNXRUNTIME_LIBRARY} libonnxruntime.so.1)
    collage_install_licences(onnxruntime ${site_packages}/onnxruntime/LICENSE ${site_packages}/onnxruntime/ThirdParty*)
endif()
if(TARGET collage_plugin_openvino) # of its libraries, those that run ONNX models on the CPU
    collage_install_backend(openvino ${COLLAGE_OPENVINO_LIBRARY} libopenvino_c.so)
    get_filename_component(folder ${COLLAGE_OPENVINO_LIBRARY} DIRECTORY)
    set(openvino_files ${folder}/libopenvino.so.* ${folder}/libtbb*.so.* ${folder}/libhwloc.so.*)
    foreach(part intel_cpu_plugin auto_plugin auto_batch_plugin hetero_plugin onnx_frontend ir_frontend)
        list(APPEND openvino_files ${folder}/libopenvino_${part}.so*)
    endforeach()
    file(GLOB openvino_files ${openvino_files})
    install(FILES ${openvino_files} DESTINATION ${backends_dir}/openvino COMPONENT backends EXCLUDE_FROM_ALL)
    collage_install_licences(openvino ${site_packages}/openvino-*.dist-info/licenses/LICENSE
        ${site_packages}/openvino-*.dist-info/licenses/licensing/*)
endif()
foreach(name openblas blis xnnpack) # Debian's, with the licences of their packages; MKL stays where it is
    string(TOUPPER ${name} upper)
    if(TARGET collage_plugin_${name} AND COLLAGE_${upper}_LIBRARY)
        set(soname_openblas libopenblas.so.0)
        set(soname_blis libblis.so.4)
        set(soname_xnnpack libXNNPACK.so.0)
        collage_install_backend(${name} ${COLLAGE_${upper}_LIBRARY} ${soname_${name}})
        collage_install_licences(${name} /usr/share/doc/lib${name}[0-9]-*/copyright /usr/share/doc/lib${name}[0-9]/copyright)
    endif()
endforeach()

install(CODE "record_files(\"${record_file}\")" ALL_COMPONENTS)
