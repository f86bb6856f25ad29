#include "lower/interiors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "compute/affine.h"
#include "lower/guards.h"
#include "lower/rename.h"
#include "lower/tile_loops.h"
#include "program/context.h"

namespace whet {
namespace {

/// The iterations for which a guard holds in all of a tile: from a number on, or up to one.
struct Held {
  bool from = false;
  Expr at;  ///< the first iteration, or the first one behind
};

/// What iterations of `index` hold the condition whatever the loops inside do; nothing where none of them is to be expanded.
std::optional<Held> held(const Expr& condition, VarId index, const Stmt& body, const TileLoops& inside) {
  const std::optional<Affine> sum = nonnegative_sum(condition);
  if (!sum) return std::nullopt;
  std::int64_t step = 0;
  bool expanded = false;
  Affine least{{}, sum->constant};  // of the sum in a tile, without the index
  for (const auto& [atom, coefficient] : sum->terms) {
    const Var* v = std::get_if<Var>(&atom->kind);
    const auto loop = v ? inside.find(v->id) : inside.end();
    if (v && v->id == index) {
      step = coefficient;
    } else if (loop != inside.end()) {
      least.constant += std::min<std::int64_t>(coefficient, 0) * (*as_int(loop->second->extent) - 1);
      expanded = expanded || is_expanded(*loop->second);
    } else {
      least.terms.emplace_back(atom, coefficient);
    }
  }
  const Expr rest = to_expr(least);
  if (step == 0 || !expanded || uses(rest, index) || binds_any(body, rest)) return std::nullopt;
  if (step < 0) return Held{false, floordiv(rest, -step) + 1};
  return Held{true, floordiv(to_expr(scale(least, -1)) + (step - 1), step)};
}

/// A digit of a loop: quotients and remainders of its index.
bool is_digit(const Expr& value) {
  const Binary* n = std::get_if<Binary>(&value->kind);
  if (!n || (n->op != BinaryOp::floordiv && n->op != BinaryOp::floormod)) return false;
  const Var* v = std::get_if<Var>(&n->a->kind);
  return v ? v->id.valid() : is_digit(n->a);
}

class InteriorPass {
 public:
  explicit InteriorPass(Program& program) : program_(program) {}

  Stmt visit(const Stmt& s) {
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          if (const Loop* n = std::get_if<Loop>(&part->kind)) return loop(*n);
          const Let* n = std::get_if<Let>(&part->kind);
          return n && is_digit(n->value) ? let(*n) : Stmt();
        },
        nullptr);
  }

 private:
  Stmt loop(const Loop& n) {
    const bool counts = !as_int(n.extent) && is_const(n.min, 0) && !edges_.contains(n.index);
    const bool parallel = n.kind == LoopKind::parallel;
    const std::optional<Interior> interior =
        counts && (parallel || n.kind == LoopKind::serial) ? find(n.index, n.body, false) : std::nullopt;
    if (!interior) return with_body(n, visit(n.body));
    const Stmt middle = visit(interior->body), edge = visit_edge(n.index, n.body);
    if (parallel) return with_body(n, chosen(*interior, n.index, n.name, middle, edge));
    const Expr first = var(program_.fresh_var(), n.name + ".first"), end = var(program_.fresh_var(), n.name + ".end");
    // The middle begins where padding ends, wherever the loop does: that proves its accesses.
    const Expr inside = interior->first.defined() ? max(interior->first, int_const(0)) : int_const(0);
    const Expr begin = interior->first.defined() ? min(inside, n.extent) : inside;
    const auto part = [&](const Expr& from, const Expr& to, const Stmt& body) {
      Loop made = n;
      made.min = from, made.extent = to - from, made.body = body;
      return make_stmt(std::move(made));
    };
    const Expr last = interior->end.defined() ? min(interior->end, n.extent) : n.extent;
    std::vector<Stmt> parts;
    if (interior->first.defined()) parts.push_back(part(int_const(0), first, edge));
    parts.push_back(part(inside, end, middle));
    if (interior->end.defined()) parts.push_back(part(max(first, end), n.extent, edge));
    return named(first, begin, named(end, last, block(std::move(parts))));
  }

  Stmt let(const Let& n) {
    const std::optional<Interior> interior = edges_.contains(n.var) ? std::nullopt : find(n.var, n.body, true);
    if (!interior) return make_stmt(Let{n.var, n.name, n.value, visit(n.body)});
    const Stmt middle = visit(interior->body), edge = visit_edge(n.var, n.body);
    return make_stmt(Let{n.var, n.name, n.value, chosen(*interior, n.var, n.name, middle, edge)});
  }

  /// The iterations first .. end - 1, undefined ends are those of the loop, and what they do.
  struct Interior {
    Expr first, end;
    Stmt body;
  };

  /// Nothing where no condition is decided so (none on a size, if it has to be one), or copies would be too many.
  std::optional<Interior> find(VarId index, const Stmt& body, bool size_decides) {
    const TileLoops inside = loops_of_tiles(body);
    Interior interior;
    bool decided = false;
    interior.body = with_conditions(body, [&](const Expr& condition) -> Expr {
      const std::optional<Held> found = held(condition, index, body, inside);
      if (!found) return {};
      decided = decided || !size_decides || has_size(condition);
      Expr& at = found->from ? interior.first : interior.end;
      at = !at.defined() ? found->at : found->from ? max(at, found->at) : min(at, found->at);
      return bool_const(true);
    });
    const std::int64_t stores = 2 * unrolled_stores(body);
    if (!decided || added_stores_ + stores > kMaxEdgeStores) return std::nullopt;
    added_stores_ += stores;
    return interior;
  }

  /// The body where some tests are left to do.
  Stmt visit_edge(VarId index, const Stmt& body) {
    edges_.insert(index);
    const Stmt visited = visit(body);
    edges_.erase(index);
    return visited;
  }

  static Stmt chosen(const Interior& interior, VarId index, const std::string& name, const Stmt& middle,
                     const Stmt& edge) {
    Expr inside = bool_const(true);
    if (interior.first.defined()) inside = inside && var(index, name) >= interior.first;
    if (interior.end.defined()) inside = inside && var(index, name) < interior.end;
    return make_stmt(If{inside, middle, edge});
  }

  static Stmt with_body(const Loop& n, Stmt body) {
    Loop made = n;
    made.body = std::move(body);
    return make_stmt(std::move(made));
  }

  static Stmt named(const Expr& variable, const Expr& value, Stmt body) {
    const Var& v = std::get<Var>(variable->kind);
    return make_stmt(Let{v.id, v.name, value, std::move(body)});
  }

  Program& program_;
  std::set<VarId> edges_;  ///< of the loops and digits whose edges are visited
  std::int64_t added_stores_ = 0;
};

}  // namespace

Result<Program> cut_interiors(Program program) {
  if (program.sizes.empty() || !program.body.defined()) return program;
  program.body = InteriorPass(program).visit(program.body);
  return rename_apart(std::move(program));
}

}  // namespace whet
