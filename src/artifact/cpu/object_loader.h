#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "artifact/kernel.h"
#include "artifact/kernel_args.h"
#include "base/result.h"

namespace whet {

struct MachineRelocations;

/// Executable memory that holds one relocated object file, and the kernel in it.
struct LoadedObject {
  void* arena = nullptr;
  std::size_t arena_bytes = 0;
  whet_kernel entry = nullptr;
};

/// Maps a relocatable ELF object for this machine's processors (x86-64, AArch64) into memory of its own (writable while relocating, read and execute
/// afterwards). `symbol` names the kernel. Undefined symbols other than memcpy, memset and memmove are refused by name,
/// and so is anything malformed: no byte outside `object` is read, whatever it holds. On failure the result is false
/// and `error` holds one sentence. Needs libc alone (the runner links no C++ library).
bool load_object(const char* object, std::size_t bytes, const char* symbol, LoadedObject* loaded, char* error,
                 std::size_t error_bytes);
/// The same for an object of another machine, for tests: what is loaded must not be run.
bool load_object_of(const MachineRelocations& machine, const char* object, std::size_t bytes, const char* symbol,
                    LoadedObject* loaded, char* error, std::size_t error_bytes);
/// Gives the memory back; the kernel must not be running.
void unload_object(LoadedObject* loaded);

/// Owns a loaded kernel of format native_object.
class LoadedKernel {
 public:
  static Result<LoadedKernel> load(const Kernel& kernel) {
    if (kernel.format != CodeFormat::native_object)
      return Error{
          std::string("a CPU runs kernels of format native_object; this one is ").append(name_of(kernel.format))};
    if (kernel.launches.size() != 1) return Error{"a CPU's kernel has one launch; this one has another number"};
    const Launch& launch = kernel.launches[0];
    LoadedKernel loaded;
    char error[256];
    if (!load_object(kernel.code.data(), kernel.code.size(), launch.entry.c_str(), &loaded.object_, error,
                     sizeof error))
      return Error{error};
    loaded.parallel_ = launch.parallel;
    return loaded;
  }

  LoadedKernel(LoadedKernel&& other) noexcept { *this = std::move(other); }
  LoadedKernel& operator=(LoadedKernel&& other) noexcept {
    std::swap(object_, other.object_);
    parallel_ = other.parallel_;
    return *this;
  }
  ~LoadedKernel() { unload_object(&object_); }

  whet_kernel entry() const { return object_.entry; }
  /// Whether all workers call it; else one does.
  bool parallel() const { return parallel_; }

 private:
  LoadedKernel() = default;
  LoadedObject object_;
  bool parallel_ = false;
};

}  // namespace whet
