#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/file_model.h"

namespace whet {

/// Makes the named values the model's outputs: nodes behind them are needed no more. Errors name a value that the
/// model does not have.
Status end_at(FileModel&, const std::vector<std::string>& names);

/// Leaves out inputs that neither the nodes of `order` nor the outputs read.
void drop_unread_inputs(FileModel&, const std::vector<std::size_t>& order);

/// Whether the node, or a body in it, reads one of the values.
bool reads_any(const FileNode&, const std::set<std::string>& values);

/// Where a model can end before nodes that cannot be read: the values computed from its inputs that such nodes, or nodes
/// behind them, read, and outputs that depend on none; in the order in which they are computed, each once. `unreadable`
/// has an entry for each node of the model.
std::vector<std::string> last_readable(const FileModel&, const std::vector<std::size_t>& order,
                                       const std::vector<bool>& unreadable);

}  // namespace whet
