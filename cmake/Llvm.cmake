# LLVM 19 as rooms link it: WHET_LLVM_LIBRARY, and WHET_LLD with its linker. A program with the property WHET_LLVM_INSIDE has LLVM's archives
# in it, all others find the shared library.
set(WHET_LLVM_DIR /usr/lib/llvm-19 CACHE PATH "Where LLVM 19 is installed")
find_path(WHET_LLVM_INCLUDE llvm/IR/IRBuilder.h HINTS ${WHET_LLVM_DIR}/include REQUIRED)
find_library(WHET_LLVM_SHARED LLVM-19 HINTS ${WHET_LLVM_DIR}/lib REQUIRED)

# The archives of three code generators and of what the linker's library needs; no_targets.cc stands for the rest. "": they are not installed.
execute_process(COMMAND ${WHET_LLVM_DIR}/bin/llvm-config --link-static --libfiles x86 aarch64 nvptx lto objcopy option windowsdriver windowsmanifest
                OUTPUT_VARIABLE WHET_LLVM_ARCHIVES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
separate_arguments(WHET_LLVM_ARCHIVES)
list(FILTER WHET_LLVM_ARCHIVES EXCLUDE REGEX "Polly")
if(WHET_LLVM_ARCHIVES)
  add_library(whet_no_targets STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/portable/no_targets.cc)
  target_include_directories(whet_no_targets SYSTEM PRIVATE ${WHET_LLVM_INCLUDE})
  target_compile_options(whet_no_targets PRIVATE -fno-rtti)
endif()

set(lld ${WHET_LLVM_DIR}/lib/liblldELF.a ${WHET_LLVM_DIR}/lib/liblldCommon.a)
set(inside $<BOOL:$<TARGET_PROPERTY:WHET_LLVM_INSIDE>>)
add_library(whet_llvm INTERFACE)
target_link_libraries(whet_llvm INTERFACE
  "$<${inside}:-Wl,--start-group;${lld};$<TARGET_FILE:whet_no_targets>;${WHET_LLVM_ARCHIVES};-Wl,--end-group>" "$<$<NOT:${inside}>:${WHET_LLVM_SHARED}>")
add_library(whet_lld INTERFACE)
target_link_libraries(whet_lld INTERFACE "$<$<NOT:${inside}>:${lld}>" whet_llvm z zstd)
set(WHET_LLVM_LIBRARY whet_llvm)
set(WHET_LLD whet_lld)
