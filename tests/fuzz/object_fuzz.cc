// The loader takes an object file for x86-64 or AArch64, or refuses it with a sentence. Nothing that it loads is run.

#include <cstring>
#include <memory>

#include "artifact/cpu/object_loader.h"
#include "artifact/cpu/relocate.h"
#include "fuzz.h"

using namespace whet;

namespace {

void load(const MachineRelocations& machine, const char* object, std::size_t size) {
  LoadedObject loaded;
  char error[256] = "";
  if (!load_object_of(machine, object, size, "kernel", &loaded, error, sizeof error))
    return fuzz::require_sentence(error);
  const char* entry = reinterpret_cast<const char*>(loaded.entry);
  const char* arena = static_cast<const char*>(loaded.arena);
  fuzz::require(entry >= arena && entry < arena + loaded.arena_bytes, "the entry is inside the loaded object");
  unload_object(&loaded);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Memory of exactly these bytes, so that a byte too far is noticed.
  const auto object = std::make_unique<char[]>(size);
  if (size != 0) std::memcpy(object.get(), data, size);
  load(kX86_64Relocations, object.get(), size);
  load(kAArch64Relocations, object.get(), size);
  return 0;
}
