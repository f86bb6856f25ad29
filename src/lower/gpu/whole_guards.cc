#include "lower/gpu/whole_guards.h"

#include "compute/affine.h"

namespace whet {
namespace {

/// left - right of a comparison that asks for its sign: < 0 or >= 0. Undefined for any other expression.
std::optional<Affine> compared(const Expr& e) {
  const Binary* n = std::get_if<Binary>(&e->kind);
  if (!n || n->a->dtype != DType::i64) return {};
  const Affine difference = sub(to_affine(n->a), to_affine(n->b));
  if (n->op == BinaryOp::lt || n->op == BinaryOp::ge) return difference;
  if (n->op == BinaryOp::le || n->op == BinaryOp::gt) return sub(difference, Affine{{}, 1});
  return {};
}

/// The difference in units of what the lanes fill up, if all lanes are in one unit.
std::optional<Affine> in_units(const Affine& difference, VarId lane, std::int64_t lanes) {
  const auto is_lane = [&](const Expr& atom) {
    const Var* v = std::get_if<Var>(&atom->kind);
    return v && v->id == lane;
  };
  std::int64_t stride = 0;
  for (const auto& [atom, factor] : difference.terms)
    if (is_lane(atom)) stride = factor;
  const std::int64_t unit = stride * lanes;
  if (stride <= 0 || difference.constant % unit != 0) return {};
  Affine units{{}, difference.constant / unit};
  for (const auto& [atom, factor] : difference.terms) {
    if (is_lane(atom)) continue;
    if (factor % unit != 0 || uses(atom, lane)) return {};
    units.terms.emplace_back(atom, factor / unit);
  }
  return units;
}

Expr whole(const Expr& condition, const Loop& vector) {
  return rewrite(condition, [&](const Expr& part) -> Expr {
    const std::optional<Affine> difference = compared(part);
    if (!difference) return {};
    const std::optional<Affine> units = in_units(*difference, vector.index, *as_int(vector.extent));
    if (!units) return {};
    const BinaryOp op = std::get<Binary>(part->kind).op;
    const Expr left = to_expr(Affine{units->terms, 0}), right = int_const(-units->constant);
    return op == BinaryOp::lt || op == BinaryOp::le ? left < right : left >= right;
  });
}

Expr with_whole_choices(const Expr& e, const Loop& vector) {
  return rewrite(e, [&](const Expr& part) -> Expr {
    const Select* n = std::get_if<Select>(&part->kind);
    if (!n) return {};
    return select(whole(n->condition, vector), with_whole_choices(n->if_true, vector),
                  with_whole_choices(n->if_false, vector));
  });
}

Stmt in_vector(const Stmt& s, const Loop& vector) {
  return rewrite(
      s,
      [&](const Stmt& part) -> Stmt {
        const If* n = std::get_if<If>(&part->kind);
        if (!n) return {};
        const Stmt else_body = n->else_body.defined() ? in_vector(n->else_body, vector) : Stmt();
        return make_stmt(If{whole(n->condition, vector), in_vector(n->then_body, vector), else_body});
      },
      [&](const Expr& e) { return with_whole_choices(e, vector); });
}

}  // namespace

Program with_whole_guards(Program program) {
  program.body = rewrite(
      program.body,
      [&](const Stmt& part) -> Stmt {
        const Loop* loop = std::get_if<Loop>(&part->kind);
        if (!loop || loop->kind != LoopKind::vectorized || !is_const(loop->min, 0)) return {};
        Loop out = *loop;
        out.body = in_vector(loop->body, *loop);
        return make_stmt(std::move(out));
      },
      nullptr);
  return program;
}

}  // namespace whet
