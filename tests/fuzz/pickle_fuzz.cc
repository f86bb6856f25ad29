// Whatever the bytes, a pickle is values or a sentence; and its tensors are read or refused.

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz.h"
#include "import_torch/saved.h"
#include "tensor_files/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whet;
  ZipWriter zip;
  (void)zip.add("m/data.pkl", {reinterpret_cast<const char*>(data), size});
  for (int key = 0; key < 4; ++key) (void)zip.add("m/data/" + std::to_string(key), std::string(256, '\1'));
  const std::string bytes = std::move(zip).finish().value();
  torch::Members members("fuzzed");
  if (!members.parse(bytes).ok()) return 0;
  auto saved = torch::SavedTensors::read(members, "data.pkl", "data/");
  if (!saved.ok()) {
    fuzz::require(!saved.error().message.empty(), "an error says something");
    return 0;
  }
  for (std::size_t i = 0; i < saved->pickle().values.size() && i < 64; ++i) {
    const auto id = static_cast<torch::PickleId>(i);
    const auto tensor = saved->is_tensor(id) ? saved->tensor(id, "t") : Result<Tensor>(Tensor());
    if (!tensor.ok()) fuzz::require(!tensor.error().message.empty(), "an error says something");
  }
  return 0;
}
