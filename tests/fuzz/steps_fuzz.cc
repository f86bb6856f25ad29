// The text of a schedule: it is refused by a sentence, or prints and reads back as the same steps, and replaying them
// gives a tree or a sentence. The first byte chooses the DAG.

#include <vector>

#include "compute/dag.h"
#include "fuzz.h"
#include "schedule/steps.h"
#include "schedules.h"

using namespace whet;

namespace {

/// Longer schedules take long and show nothing new.
constexpr std::size_t kMostSteps = 40;

const ComputeDag& dag_number(std::uint8_t number) {
  static const std::vector<ComputeDag> dags = [] {
    std::vector<ComputeDag> parsed;
    for (const char* text : fuzz::kDags) parsed.push_back(parse_dag(text).value());
    return parsed;
  }();
  return dags[number % dags.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto steps = parse_steps(fuzz::text_of(data + 1, size - 1));
  if (!steps.ok()) return fuzz::require_sentence(steps.error().message), 0;
  const std::string printed = to_text(*steps);
  const auto again = parse_steps(printed);
  fuzz::require(again.ok(), "printed steps are read");
  fuzz::require(to_text(*again) == printed, "steps that were read print as before");
  if (steps->size() > kMostSteps) return 0;
  const auto tree = replay(dag_number(data[0]), *steps);
  if (!tree.ok()) return fuzz::require_sentence(tree.error().message), 0;
  fuzz::require(verify(tree->dag).ok(), "a tree's DAG is verified");
  return 0;
}
