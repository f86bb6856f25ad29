#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "import/weight_files.h"
#include "import_tf/graph.h"

namespace whet::tensorflow {

/// The variables of a SavedModel, in `folder`/variables. They are read when they are asked for.
class Variables {
 public:
  /// A folder without variables has none.
  static Result<Variables> open(const std::string& folder, const TfGraph&);

  /// The value of the variable that a node (VarHandleOp, VariableV2) makes; nodes of one variable share it. Errors name the
  /// node.
  Result<Tensor> read(const TfNode&);

 private:
  Result<Tensor> value_of(const std::string& key, const std::string& entry, const std::string& node);

  std::string prefix_;  ///< of the files
  std::int64_t shards_ = 0;
  std::map<std::string, std::string> entries_;  ///< by their keys
  std::map<std::string, std::string> keys_;     ///< by the names of nodes, and by those of variables
  std::map<std::string, Tensor> values_;        ///< those that were read, by their keys
  WeightFiles files_;
};

}  // namespace whet::tensorflow
