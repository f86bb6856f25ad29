#include "import_mxnet/symbol.h"

#include <set>

#include "base/nearest.h"
#include "json/json.h"

namespace whet::mxnet {
namespace {

constexpr std::size_t kMostNodes = std::size_t{1} << 19;
constexpr std::int64_t kMostResults = 4096;

/// [node, result], or [node, result, version].
Result<MxReference> reference_of(const Json& json, std::size_t before, const std::string& who) {
  const bool fits = json.is_array() && json.items().size() >= 2 && json.items().size() <= 3;
  const std::int64_t node = fits ? json.items()[0].integer_or(-1) : -1,
                     result = fits ? json.items()[1].integer_or(-1) : -1;
  if (node >= 0 && node < static_cast<std::int64_t>(before) && result >= 0 && result < kMostResults)
    return MxReference{static_cast<std::size_t>(node), static_cast<std::size_t>(result)};
  return Error{who + " names " + dump(json).substr(0, 80) + "; expected [node, result] of one of the " +
               std::to_string(before) + " nodes before"};
}

/// Attributes of the operator, and of users, in whichever of their three fields.
std::map<std::string, std::string, std::less<>> attributes_of(const Json& node) {
  std::map<std::string, std::string, std::less<>> attributes;
  for (const char* field : {"attrs", "attr", "param"}) {
    if (!node[field].is_object()) continue;
    for (const auto& [key, value] : node[field].members())
      attributes.emplace(key, value.is_string() ? value.string() : dump(value));
  }
  return attributes;
}

}  // namespace

Result<MxSymbol> parse_symbol(const std::string& text, const std::string& what) {
  const auto json = parse_json(text);
  if (!json.ok()) return Error{what + ": " + json.error().message};
  const Json &nodes = (*json)["nodes"], &heads = (*json)["heads"];
  if (!nodes.is_array() || !heads.is_array() || heads.items().empty())
    return Error{what + ": has no nodes or no heads; expected the symbol of a network"};
  if (nodes.items().size() > kMostNodes)
    return Error{what + ": has more than " + std::to_string(kMostNodes) + " nodes"};
  MxSymbol symbol;
  std::set<std::string> names;
  for (const Json& entry : nodes.items()) {
    MxNode node{entry["op"].string_or(""), entry["name"].string_or(""), attributes_of(entry), {}};
    if (node.name.empty()) node.name = "node_" + std::to_string(symbol.nodes.size());
    while (!names.insert(node.name).second) node.name += "_" + std::to_string(symbol.nodes.size());
    const std::string who = what + ": " + node.name;
    if (entry["inputs"].is_array()) {
      for (const Json& input : entry["inputs"].items()) {
        WHET_TRY(const MxReference reference, reference_of(input, symbol.nodes.size(), who));
        node.inputs.push_back(reference);
      }
    }
    symbol.nodes.push_back(std::move(node));
  }
  for (const Json& head : heads.items()) {
    WHET_TRY(const MxReference reference, reference_of(head, symbol.nodes.size(), what + ": its head"));
    symbol.heads.push_back(reference);
  }
  return symbol;
}

std::string value_name(const MxSymbol& symbol, const MxReference& reference) {
  const std::string& name = symbol.nodes[reference.node].name;
  return reference.result == 0 ? name : name + ":" + std::to_string(reference.result);
}

}  // namespace whet::mxnet
