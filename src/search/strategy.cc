#include "search/strategy.h"

#include <utility>

#include "base/nearest.h"
#include "search/annealing.h"
#include "search/descent.h"
#include "search/evolutionary.h"
#include "search/genetic.h"
#include "search/grid.h"
#include "search/random.h"

namespace whet {
namespace {

using Make = std::unique_ptr<Strategy> (*)(SearchSpace, std::uint64_t seed);

struct StrategyEntry {
  const char* name;
  const char* what;
  Make make;
};

template <typename Kind>
std::unique_ptr<Strategy> make(SearchSpace space, std::uint64_t seed) {
  return std::make_unique<Kind>(std::move(space), seed);
}

constexpr StrategyEntry kStrategies[] = {
    {"evolutionary", "evolution against a learned model, then around the best", make<EvolutionaryStrategy>},
    {"xgb", "simulated annealing over the learned model", make<AnnealingStrategy>},
    {"ga", "a genetic algorithm on measured times, without a model", make<GeneticStrategy>},
    {"random", "uniform samples", make<RandomStrategy>},
    {"grid", "every point in order", make<GridStrategy>},
    {"descent", "from the fastest, decision by decision, until nothing near is faster", make<DescentStrategy>},
};

}  // namespace

std::vector<std::string> known_strategies() {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : kStrategies) names.emplace_back(entry.name);
  return names;
}

std::string what_is_strategy(const std::string& name) {
  for (const StrategyEntry& entry : kStrategies)
    if (name == entry.name) return entry.what;
  return "";
}

Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, SearchSpace space, std::uint64_t seed) {
  for (const StrategyEntry& entry : kStrategies)
    if (name == entry.name) return entry.make(std::move(space), seed);
  std::string known;
  for (const std::string& each : known_strategies()) known += (known.empty() ? "" : ", ") + each;
  return Error{"strategy is \"" + name + "\"; expected one of: " + known + did_you_mean(name, known_strategies())};
}

}  // namespace whet
