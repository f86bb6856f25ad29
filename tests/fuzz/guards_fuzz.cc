// Whatever a guard of a program of torch.export is, it is read or left out, and a broken one is a sentence.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fuzz.h"
#include "import_torch/guards.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace whet;
  const std::optional<torch::Guard> guard = torch::Guard::parse({reinterpret_cast<const char*>(data), size});
  if (!guard) return 0;
  torch::ShapesByName shapes;
  for (const torch::Guard::Read& read : guard->reads()) shapes[read.input] = {3, 7, 6, 2};
  const Status status = torch::check_guards({*guard}, shapes);
  fuzz::require(status.ok() == guard->holds(shapes).value_or(true) || guard->reads().empty(),
                "what is broken is refused");
  if (!status.ok()) fuzz::require(!status.error().message.empty(), "an error says something");
  return 0;
}
