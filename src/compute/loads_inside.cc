#include "compute/loads_inside.h"

#include "compute/affine.h"

namespace whet {
namespace {

class LoadsOfOp {
 public:
  LoadsOfOp(const ComputeDag& dag, const Op& op) : dag_(dag), op_(op) {
    const Element& e = op.element();
    for (std::int64_t k = 0; k < std::ssize(e.axes) + std::ssize(e.reduce_axes); ++k)
      facts_.bind(VarId(k), Interval{0, axis_of(e, AxisId(k)).extent - 1});
  }

  Status check() { return walk(op_.element().body); }

 private:
  Status walk(const Expr& e) {
    if (const auto* u = std::get_if<Unary>(&e->kind)) return walk(u->a);
    if (const auto* c = std::get_if<Cast>(&e->kind)) return walk(c->a);
    if (const auto* b = std::get_if<Binary>(&e->kind)) {
      WHET_RETURN_IF_ERROR(walk(b->a));
      return walk(b->b);
    }
    if (const auto* call = std::get_if<Call>(&e->kind)) {
      for (const Expr& argument : call->args) WHET_RETURN_IF_ERROR(walk(argument));
      return ok_status();
    }
    if (const auto* choice = std::get_if<Select>(&e->kind)) return walk_choice(*choice);
    if (const auto* load = std::get_if<Load>(&e->kind)) return walk_load(*load);
    return ok_status();
  }

  /// Only the side that is chosen is evaluated.
  Status walk_choice(const Select& choice) {
    WHET_RETURN_IF_ERROR(walk(choice.condition));
    const Facts::Mark before = facts_.mark();
    facts_.assume(choice.condition);
    WHET_RETURN_IF_ERROR(walk(choice.if_true));
    facts_.rewind(before);
    facts_.assume_not(choice.condition);
    WHET_RETURN_IF_ERROR(walk(choice.if_false));
    facts_.rewind(before);
    return ok_status();
  }

  Status walk_load(const Load& load) {
    const Op& from = dag_.op(OpId(load.source.value));
    for (std::size_t d = 0; d < load.index.size(); ++d) {
      const Expr& index = load.index[d];
      WHET_RETURN_IF_ERROR(walk(index));
      if (facts_.proves(index >= int_const(0)) && facts_.proves(index < int_const(from.shape[d]))) continue;
      const auto name_of = [&](SourceId id) { return dag_.op(OpId(id.value)).name; };
      return Error{op_.name + " reads " + from.name + " at " + to_text(index, name_of) + " in dimension " +
                   std::to_string(d) + ", which is not known to be one of 0 .. " + std::to_string(from.shape[d] - 1) +
                   "; select(condition, " + from.name + "[...], value) reads it where the condition holds alone"};
    }
    return ok_status();
  }

  const ComputeDag& dag_;
  const Op& op_;
  Facts facts_;
};

}  // namespace

Status check_loads_inside(const ComputeDag& dag) {
  for (const Op& op : dag.ops)
    if (!op.is_placeholder()) WHET_RETURN_IF_ERROR(LoadsOfOp(dag, op).check());
  return ok_status();
}

}  // namespace whet
