// The text of a ComputeDag: it is refused by a sentence, or prints and reads back as the same DAG. As a model it passes all the way to
// tasks, or is refused likewise.

#include "compute/dag.h"
#include "formats/operator_file.h"
#include "imported.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::follow(import_read(read_operator_file({"fuzzed", "", std::string(fuzz::text_of(data, size))}), {}));
  const auto dag = parse_dag(fuzz::text_of(data, size));
  if (!dag.ok()) return fuzz::require_sentence(dag.error().message), 0;
  fuzz::require(verify(*dag).ok(), "what parse_dag gives is verified");
  const std::string printed = to_text(*dag);
  const auto again = parse_dag(printed);
  fuzz::require(again.ok(), "a printed DAG is read");
  fuzz::require(to_text(*again) == printed, "a DAG that was read prints as before");
  fuzz::require(same_dag(*dag, *again), "a printed DAG reads back equal");
  fuzz::require(workload_key(*dag) == workload_key(*again), "a printed DAG keeps its key");
  SizeValues low, high;
  for (const SizeRange& size : dag->sizes) low.push_back(size.min), high.push_back(size.max);
  for (const SizeValues& values : {low, high})
    fuzz::require(verify(dag_at(*dag, values)).ok(), "a DAG of sizes is verified at each of them");
  return 0;
}
