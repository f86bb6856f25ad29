#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import_tf/graph.h"

/// Functions that become part of the graph that calls them. Bodies of branches and loops stay functions.
namespace whet::tensorflow {

/// Nodes without calls; what they read is the name of a value. Each name is once.
struct TfProgram {
  std::vector<std::string> inputs;
  std::vector<TfNode> nodes;  ///< those that the outputs need, each behind those that it reads
  std::vector<std::string> outputs;
  std::set<std::string> written;  ///< values (of variables) that something writes to
};

/// What the values `roots` ("node:0") of the main graph need. Nodes of `renamed` are called otherwise. Errors: a value
/// that nothing defines, a cycle, more than 2^19 nodes, calls within 64 calls, control flow of TensorFlow 1.
Result<TfProgram> inlined_graph(const TfGraph&, const std::vector<std::string>& roots,
                                const std::map<std::string, std::string>& renamed, const std::string& what);
/// A function, whose inputs are its arguments.
Result<TfProgram> inlined_function(const TfGraph&, const std::string& function, const std::string& what);

/// The node that a value is of.
std::string node_of(const std::string& value);

}  // namespace whet::tensorflow
