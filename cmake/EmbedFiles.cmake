# seckill_embed_files(target FOLDER dir): puts every file under dir into the target as seckill::gateway::static_files().
# Needs no tool but CMake itself: the same file, run as a script (cmake -P), writes the .cpp at build time.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  # -DFOLDER=… -DOUT=…
  set(types_html "text/html; charset=utf-8")
  set(types_js "text/javascript; charset=utf-8")
  set(types_css "text/css; charset=utf-8")
  set(types_json "application/json")
  set(types_webmanifest "application/manifest+json")
  set(types_svg "image/svg+xml")
  set(types_png "image/png")
  set(types_webp "image/webp")
  set(types_ico "image/x-icon")
  set(types_woff2 "font/woff2")
  set(types_txt "text/plain; charset=utf-8")

  file(GLOB_RECURSE files RELATIVE "${FOLDER}" "${FOLDER}/*")
  list(SORT files)
  set(data "")
  set(table "")
  set(index 0)
  foreach(file IN LISTS files)
    string(REGEX MATCH "[^.]+$" extension "${file}")
    if(NOT DEFINED types_${extension})
      message(FATAL_ERROR "${file}: no content type is known for .${extension} (cmake/EmbedFiles.cmake)")
    endif()
    file(READ "${FOLDER}/${file}" hex HEX)
    file(SHA256 "${FOLDER}/${file}" sum)
    string(SUBSTRING "${sum}" 0 20 sum)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${hex}")
    file(SIZE "${FOLDER}/${file}" size)
    # A build tool puts a hash in the name of what never changes; everything else is asked for again by its tag.
    set(cache "no-cache")
    if(file MATCHES "-[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*\\.[a-z0-9]+$" AND file MATCHES "-[A-Za-z0-9_-]{8,}\\.")
      set(cache "public, max-age=31536000, immutable")
    endif()
    set(path "/${file}")
    if(file STREQUAL "index.html")
      set(path "/")
    endif()
    string(APPEND data "constexpr char file_${index}[] = \"${bytes}\";\n")
    string(APPEND table "    {\"${path}\", \"${types_${extension}}\", \"\\\"${sum}\\\"\", \"${cache}\", {file_${index}, ${size}}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  if(index EQUAL 0)
    message(FATAL_ERROR "${FOLDER} has no files to embed")
  endif()
  file(WRITE "${OUT}" "// Written by cmake/EmbedFiles.cmake from the files of the buyer page.
#include \"gateway/static_files.hpp\"

namespace seckill::gateway {
namespace {

${data}
constexpr StaticFile files[] = {
${table}};

}  // namespace

std::span<const StaticFile> static_files() noexcept { return files; }

}  // namespace seckill::gateway
")
  return()
endif()

set(SECKILL_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
function(seckill_embed_files target)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${ARG_FOLDER}/*")
  set(out "${CMAKE_CURRENT_BINARY_DIR}/${target}_static_files.cpp")
  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${ARG_FOLDER}" "-DOUT=${out}" -P "${SECKILL_EMBED_SCRIPT}"
    DEPENDS ${files} "${SECKILL_EMBED_SCRIPT}"
    COMMENT "Embedding ${ARG_FOLDER}"
    VERBATIM)
  target_sources(${target} PRIVATE "${out}")
  # A page is a longer literal than ISO C++ asks compilers to take; every one we support takes it.
  set_source_files_properties("${out}" PROPERTIES COMPILE_OPTIONS "-Wno-overlength-strings")
endfunction()
