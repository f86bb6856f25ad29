#include "codegen/expr_table.h"

#include <algorithm>
#include <bit>

namespace whet {
namespace {

std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// a + factor * b
Linear sum(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear out;
  out.constant = wrapping_add(a.constant, wrapping_mul(factor, b.constant));
  out.lane_stride = wrapping_add(a.lane_stride, wrapping_mul(factor, b.lane_stride));
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    if (y == b.terms.end() || (x != a.terms.end() && x->first < y->first)) {
      out.terms.push_back(*x++);
    } else if (x == a.terms.end() || y->first < x->first) {
      out.terms.emplace_back(y->first, wrapping_mul(factor, y->second));
      ++y;
    } else {
      out.terms.emplace_back(x->first, wrapping_add(x->second, wrapping_mul(factor, y->second)));
      ++x, ++y;
    }
  }
  std::erase_if(out.terms, [](const auto& term) { return term.second == 0; });
  return out;
}

void add_vars(std::vector<VarId>& to, const std::vector<VarId>& from) {
  if (from.empty()) return;
  std::vector<VarId> merged;
  std::set_union(to.begin(), to.end(), from.begin(), from.end(), std::back_inserter(merged));
  to = std::move(merged);
}

/// A divisor that neither is zero nor makes the quotient overflow.
bool is_safe_divisor(const Expr& e) {
  const std::int64_t* value = as_int(e);
  return value != nullptr && *value != 0 && *value != -1;
}

bool may_trap(const ExprNode& node) {
  const auto* binary = std::get_if<Binary>(&node.kind);
  if (binary == nullptr || is_float(node.dtype)) return false;
  const bool divides =
      binary->op == BinaryOp::div || binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod;
  return divides && !is_safe_divisor(binary->b);
}

}  // namespace

std::size_t ExprTable::KeyHash::operator()(const Key& key) const {
  std::uint64_t h = 0;
  for (std::int64_t word : key.words) h = (h ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 32);
}

std::size_t ExprTable::NodeHash::operator()(const ExprNode* node) const {
  return (reinterpret_cast<std::uintptr_t>(node) * 0x9e3779b97f4a7c15ull) >> 32;
}

void ExprTable::Operands::push(ExprRef ref) {
  WHET_CHECK(count < refs.size(), "an expression of at most three operands");
  refs[count++] = ref;
}

ExprRef ExprTable::intern(const Expr& e) {
  if (const ExprRef found = by_node_.find(e.get()); found.valid()) return found;
  const ExprRef ref = number(e);
  by_node_.insert(e.get(), ref);
  return ref;
}

/// What is not shared will not be met again: most of an unrolled program.
ExprRef ExprTable::operand(const Expr& e) { return e.is_shared() ? intern(e) : number(e); }

ExprRef ExprTable::number(const Expr& e) {
  auto code = [](auto value) { return static_cast<std::int64_t>(value); };
  auto of = [&](const auto&... operands) {
    Operands list;
    (list.push(operand(operands)), ...);
    return list;
  };
  auto of_list = [&](const std::vector<Expr>& operands) {
    Operands list;
    for (const Expr& part : operands) list.push(operand(part));
    return list;
  };
  return std::visit(Match{
                        [&](const IntConst& n) { return add(e, {}, 0, n.value); },
                        [&](const FloatConst& n) { return add(e, {}, 0, std::bit_cast<std::int64_t>(n.value)); },
                        [&](const Var& n) {
                          const auto alias = aliases_.find(n.id);
                          return alias != aliases_.end() ? alias->second : add(e, {}, 0, n.id.value);
                        },
                        [&](const Unary& n) { return add(e, of(n.a), code(n.op), 0); },
                        [&](const Binary& n) { return add(e, of(n.a, n.b), code(n.op), 0); },
                        [&](const Select& n) { return add(e, of(n.condition, n.if_true, n.if_false), 0, 0); },
                        [&](const Cast& n) { return add(e, of(n.a), 0, 0); },
                        [&](const Call& n) { return add(e, of_list(n.args), code(n.fn), 0); },
                        [&](const Load& n) {
                          Operands parts = of_list(n.index);
                          if (n.mask.defined()) parts.push(operand(n.mask));
                          return add(e, parts, n.mask.defined() ? 1 : 0, n.source.value);
                        },
                        [&](const Ramp& n) { return add(e, of(n.base), 0, n.stride); },
                        [&](const Broadcast& n) { return e->lanes == 1 ? operand(n.a) : add(e, of(n.a), 0, 0); },
                    },
                    e->kind);
}

