// The text of a ComputeDag: it is refused by a sentence, or prints and reads back as the same DAG.

#include "compute/dag.h"
#include "fuzz.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto dag = parse_dag(fuzz::text_of(data, size));
  if (!dag.ok()) return fuzz::require_sentence(dag.error().message), 0;
  fuzz::require(verify(*dag).ok(), "what parse_dag gives is verified");
  const std::string printed = to_text(*dag);
  const auto again = parse_dag(printed);
  fuzz::require(again.ok(), "a printed DAG is read");
  fuzz::require(to_text(*again) == printed, "a DAG that was read prints as before");
  fuzz::require(same_dag(*dag, *again), "a printed DAG reads back equal");
  fuzz::require(workload_key(*dag) == workload_key(*again), "a printed DAG keeps its key");
  return 0;
}
