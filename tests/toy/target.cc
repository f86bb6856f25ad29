#include "toy.h"

namespace whet::toy {

Target target() { return {PlainTarget{std::string(kKind)}, 1}; }

std::string target_text(const Target&) { return std::string(kKind); }

Result<Target> parse(std::span<const std::string_view> switches) {
  if (!switches.empty()) return Error{"target: toy has no switches; found \"" + std::string(switches[0]) + "\""};
  return target();
}

std::optional<TargetDistance> distance(const Target&, const Target&) { return TargetDistance{}; }
std::vector<std::string> differences(const Target&, const Target&) { return {}; }
std::int64_t cache_bytes(const Target&) { return 0; }

}  // namespace whet::toy
