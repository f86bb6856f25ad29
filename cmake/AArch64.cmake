# Programs and objects for AArch64 that this build makes beside its own: WHET_AARCH64 is true where clang 19 and Debian's cross
# packages (scripts/bootstrap) are there, and WHET_AARCH64_CXX is the compiler's command.
find_program(WHET_AARCH64_CLANG clang++-19)
set(WHET_AARCH64 OFF)
set(WHET_AARCH64_CXX ${WHET_AARCH64_CLANG} --target=aarch64-linux-gnu -march=armv8-a -std=c++20 -ffp-contract=off)
if(WHET_AARCH64_CLANG)
  set(probe ${CMAKE_BINARY_DIR}/aarch64_probe)
  file(WRITE ${probe}.cc "#include <string>\n#include <pthread.h>\nint main() { return 0; }\n")
  execute_process(COMMAND ${WHET_AARCH64_CXX} -static -fuse-ld=lld -o ${probe} ${probe}.cc RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(WHET_AARCH64 ON)
  endif()
endif()
if(NOT WHET_AARCH64)
  message(STATUS "Nothing is made for AArch64: clang++-19, lld-19, libc6-dev-arm64-cross or libstdc++-12-dev-arm64-cross is missing")
endif()

# whet_objects_for(NAME MACHINE COMPILER SOURCES FLAG...): the variable NAME becomes the list of object files of SOURCES, a list of
# paths, by the command in the variable COMPILER.
function(whet_objects_for name machine compiler sources)
  set(objects "")
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH part ${CMAKE_SOURCE_DIR} ${path})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${machine}/${part}.o)
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object} COMMAND ${WHET_CCACHE} ${${compiler}} ${ARGN} -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include
                       -MD -MT ${object} -MF ${object}.d -c -o ${object} ${path} DEPENDS ${path} DEPFILE ${object}.d VERBATIM
                       COMMENT "Compiling ${part} for ${machine}")
    list(APPEND objects ${object})
  endforeach()
  set(${name} ${objects} PARENT_SCOPE)
endfunction()

# whet_aarch64_objects(NAME SOURCES FLAG...)
function(whet_aarch64_objects name sources)
  whet_objects_for(${name} aarch64 WHET_AARCH64_CXX "${sources}" ${ARGN})
  set(${name} ${${name}} PARENT_SCOPE)
endfunction()
