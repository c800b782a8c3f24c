# seckill_embed_scripts(target FOLDER dir): puts every Lua script directly under dir into the target as
# seckill::admission::redis::script_text(). A line "--@include a.lua b.lua" is replaced by those files, so that scripts
# share what they know of a lane; the whole scripts are also written to <build>/lua, where they run under
# `redis-cli --eval`. Needs no tool but CMake itself: the same file, run as a script (cmake -P), does it at build time.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # -DFOLDER=… -DOUT=… -DWHOLE=…
  file(GLOB scripts RELATIVE "${FOLDER}" "${FOLDER}/*.lua")
  list(SORT scripts)
  set(table "")
  foreach(script IN LISTS scripts)
    file(READ "${FOLDER}/${script}" text)
    string(REGEX MATCH "--@include ([^\n]*)\n" line "${text}")
    string(REPLACE " " ";" parts "${CMAKE_MATCH_1}")
    set(included "")
    foreach(part IN LISTS parts)
      file(READ "${FOLDER}/${part}" part_text)
      string(APPEND included "${part_text}")
    endforeach()
    if(line)
      string(REPLACE "${line}" "${included}" text "${text}")
    endif()
    file(WRITE "${WHOLE}/${script}" "${text}")
    file(READ "${WHOLE}/${script}" hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
    string(REPLACE ".lua" "" name "${script}")
    file(SIZE "${WHOLE}/${script}" size)
    string(APPEND table "    {\"${name}\", {\"${bytes}\", ${size}}},\n")
  endforeach()
  file(WRITE "${OUT}" "// Written by cmake/EmbedScripts.cmake from the scripts of the lanes.
#include \"admission/redis/script_texts.hpp\"

namespace seckill::admission::redis {
namespace {

constexpr ScriptText scripts[] = {
${table}};

}  // namespace

std::span<const ScriptText> script_texts() noexcept { return scripts; }

}  // namespace seckill::admission::redis
")
  return()
endif()

set(SECKILL_EMBED_SCRIPTS "${CMAKE_CURRENT_LIST_FILE}")
function(seckill_embed_scripts target)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${ARG_FOLDER}/*.lua")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}_script_texts.cpp")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${ARG_FOLDER}" "-DOUT=${out}" "-DWHOLE=${CMAKE_BINARY_DIR}/lua"
            -P "${SECKILL_EMBED_SCRIPTS}"
    DEPENDS ${files} "${SECKILL_EMBED_SCRIPTS}"
    COMMENT "Embedding ${ARG_FOLDER}"
    VERBATIM)
  target_sources(${target} PRIVATE "${out}")
  # A script is a longer literal than ISO C++ asks compilers to take; every one we support takes it.
  set_source_files_properties("${out}" PROPERTIES COMPILE_OPTIONS "-Wno-overlength-strings")
endfunction()
