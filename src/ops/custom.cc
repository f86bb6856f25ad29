#include <algorithm>

#include "ops/site.h"

namespace whet {
namespace {

/// Each step of a definition of scalars as an op over all elements.
OpId define_elements(const Site& site, const ComputeDag& definition) {
  std::vector<OpId> made(definition.ops.size());
  std::vector<std::size_t> inputs(definition.ops.size());
  std::size_t input = 0;
  for (std::size_t k = 0; k < definition.ops.size(); ++k) {
    const Op& step = definition.ops[k];
    if (step.is_placeholder()) {
      inputs[k] = input++;
      continue;
    }
    const bool is_last = definition.outputs[0].index() == k;
    const std::string name = is_last ? site.name : site.part(step.name.c_str());
    made[k] = site.map(name, axes_of(site.output.shape), OpFamily::elementwise, [&](const Exprs& i) {
      return rewrite(step.element().body, [&](const Expr& e) -> Expr {
        const auto* load = std::get_if<Load>(&e->kind);
        if (load == nullptr) return {};
        const std::size_t from = load->source.index();
        return definition.ops[from].is_placeholder() ? site.read_broadcast(inputs[from], i) : site.read(made[from], i);
      });
    });
  }
  return made[definition.outputs[0].index()];
}

/// Kernels are measured with numbers below the bound, which the definition clamps.
void bound_index(const Site& site, std::size_t input, const Op& placeholder) {
  const std::int64_t bound = std::get<Placeholder>(placeholder.def).index_bound;
  auto* own = std::get_if<Placeholder>(&site.dag.op(site.inputs[input]).def);
  if (bound > 0 && own != nullptr) own->index_bound = own->index_bound > 0 ? std::min(own->index_bound, bound) : bound;
}

}  // namespace

OpId define_at(const Site& site, const CustomOperator& op) {
  const ComputeDag& definition = *op.definition;
  if (is_elementwise(op)) return define_elements(site, definition);
  std::vector<OpId> renamed;
  std::size_t input = 0;
  for (Op part : definition.ops) {
    if (part.is_placeholder()) {
      bound_index(site, input, part);
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
