// PTX is read or refused with a sentence, and what is read runs to its end or to a sentence: the interpreter of tests/ptx judges
// compilers' output, whatever that is.

#include <array>

#include "fuzz.h"
#include "ptx/machine.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto module = ptx::parse(fuzz::text_of(data, size));
  if (!module.ok()) return fuzz::require_sentence(module.error().message), 0;
  for (const ptx::Entry& entry : module->entries) {
    if (entry.slots > 4096) continue;  // registers are cleared for each warp
    std::array<std::byte, 2048> memory{};
    const std::vector<ptx::Argument> buffers(entry.parameters.size(), ptx::GlobalBuffer{"x", memory.data(), 2048});
    const auto tally = ptx::run(entry, {1, 64, 2048}, buffers, {.most_instructions = 1000});
    if (!tally.ok()) fuzz::require_sentence(tally.error().message);
  }
  return 0;
}
