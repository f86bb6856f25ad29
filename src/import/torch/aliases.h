#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/torch/program.h"

namespace whet::torch {

/// Whether an operator writes into its first argument: "aten.relu_.default".
bool is_in_place(const std::string& op);

/// The same program without in-place operators. What wrote into a tensor computes a new one; what wrote into a view (a slice,
/// a transpose, ...) is put back into what it is a view of, and views of that which are read later are taken anew. `written`
/// gets the inputs that the program writes into. Errors name the node that writes into a view that cannot be put back.
Result<TorchProgram> without_writes(TorchProgram, std::set<std::string>& written);

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
