#include <algorithm>
#include <cstdio>

#include "base/hash.h"
#include "compute/dag.h"
#include "compute/names.h"

namespace whet {
namespace {

/// The DAG as text without names, with every number that comes from shapes moved to `parameters`.
class Structure {
 public:
  explicit Structure(const ComputeDag& dag) {
    for (const Op& op : dag.ops) add(op);
    text_ += "return";
    for (OpId id : dag.outputs) text_ += " " + std::to_string(id.value);
  }

  const std::string& text() const { return text_; }
  const std::vector<std::int64_t>& parameters() const { return parameters_; }

 private:
  void add(const Op& op) {
    text_ += std::string(name_of(op.dtype)) + " ";
    if (const auto* p = std::get_if<Placeholder>(&op.def)) {
      text_ += p->constant ? "const" : "input";
      if (p->index_bound > 0) text_ += " index " + parameter(p->index_bound);
      for (std::int64_t extent : op.shape) text_ += " " + parameter(extent);
    } else {
      add(op.element());
    }
    text_ += "\n";
  }

  void add(const Element& e) {
    text_ += std::string(name_of(e.family)) + (e.reducer ? std::string(sign_of(*e.reducer)) : "=");
    auto axes = [&](const std::vector<Axis>& list) {
      for (const Axis& a : list) text_ += " " + std::string(name_of(a.role)) + parameter(a.extent);
      text_ += ";";
    };
    axes(e.axes);
    axes(e.reduce_axes);
    ExprStyle style;
    style.source = [](SourceId id) { return "o" + std::to_string(id.value); };
    style.var = [](const Var& v) { return "a" + std::to_string(v.id.value); };
    style.index_constant = [&](std::int64_t value) { return parameter(value); };
    text_ += to_text(e.body, style);
  }

  std::string parameter(std::int64_t value) {
    parameters_.push_back(value);
    return "$";
  }

  std::string text_;
  std::vector<std::int64_t> parameters_;
};

bool same_axes(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Axis& x, const Axis& y) {
    return x.extent == y.extent && x.role == y.role && same(x.size, y.size);
  });
}

bool same_def(const Placeholder& a, const Placeholder& b) {
  return a.constant == b.constant && a.index_bound == b.index_bound && same(a.size, b.size);
}

bool same_def(const Element& a, const Element& b) {
  return a.family == b.family && a.reducer == b.reducer && same_axes(a.axes, b.axes) &&
         same_axes(a.reduce_axes, b.reduce_axes) && same(a.body, b.body);
}

bool same_op(const Op& a, const Op& b) {
  if (a.dtype != b.dtype || a.shape != b.shape || a.def.index() != b.def.index()) return false;
  if (!std::equal(a.sizes.begin(), a.sizes.end(), b.sizes.begin(), b.sizes.end(),
                  [](const Expr& x, const Expr& y) { return same(x, y); }))
    return false;
  return std::visit([&](const auto& x) { return same_def(x, std::get<std::decay_t<decltype(x)>>(b.def)); }, a.def);
}

}  // namespace

std::string workload_key(const ComputeDag& dag) {
  if (is_sized(dag)) return workload_key(dag_at(dag, dag.at));
  const Structure structure(dag);
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash_bytes(structure.text())));
  std::string key = "[\"" + std::string(hex) + "\"";
  for (std::int64_t value : structure.parameters()) key += "," + std::to_string(value);
  return key + "]";
}

bool same_dag(const ComputeDag& a, const ComputeDag& b) {
  const auto same_range = [](const SizeRange& x, const SizeRange& y) {
    return x.min == y.min && x.max == y.max && x.step == y.step;
  };
  return a.outputs == b.outputs && a.at == b.at &&
         std::equal(a.sizes.begin(), a.sizes.end(), b.sizes.begin(), b.sizes.end(), same_range) &&
         std::equal(a.ops.begin(), a.ops.end(), b.ops.begin(), b.ops.end(), same_op);
}

}  // namespace whet
