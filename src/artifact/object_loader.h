#pragma once

#include <cstddef>
#include <utility>

#include "artifact/kernel.h"
#include "artifact/kernel_args.h"
#include "base/result.h"

namespace whet {

/// Executable memory that holds one relocated object file, and the kernel in it.
struct LoadedObject {
  void* arena = nullptr;
  std::size_t arena_bytes = 0;
  whet_kernel entry = nullptr;
};

/// Maps a relocatable x86-64 ELF object into memory of its own (writable while relocating, read and execute
/// afterwards). `symbol` names the kernel. Undefined symbols other than memcpy, memset and memmove are refused by name,
/// and so is anything malformed: no byte outside `object` is read, whatever it holds. On failure the result is false
/// and `error` holds one sentence. Needs libc alone (the runner links no C++ library).
bool load_object(const char* object, std::size_t bytes, const char* symbol, LoadedObject* loaded, char* error,
                 std::size_t error_bytes);
/// Gives the memory back; the kernel must not be running.
void unload_object(LoadedObject* loaded);

/// Owns a loaded kernel.
class LoadedKernel {
 public:
  static Result<LoadedKernel> load(const Kernel& kernel) {
    LoadedKernel loaded;
    char error[256];
    if (!load_object(kernel.object.data(), kernel.object.size(), kernel.symbol.c_str(), &loaded.object_, error,
                     sizeof error))
      return Error{error};
    return loaded;
  }

  LoadedKernel(LoadedKernel&& other) noexcept : object_(std::exchange(other.object_, LoadedObject{})) {}
  LoadedKernel& operator=(LoadedKernel&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~LoadedKernel() { unload_object(&object_); }

  whet_kernel entry() const { return object_.entry; }

 private:
  LoadedKernel() = default;
  LoadedObject object_;
};

}  // namespace whet
