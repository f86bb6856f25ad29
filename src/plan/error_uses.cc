#include "plan/error_uses.h"

#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace whet {

ErrorUses error_uses(const FusedGraph& fused, const Alternatives& alternatives, const std::vector<LayerError>& errors) {
  using Rounded = std::tuple<std::string, bool, std::string>;  // the node, whether it is the product's, and to what
  std::map<Rounded, double> known;
  for (const LayerError& each : errors) known[{each.node, each.product, each.stored}] = each.error;
  ErrorUses found;
  found.uses.assign(alternatives.all.size(), 0);
  for (std::size_t a = alternatives.usual; a < alternatives.all.size(); ++a) {
    const Alternative& each = alternatives.all[a];
    if (each.kind != AlternativeKind::lowered || each.group < 0) continue;
    const Group& group = fused.groups[static_cast<std::size_t>(each.group)];
    const std::string& node = fused.graph.value(group.outputs.front()).name;
    bool all_known = true;
    for (const bool product : {true, false}) {
      const std::optional<StoredAs> stored = product ? each.rounds_product : each.rounds_reads;
      if (!stored) continue;
      const auto error = known.find({node, product, to_text(ActivationLayout{0, 0, *stored})});
      all_known = all_known && error != known.end() && std::isfinite(error->second);
      if (all_known) found.uses[a] += error->second * error->second;
    }
    if (!all_known) found.unknown.push_back(static_cast<int>(a));
  }
  return found;
}

}  // namespace whet
