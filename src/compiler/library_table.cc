#include "compiler/cpu/library.h"
#include "compiler/gpu/library.h"
#include "compiler/library.h"

namespace whet {
namespace {

constexpr LibraryOfFormat kWriters[] = {
    {CodeFormat::native_object, write_cpu_library, true},
    {CodeFormat::ptx, write_gpu_library, true},
};

}  // namespace

std::span<const LibraryOfFormat> library_writers() { return kWriters; }

}  // namespace whet
