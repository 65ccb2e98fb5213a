# SPDX-License-Identifier: Apache-2.0
# Runs at install time: keeps in the prefix a list of the files that were installed and of the folders that were made for
# them, so that tools/uninstall.sh leaves nothing behind and takes nothing else. A row is a kind and a path:
#   file PATH, folder PATH    relative to the prefix (which may be moved); the folder "." is the prefix
#   above PATH                a folder above the prefix, absolute, with DESTDIR
cmake_policy(VERSION 3.25)

get_filename_component(record_prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}" ABSOLUTE)

# Adds rows to the record `name`; those of earlier installations into this prefix stay.
function(record_add name rows)
    set(record "${record_prefix}/${name}")
    if(EXISTS "${record}")
        file(STRINGS "${record}" earlier)
        list(APPEND rows ${earlier})
    endif()
    list(SORT rows)
    list(REMOVE_DUPLICATES rows)
    list(JOIN rows "\n" text)
    file(WRITE "${record}" "${text}\n")
endfunction()

# Before anything is installed: records which of the folders, and of those above them, are missing.
function(record_missing_folders name folders)
    set(rows "file ${name}")
    foreach(folder ${folders} .)
        set(path "${record_prefix}/${folder}")
        cmake_path(NORMAL_PATH path)
        string(REGEX REPLACE "(.)/$" "\\1" path "${path}")
        while(NOT EXISTS "${path}")
            file(RELATIVE_PATH relative "${record_prefix}" "${path}")
            if(relative STREQUAL "")
                list(APPEND rows "folder .")
            elseif(relative MATCHES "^\\.\\.")
                list(APPEND rows "above ${path}")
            else()
                list(APPEND rows "folder ${relative}")
            endif()
            get_filename_component(path "${path}" DIRECTORY)
        endwhile()
    endforeach()
    record_add("${name}" "${rows}")
endfunction()

# Afterwards: records the files.
function(record_files name)
    set(rows "")
    foreach(file ${CMAKE_INSTALL_MANIFEST_FILES})
        get_filename_component(file "$ENV{DESTDIR}${file}" ABSOLUTE)
        file(RELATIVE_PATH relative "${record_prefix}" "${file}")
        list(APPEND rows "file ${relative}")
    endforeach()
    record_add("${name}" "${rows}")
endfunction()
