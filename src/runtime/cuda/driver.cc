#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/process.h"

namespace whet {
namespace {

constexpr CUresult kStubLibrary = 34;

struct Symbol {
  const char* name;
  int since;
  bool required;
  size_t offset;  ///< in CudaFunctions
};

#define WHET_CUDA_REQUIRED(name, suffix, version, parameters) \
  {#name #suffix, version, true, offsetof(CudaFunctions, name##suffix)},
#define WHET_CUDA_OPTIONAL(name, suffix, version, parameters) \
  {#name #suffix, version, false, offsetof(CudaFunctions, name##suffix)},
constexpr Symbol kSymbols[] = {WHET_CUDA_FUNCTIONS(WHET_CUDA_REQUIRED, WHET_CUDA_OPTIONAL)};
#undef WHET_CUDA_REQUIRED
#undef WHET_CUDA_OPTIONAL

constexpr bool required_are_old_enough() {
  for (const Symbol& symbol : kSymbols) {
    if (symbol.required && symbol.since > kLeastDriver) return false;
  }
  return true;
}
static_assert(required_are_old_enough(), "a required function is newer than the oldest driver that is accepted");

int library_missing(const char* path, whet_error* error) {
  const char* reason = dlerror();
  if (reason == nullptr || strstr(reason, "No such file") != nullptr) {
    return whet_fail(error, "no CUDA driver here: %s not found", path);
  }
  return whet_fail(error, "no CUDA driver here: %s", reason);
}

int check_version(const char* path, void* library, int* version, whet_error* error) {
  CUresult (*get_version)(int*) = nullptr;
  void* found = dlsym(library, "cuDriverGetVersion");
  if (found == nullptr) return whet_fail(error, "no CUDA driver here: %s has no function cuDriverGetVersion", path);
  memcpy(&get_version, &found, sizeof found);
  const CUresult code = get_version(version);
  if (code == kStubLibrary) {
    return whet_fail(error,
                     "no CUDA driver here: %s is a stub for linking; expected the driver's own library before it in "
                     "the library path",
                     path);
  }
  if (code != 0) return whet_fail(error, "the CUDA driver does not tell its version: error %d", code);
  if (*version >= kLeastDriver) return 0;
  char has[16], least[16];
  write_cuda_version(*version, has);
  write_cuda_version(kLeastDriver, least);
  return whet_fail(error, "the driver here is of CUDA %s; expected %s or newer (release R525)", has, least);
}

int look_up(const char* path, void* library, CudaDriver* driver, whet_error* error) {
  for (const Symbol& symbol : kSymbols) {
    void* found = dlsym(library, symbol.name);
    if (found == nullptr && symbol.required) {
      char has[16], since[16];
      write_cuda_version(driver->version, has);
      write_cuda_version(symbol.since, since);
      return whet_fail(error, "%s says that it is of CUDA %s and has no function %s, which is there since CUDA %s",
                       path, has, symbol.name, since);
    }
    memcpy(reinterpret_cast<char*>(&driver->call) + symbol.offset, &found, sizeof found);
  }
  return 0;
}

ForkLock system_lock;
constinit CudaDriver system_driver;  // nothing runs when a model is loaded
bool system_is_open;

}  // namespace

void write_cuda_version(int version, char* text) { snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10); }

int open_cuda_driver(const char* path, CudaDriver* driver, whet_error* error) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return library_missing(path, error);
  if (check_version(path, library, &driver->version, error) == 0 && look_up(path, library, driver, error) == 0)
    return 0;
  dlclose(library);
  return -1;
}

int system_cuda_driver(const CudaDriver** driver, whet_error* error) {
  const Locked locked(system_lock);
  if (!system_is_open) system_is_open = open_cuda_driver("libcuda.so.1", &system_driver, error) == 0;
  *driver = system_is_open ? &system_driver : nullptr;
  return system_is_open ? 0 : -1;
}

}  // namespace whet
