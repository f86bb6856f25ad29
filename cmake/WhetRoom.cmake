# One room = one folder = one static library `whet_<room>`; its tests are one executable `<room>_test`.
#
#   whet_room(NAME SOURCES a.cc b.cc DEPENDS base tensor [LINK LLVM] [TESTS a_test.cc] [ALONE b.cc] [COLD]
#             [SLOW Suite.Test:Suite.*] [MEASURED Suite.*] [RELEASED Suite.*])
#
# COLD: its code runs once a command. As released it is compiled with -O1 where others are with -O2: three quarters of the time of a unit of import or passes.
# SLOW: tests that take long. They are a test of their own, `<room>_slow`; `<room>` is the rest and has the label quick.
# MEASURED: tests that compare times of this machine, `<room>_measured`: nothing runs beside them.
# RELEASED: tests that are left out under AddressSanitizer, where they would take minutes or run code into which it does not see.
# ALONE: sources that are never compiled together with others, because a test links a file of its own in their place, or
# because they have names that others must not see.
# DEPENDS names rooms of lower layers; scripts/check_layers holds the `#include`s against the list in ARCHITECTURE.md.
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)

# Clean builds (the presets') parse the standard headers once. Off elsewhere, so that a forgotten #include shows.
option(WHET_PRECOMPILE "Precompile the standard headers" OFF)
if(WHET_PRECOMPILE)
  set(standard_headers <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
                       <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
  add_compile_definitions(FMT_SHARED)  # as rooms have it that link fmt: precompiled headers want equal definitions
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)  # what ccache needs of a compiler
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  else()
    add_compile_options(-fpch-preprocess)
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cc CONTENT "int main() {}\n")
  add_library(whet_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_precompile_headers(whet_precompiled PRIVATE ${standard_headers})
  add_executable(whet_precompiled_tests ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_precompile_headers(whet_precompiled_tests PRIVATE ${standard_headers} <gtest/gtest.h>)
  target_compile_options(whet_precompiled_tests PRIVATE -O0)
  target_link_libraries(whet_precompiled_tests PRIVATE GTest::gtest)
endif()

# whet_reuse_precompiled(TARGET whet_precompiled)
function(whet_reuse_precompiled target headers)
  if(WHET_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

# binutils has gold beside g++'s own choice of linker, which takes several times as long for a test.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=gold WHET_GOLD)
endif()

# Where tests find the files of the checkout.
add_library(whet_checkout STATIC ${CMAKE_SOURCE_DIR}/src/base/testing/checkout.cc)
target_include_directories(whet_checkout PUBLIC ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(whet_checkout PRIVATE WHET_SOURCE_DIR="${CMAKE_SOURCE_DIR}")

# whet_link_quickly(PROGRAM...): of programs that nobody installs.
function(whet_link_quickly)
  foreach(program IN LISTS ARGN)
    if(WHET_GOLD)
      target_link_options(${program} PRIVATE -fuse-ld=gold)
    endif()
  endforeach()
endfunction()

# A test runs once: what compiling it well takes is never earned back.
function(whet_compile_as_test target)
  target_compile_options(${target} PRIVATE -O0)
  target_link_libraries(${target} PRIVATE whet_checkout)
  whet_link_quickly(${target})
  whet_reuse_precompiled(${target} whet_precompiled_tests)
endfunction()

# Clean builds (the presets') compile neighbouring sources of a room as one, up to this size. With a larger one a changed source takes
# long to compile. 0 elsewhere, so that a forgotten #include shows.
set(WHET_JOIN 0 CACHE STRING "How many KB of a room's sources are compiled as one")
# Most of a test's time is its headers', which all tests of a room share.
math(EXPR WHET_JOIN_TESTS "2 * ${WHET_JOIN}")

# whet_join(SOURCES NAME ALONE KB): of the sources in the variable SOURCES, those that no property sets apart become files that
# include them. The files name them by paths in src, so that ccache knows them in other checkouts.
function(whet_join sources name alone kb)
  if(WHET_JOIN EQUAL 0)
    return()
  endif()
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  set(joined "")
  set(batch "")
  set(bytes 0)
  set(batches 0)
  macro(end_batch)
    if(batch)
      set(file ${CMAKE_BINARY_DIR}/joined/${name}_${batches}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${batch}" @ONLY)
      list(APPEND joined ${file})
      math(EXPR batches "${batches} + 1")
    endif()
    set(batch "")
    set(bytes 0)
  endmacro()
  foreach(source IN LISTS ${sources})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(options OR definitions OR source IN_LIST alone)
      list(APPEND joined ${source})
      continue()
    endif()
    file(SIZE ${CMAKE_CURRENT_SOURCE_DIR}/${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(bytes GREATER ${kb}000)
      end_batch()
      set(bytes ${size})
    endif()
    string(APPEND batch "#include \"${room}/${source}\"\n")
  endforeach()
  end_batch()
  set(${sources} ${joined} PARENT_SCOPE)
endfunction()

# whet_join_rooms(SOURCES NAME): of the sources in the variable SOURCES, paths of several rooms, those of each room become one file
# that includes them.
function(whet_join_rooms sources name)
  if(WHET_JOIN EQUAL 0)
    return()
  endif()
  set(rooms "")
  foreach(source IN LISTS ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR}/src ${path})
    string(REGEX REPLACE "/.*" "" room ${path})
    list(APPEND rooms ${room})
    string(APPEND of_${room} "#include \"${path}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  set(joined "")
  foreach(room IN LISTS rooms)
    set(file ${CMAKE_BINARY_DIR}/joined/${name}_with_${room}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${of_${room}}" @ONLY)
    list(APPEND joined ${file})
  endforeach()
  set(${sources} ${joined} PARENT_SCOPE)
endfunction()

# Warned of where a type with members of an anonymous namespace is defined in an included file, as joined sources are.
if(NOT WHET_JOIN EQUAL 0 AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

# whet_filter(ARGUMENT CHOSEN LEFT_OUT...): gtest's argument for the tests of the patterns CHOSEN, or all, without those of the others.
function(whet_filter argument chosen)
  list(JOIN ARGN ":" left_out)
  set(filter "${chosen}")
  if(left_out)
    string(APPEND filter "-${left_out}")
  endif()
  if(filter)
    set(filter "--gtest_filter=${filter}")
  endif()
  set(${argument} ${filter} PARENT_SCOPE)
endfunction()

function(whet_room name)
  cmake_parse_arguments(ROOM "COLD" "SLOW;MEASURED;RELEASED" "SOURCES;DEPENDS;LINK;TESTS;TEST_LINK;ALONE" ${ARGN})
  list(TRANSFORM ROOM_DEPENDS PREPEND whet_)
  whet_join(ROOM_SOURCES ${name} "${ROOM_ALONE}" ${WHET_JOIN})
  if(ROOM_SOURCES)
    add_library(whet_${name} STATIC ${ROOM_SOURCES})
    target_include_directories(whet_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(whet_${name} PUBLIC ${ROOM_DEPENDS} PRIVATE ${ROOM_LINK})
    whet_reuse_precompiled(whet_${name} whet_precompiled)
    if(ROOM_COLD AND CMAKE_BUILD_TYPE STREQUAL Release)
      target_compile_options(whet_${name} PRIVATE -O1)
    endif()
    if(WHET_SANITIZE AND name IN_LIST WHET_BYTE_ROOMS)
      target_compile_options(whet_${name} PRIVATE -fsanitize=alignment -fno-sanitize-recover=alignment)
    endif()
    if(WHET_FUZZ AND name IN_LIST WHET_FUZZED_ROOMS)
      # As -fsanitize=fuzzer-no-link has it, which precompiled headers would have to have too.
      target_compile_options(whet_${name} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp)
    endif()
  else()
    add_library(whet_${name} INTERFACE)
    target_include_directories(whet_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(whet_${name} INTERFACE ${ROOM_DEPENDS} ${ROOM_LINK})
  endif()
  if(ROOM_TESTS)
    whet_join(ROOM_TESTS ${name}_test "${ROOM_ALONE}" ${WHET_JOIN_TESTS})
    add_executable(${name}_test ${ROOM_TESTS})
    target_link_libraries(${name}_test PRIVATE whet_${name} ${ROOM_TEST_LINK} GTest::gtest GTest::gtest_main)
    whet_compile_as_test(${name}_test)
    set(tests ${name})
    set(left_out ${ROOM_MEASURED})
    if(WHET_SANITIZE)
      list(APPEND left_out ${ROOM_RELEASED})
    endif()
    whet_filter(quick_tests "" ${ROOM_SLOW} ${left_out})
    add_test(NAME ${name} COMMAND ${name}_test ${quick_tests})
    if(ROOM_SLOW)
      whet_filter(slow_tests "${ROOM_SLOW}" ${left_out})
      add_test(NAME ${name}_slow COMMAND ${name}_test ${slow_tests})
      set_tests_properties(${name}_slow PROPERTIES COST 100)
      list(APPEND tests ${name}_slow)
    endif()
    if(ROOM_MEASURED)
      add_test(NAME ${name}_measured COMMAND ${name}_test "--gtest_filter=${ROOM_MEASURED}")
      set_tests_properties(${name}_measured PROPERTIES RUN_SERIAL ON)
      list(APPEND tests ${name}_measured)
    endif()
    set_tests_properties(${tests} PROPERTIES TIMEOUT 600)
    set_tests_properties(${name} PROPERTIES LABELS quick)
    if(name IN_LIST WHET_THREADED_ROOMS)
      add_dependencies(threaded_tests ${name}_test)
      set_property(TEST ${tests} APPEND PROPERTY LABELS threads)
      # After a fork with threads, tests start threads again, which ThreadSanitizer refuses unless told otherwise.
      set_tests_properties(${tests} PROPERTIES
        ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.suppressions:die_after_fork=0")
    endif()
  endif()
endfunction()
