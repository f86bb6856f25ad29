#include "ops/site.h"

namespace whet {

OpId define_at(const Site& site, const CustomOperator& op) {
  const ComputeDag& definition = *op.definition;
  std::vector<OpId> renamed;
  std::size_t input = 0;
  for (Op part : definition.ops) {
    if (part.is_placeholder()) {
      renamed.push_back(site.inputs[input++]);
      continue;
    }
    part.name = site.names.unique(site.dag, part.name);
    part.element().body = with_sources(part.element().body, renamed);
    renamed.push_back(site.dag.add(std::move(part)));
  }
  return renamed[definition.outputs[0].index()];
}

}  // namespace whet
