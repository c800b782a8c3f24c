# seckill_library(NAME [ASIO] DEPS ...): the library of folder src/NAME. Sources are found by pattern; a folder of headers
# alone becomes an interface library. DEPS name folders to the left (checked by tests/checks/layers.py) and packages.
# ASIO: the folder's files share the precompiled header of cmake/pch/asio.hpp.
function(seckill_library name)
  cmake_parse_arguments(ARG "ASIO" "" "DEPS" ${ARGN})
  set_property(GLOBAL APPEND PROPERTY SECKILL_LAYERS ${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/src/gateway/http/")  # a library of its own, see its CMakeLists.txt
  if(sources)
    add_library(seckill_${name} STATIC ${sources})
    target_include_directories(seckill_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(seckill_${name} PUBLIC ${ARG_DEPS} PRIVATE seckill_flags)
  else()
    add_library(seckill_${name} INTERFACE)
    target_include_directories(seckill_${name} INTERFACE "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(seckill_${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()
