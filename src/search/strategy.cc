#include "search/strategy.h"

#include <utility>

#include "base/nearest.h"
#include "search/random.h"

namespace whet {
namespace {

using Make = std::unique_ptr<Strategy> (*)(SearchSpace, std::uint64_t seed);

struct Entry {
  const char* name;
  Make make;
};

template <typename Kind>
std::unique_ptr<Strategy> make(SearchSpace space, std::uint64_t seed) {
  return std::make_unique<Kind>(std::move(space), seed);
}

constexpr Entry kStrategies[] = {
    {"random", make<RandomStrategy>},
};

}  // namespace

std::vector<std::string> known_strategies() {
  std::vector<std::string> names;
  for (const Entry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, SearchSpace space, std::uint64_t seed) {
  for (const Entry& entry : kStrategies)
    if (name == entry.name) return entry.make(std::move(space), seed);
  std::string known;
  for (const std::string& each : known_strategies()) known += (known.empty() ? "" : ", ") + each;
  return Error{"strategy is \"" + name + "\"; expected one of: " + known + did_you_mean(name, known_strategies())};
}

}  // namespace whet
