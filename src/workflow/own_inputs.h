#pragma once

#include <string>
#include <vector>

#include "records/records.h"
#include "task/task.h"
#include "workflow/model.h"
#include "workflow/options.h"

/// A user's tensors in measurements: an operator of one's own may read what integers among its inputs say, and its time depends on them.
namespace whet {

/// Writes the numbers of the contents of named tensors at the graph's values of these names.
void mark_contents(const InputFiles&, Graph&);
/// Takes them away again.
void unmark_contents(Graph&);
/// Gives the contents that tasks of the graph are measured with to this process, which gives them to runners.
void keep_contents(const InputFiles&, const std::vector<Task>&);

/// Of the tasks that are measured with a user's tensors: the hashes that their records have, by key.
InputHashes input_hashes(const std::vector<Task>&);
/// Lets the records count that have the inputs of these tasks, or any. Gives a sentence about those that do not count; "" where there
/// are none.
std::string count_inputs(Records&, const std::vector<Task>&, bool any);

}  // namespace whet
