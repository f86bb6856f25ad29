# One room = one folder = one static library `whet_<room>`; its tests are one executable `<room>_test`.
#
#   whet_room(NAME SOURCES a.cc b.cc DEPENDS base tensor [LINK LLVM] [TESTS a_test.cc])
#
# DEPENDS names rooms of lower layers; scripts/check_layers holds the `#include`s against the list in ARCHITECTURE.md.
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)

function(whet_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LINK;TESTS;TEST_LINK" ${ARGN})
  list(TRANSFORM ROOM_DEPENDS PREPEND whet_)
  if(ROOM_SOURCES)
    add_library(whet_${name} STATIC ${ROOM_SOURCES})
    target_include_directories(whet_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(whet_${name} PUBLIC ${ROOM_DEPENDS} PRIVATE ${ROOM_LINK})
  else()
    add_library(whet_${name} INTERFACE)
    target_include_directories(whet_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(whet_${name} INTERFACE ${ROOM_DEPENDS} ${ROOM_LINK})
  endif()
  if(ROOM_TESTS)
    add_executable(${name}_test ${ROOM_TESTS})
    target_link_libraries(${name}_test PRIVATE whet_${name} ${ROOM_TEST_LINK} GTest::gtest GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE WHET_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    # A test runs once: what compiling it well takes is never earned back.
    target_compile_options(${name}_test PRIVATE -O0)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  endif()
endfunction()
