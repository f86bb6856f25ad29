# LLVM 19 as rooms link it: WHET_LLVM_LIBRARY, and WHET_LLD with its linker.
set(WHET_LLVM_DIR /usr/lib/llvm-19 CACHE PATH "Where LLVM 19 is installed")
find_path(WHET_LLVM_INCLUDE llvm/IR/IRBuilder.h HINTS ${WHET_LLVM_DIR}/include REQUIRED)
if(WHET_PORTABLE)
  # The archives of two code generators and of what the linker's library needs; no_targets.cc stands for the rest.
  execute_process(COMMAND ${WHET_LLVM_DIR}/bin/llvm-config --link-static --libfiles x86 aarch64 nvptx lto option windowsdriver windowsmanifest
                  OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(archives)
  list(FILTER archives EXCLUDE REGEX "Polly")
  add_library(whet_no_targets STATIC ${CMAKE_CURRENT_LIST_DIR}/portable/no_targets.cc)
  target_include_directories(whet_no_targets SYSTEM PRIVATE ${WHET_LLVM_INCLUDE})
  target_compile_options(whet_no_targets PRIVATE -fno-rtti)
  set(WHET_LLVM_LIBRARY -Wl,--start-group $<TARGET_FILE:whet_no_targets> ${archives} -Wl,--end-group z zstd)
  set(WHET_LLD ${WHET_LLVM_DIR}/lib/liblldELF.a ${WHET_LLVM_DIR}/lib/liblldCommon.a ${WHET_LLVM_LIBRARY})
  set(CMAKE_BUILD_RPATH "$ORIGIN")
  add_link_options(-Wl,--disable-new-dtags)  # libraries of libraries are looked for there too
else()
  find_library(WHET_LLVM_LIBRARY LLVM-19 HINTS ${WHET_LLVM_DIR}/lib REQUIRED)
  set(WHET_LLD lldELF lldCommon LLVM-19 z zstd)
endif()
