// Operators of networks, as somebody would write them by hand: without the comments that name families and roles.

#include <gtest/gtest.h>

#include <map>

#include "compute/recognise.h"
#include "formats/import_model.h"
#include "passes/optimize.h"
#include "task/task.h"

namespace whet {
namespace {

ComputeDag without_roles(ComputeDag dag) {
  for (Op& op : dag.ops) {
    if (op.is_placeholder()) continue;
    Element& e = op.element();
    e.family = OpFamily::other;
    for (Axis& axis : e.axes) axis.role = AxisRole::other;
    for (Axis& axis : e.reduce_axes) axis.role = AxisRole::other;
  }
  return dag;
}

bool is_searched_by_roles(const Op& op) {
  if (op.is_placeholder() || !op.element().reducer) return false;
  const OpFamily family = op.element().family;
  return family == OpFamily::conv || family == OpFamily::depthwise || family == OpFamily::matmul ||
         family == OpFamily::pool;
}

/// The op's line, which has its family and the roles of its axes.
std::string line_of(const ComputeDag& dag, std::size_t op) {
  const std::string text = to_text(dag);
  std::size_t begin = 0;
  for (; op > 0; --op) begin = text.find('\n', begin) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Recognised, AreTheOpsOfTheZooWhoseRolesWereTakenAway) {
  std::map<std::string, int> missed;
  int all = 0;
  for (const std::string& name : zoo_names()) {
    for (const Layout layout : {Layout::channels_last, Layout::channels_first}) {
      const Result<Graph> graph = import_model("zoo:" + name, {.zoo = {.layout = layout, .seed = 7}});
      if (!graph.ok()) continue;  // a network without pictures has one layout
      const std::vector<Task> tasks = extract_tasks(optimize(*graph, {}).value(), Target{}).value();
      for (const Task& task : tasks) {
        const ComputeDag found = recognised(without_roles(task.dag));
        for (std::size_t i = 0; i < task.dag.ops.size(); ++i) {
          if (!is_searched_by_roles(task.dag.ops[i])) continue;
          ++all;
          const std::string want = line_of(task.dag, i);
          if (line_of(found, i) != want) ++missed[name + ": " + want];
        }
      }
    }
  }
  std::string list;
  int misses = 0;
  for (const auto& [line, count] : missed) list += line + "\n", misses += count;
  EXPECT_GT(all, 200);
  EXPECT_LE(misses, 0.02 * all) << list;
}

}  // namespace
}  // namespace whet
