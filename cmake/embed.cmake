# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCES="A|B" -DOUTPUT=FILE -DNAME=NAME -P embed.cmake: writes the texts of the sources, one after the other and
# without their includes of one another, as an array of characters.
string(REPLACE "|" ";" sources "${SOURCES}")
set(all "")
foreach(source IN LISTS sources)
    file(READ "${source}" text)
    string(REGEX REPLACE "#include \"[^\n]*\n" "" text "${text}")
    string(APPEND all "${text}")
endforeach()
string(HEX "${all}" bytes)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUTPUT}.part" "/* Made by cmake/embed.cmake. */\nstatic const char ${NAME}[] = {\n${bytes}0\n};\n")
file(RENAME "${OUTPUT}.part" "${OUTPUT}")
