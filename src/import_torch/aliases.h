#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "import_torch/program.h"

namespace whet::torch {

/// Whether an operator writes into its first argument: "aten.relu_.default".
bool is_in_place(const std::string& op);

/// Inputs that a program writes into, and the values that they then have; "" where another write went into what may be a part.
using Written = std::map<std::string, std::string>;

/// The same program without in-place operators. What wrote into a tensor computes a new one; what wrote into a view (a slice,
/// a transpose, ...) is put back into what it is a view of, and views of that which are read later are taken anew. Errors name
/// the node that writes into a view that cannot be put back.
Result<TorchProgram> without_writes(TorchProgram, Written&);

class Functionalizer;

/// The same for a program that grows node by node.
class WriteRemover {
 public:
  WriteRemover();
  ~WriteRemover();
  /// A value that no node makes.
  void define(const std::string& name);
  /// Makes nodes without writes of a node; `take_nodes` gives them.
  Status add(const TorchNode&);
  /// The name that the value of `name` has now; it may need nodes.
  Result<std::string> current(const std::string& name, const std::string& label);
  std::vector<TorchNode> take_nodes();
  /// Whether something wrote into a value that no node makes.
  bool is_written(const std::string& input) const;

 private:
  std::unique_ptr<Functionalizer> functionalizer_;
};

}  // namespace whet::torch
