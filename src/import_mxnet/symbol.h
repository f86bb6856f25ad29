#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace whet::mxnet {

struct MxReference {
  std::size_t node = 0, result = 0;
};

struct MxNode {
  std::string op;    ///< "null": an input or a parameter
  std::string name;  ///< unique
  std::map<std::string, std::string, std::less<>> attributes;
  std::vector<MxReference> inputs;
};

/// The symbol of a network, of either generation of its JSON: nodes read nodes before them.
struct MxSymbol {
  std::vector<MxNode> nodes;
  std::vector<MxReference> heads;
};

/// Errors: a node that reads itself or one behind it, or that does not exist; no heads.
Result<MxSymbol> parse_symbol(const std::string& text, const std::string& what);

/// "name" for the first result, else "name:1".
std::string value_name(const MxSymbol&, const MxReference&);

}  // namespace whet::mxnet
