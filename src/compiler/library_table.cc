#include "compiler/cpu/library.h"
#include "compiler/library.h"

namespace whet {
namespace {

constexpr LibraryOfFormat kWriters[] = {
    {CodeFormat::native_object, write_cpu_library},
};

}  // namespace

std::span<const LibraryOfFormat> library_writers() { return kWriters; }

}  // namespace whet