ExprRef ExprTable::add(const Expr& e, const Operands& children, std::int64_t op, std::int64_t payload) {
  auto word = [&](std::size_t i) { return static_cast<std::uint32_t>(children.refs[i].value); };
  Key key;
  key.words[0] = (static_cast<std::int64_t>(e->kind.index()) << 48) | (op << 40) |
                 (static_cast<std::int64_t>(e->dtype) << 32) | e->lanes;
  key.words[1] = payload;
  key.words[2] = static_cast<std::int64_t>((std::uint64_t{word(0)} << 32) | word(1));
  key.words[3] = word(2);
  if (const ExprRef found = by_key_.find(key); found.valid()) return found;
  const ExprRef ref(static_cast<std::int64_t>(infos_.size()));
  by_key_.insert(key, ref);
  ExprInfo info;
  info.expr = e;
  info.children.assign(children.refs.begin(), children.refs.begin() + static_cast<std::ptrdiff_t>(children.count));
  describe(info);
  infos_.push_back(std::move(info));
  ExprInfo& stored = infos_.back();
  if (!stored.is_linear && stored.expr->dtype == DType::i64 && stored.expr->lanes == 1) {
    stored.is_linear = true;
    stored.linear.terms = {{ref, 1}};
  }
  return ref;
}

void ExprTable::describe(ExprInfo& info) const {
  for (ExprRef child : info.children) {
    const ExprInfo& part = (*this)[child];
    add_vars(info.vars, part.vars);
    info.reads |= part.reads;
    info.fixed &= part.fixed;
    info.traps |= part.traps;
    info.lazy |= part.lazy;
  }
  if (std::holds_alternative<Select>(info.expr->kind))
    info.lazy |= !(*this)[info.children[1]].movable() || !(*this)[info.children[2]].movable();
  if (const auto* var = std::get_if<Var>(&info.expr->kind)) info.vars = {var->id};
  if (const auto* load = std::get_if<Load>(&info.expr->kind)) {
    const Buffer& buffer = program_.buffer(BufferId(load->source.value));
    info.reads = true;
    info.fixed &= buffer.scope == Scope::argument && !buffer.written;
  }
  info.traps |= may_trap(*info.expr);
  info.is_linear = info.expr->dtype == DType::i64 && make_linear(info, info.linear);
}

bool ExprTable::make_linear(const ExprInfo& info, Linear& out) const {
  auto child = [&](std::size_t i) -> const ExprInfo& { return (*this)[info.children[i]]; };
  if (const auto* constant = std::get_if<IntConst>(&info.expr->kind)) return out.constant = constant->value, true;
  if (const auto* ramp = std::get_if<Ramp>(&info.expr->kind)) {
    if (!child(0).is_linear || child(0).expr->lanes != 1) return false;
    out = child(0).linear;
    out.lane_stride = ramp->stride;
    return true;
  }
  if (std::holds_alternative<Broadcast>(info.expr->kind)) {
    if (!child(0).is_linear || child(0).expr->lanes != 1) return false;
    out = child(0).linear;
    return true;
  }
  if (const auto* unary = std::get_if<Unary>(&info.expr->kind)) {
    if (unary->op != UnaryOp::neg || !child(0).is_linear) return false;
    out = sum({}, child(0).linear, -1);
    return true;
  }
  const auto* binary = std::get_if<Binary>(&info.expr->kind);
  if (binary == nullptr || !child(0).is_linear || !child(1).is_linear) return false;
  const Linear &a = child(0).linear, &b = child(1).linear;
  auto is_constant = [](const Linear& x) { return x.terms.empty() && x.lane_stride == 0; };
  if (binary->op == BinaryOp::add) return out = sum(a, b, 1), true;
  if (binary->op == BinaryOp::sub) return out = sum(a, b, -1), true;
  if (binary->op != BinaryOp::mul) return false;
  if (is_constant(b)) return out = sum({}, a, b.constant), true;
  if (is_constant(a)) return out = sum({}, b, a.constant), true;
  return false;
}

}  // namespace whet
