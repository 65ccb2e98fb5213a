# SPDX-License-Identifier: Apache-2.0
# The folders of an installation, relative to the prefix. Included before anything is installed: the first thing that an
# installation does is to record which of them it makes.
include(GNUInstallDirs)

foreach(kind BINDIR LIBDIR LIBEXECDIR INCLUDEDIR DATADIR MANDIR DOCDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
        message(FATAL_ERROR "CMAKE_INSTALL_${kind} must be relative to the prefix")
    endif()
endforeach()
set(private_dir ${CMAKE_INSTALL_LIBDIR}/collage) # plugins, and in a bundle the libraries that come along
set(programs_dir ${CMAKE_INSTALL_LIBEXECDIR}/collage)
set(plugins_dir ${private_dir}/plugins)
set(backends_dir ${private_dir}/backends)
set(bundled_dir ${private_dir}/bundled)
set(headers_dir ${CMAKE_INSTALL_INCLUDEDIR}/collage)
set(dlpack_dir ${headers_dir}/third_party)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/collage)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(record_dir ${CMAKE_INSTALL_DATADIR}/collage)
set(peers_dir ${record_dir}/peers)
set(man_dir ${CMAKE_INSTALL_MANDIR}/man1)
set(completion_dir ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
set(licences_dir ${CMAKE_INSTALL_DOCDIR}/licences)

# The record of what is installed, for `make uninstall`. Every folder that something is installed into stands here.
set(record_file ${record_dir}/installed.txt)
set(record_folders ${CMAKE_INSTALL_BINDIR} ${programs_dir} ${plugins_dir} ${package_dir} ${pkgconfig_dir}
    ${dlpack_dir}/dlpack ${record_dir} ${peers_dir} ${man_dir} ${completion_dir} ${CMAKE_INSTALL_DOCDIR})
set(record_backend_folders "")
foreach(name onednn onnxruntime openvino openblas blis xnnpack)
    list(APPEND record_backend_folders ${backends_dir}/${name} ${licences_dir}/${name})
endforeach()
install(CODE "
include(\"${CMAKE_SOURCE_DIR}/cmake/install/record.cmake\")
if(CMAKE_INSTALL_COMPONENT STREQUAL \"backends\")
    record_missing_folders(\"${record_file}\" \"${record_dir};${record_backend_folders}\")
else()
    record_missing_folders(\"${record_file}\" \"${record_folders}\")
endif()" ALL_COMPONENTS)
