#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "compute/dag.h"
#include "passes/fuse.h"
#include "target/target.h"
#include "task/in_place.h"
#include "task/label.h"
#include "trial/task_inputs.h"

namespace whet {

/// One distinct kernel of a model.
struct Task {
  std::string key;   ///< workload key of the dag
  std::string name;  ///< for people: "conv+bias+relu 1x56x56x64 k3 s1 p1"; tasks may share it
  ComputeDag dag;
  int weight = 0;           ///< how often the model runs it: groups.size()
  std::vector<int> groups;  ///< numbers of the groups that it covers, ascending
  Shape within = {};        ///< of the tensor that its only output is a part of; empty: the output is whole itself
  /// Key of a usual task that this one computes on other layouts, or beside others; "": there is none.
  std::string twin = {};
  TaskLabel label = {};    ///< the name where there is little room
  TaskInputs inputs = {};  ///< a user's tensors that it is measured with
};

/// A model's kernels, and where they write.
struct PlacedTasks {
  std::vector<Task> tasks;
  InPlace in_place;
};

/// The distinct kernels of a model, in the order in which the model first needs them. Two groups are one task exactly when their DAGs and
/// what their output is a part of are equal; it has the user's tensors of most of them, under a hash of all. Concatenations in place are no
/// tasks. (The target decides nothing yet: it names what later chooses between algorithms.)
Result<std::vector<Task>> extract_tasks(const FusedGraph&, const Target&);
/// The same, with the concatenations that are in place.
Result<PlacedTasks> place_tasks(const FusedGraph&, const Target&);

/// How people call a group: its operators (of more than ten the first and the last), the shape of its result, and the
/// window of its convolution or pool.
std::string name_of(const FusedGraph&, const Group&);
TaskLabel label_of(const FusedGraph&, const Group&);

}  // namespace whet
