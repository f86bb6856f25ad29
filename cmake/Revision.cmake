# Writes OUTPUT, a source with the revision of the tree, where it is not so already: cmake -DSOURCE=... -DOUTPUT=... -P Revision.cmake
cmake_minimum_required(VERSION 3.25)
find_package(Git QUIET)
set(WHET_REVISION "")
if(GIT_EXECUTABLE AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty=+ --match=NONE OUTPUT_VARIABLE WHET_REVISION
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Written by cmake/Revision.cmake.
namespace whet {
extern const char* const kRevision;
const char* const kRevision = \"@WHET_REVISION@\";
}  // namespace whet
" @ONLY)
