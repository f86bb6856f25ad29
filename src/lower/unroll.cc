#include "lower/unroll.h"

#include <fmt/format.h>

#include <optional>

#include "compute/affine.h"
#include "lower/rename.h"

namespace whet {
namespace {

struct Unroller {
  std::optional<Error> refused;
  std::int64_t stores = 0;
  std::vector<std::pair<VarId, Expr>> values;  // of the unrolled loops around

  Stmt visit(const Stmt& s) {
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          if (std::holds_alternative<Store>(part->kind)) ++stores;
          const Loop* loop = std::get_if<Loop>(&part->kind);
          if (!loop || loop->kind != LoopKind::unrolled) return Stmt();
          return copies(*loop, part);
        },
        [&](const Expr& e) { return here(e); });
  }

  /// Sums of variables come out simplified, so that they need not be made twice.
  Expr here(const Expr& e) const {
    if (values.empty()) return e;
    std::uint64_t bits = 0;
    for (const auto& [var, value] : values) bits |= var_bit(var);
    return rewrite(e, [&](const Expr& x) -> Expr {
      if ((x->vars & bits) == 0) return x;
      if (const Var* v = std::get_if<Var>(&x->kind)) return value_of(v->id, x);
      if (x->dtype != DType::i64 || x->lanes != 1) return Expr();
      std::optional<Affine> sum = sum_of_variables(x);
      if (!sum) return Expr();
      std::erase_if(sum->terms, [&](const auto& term) {
        const std::int64_t* value = as_int(value_of(std::get<Var>(term.first->kind).id, term.first));
        if (value) sum->constant += term.second * *value;
        return value != nullptr;
      });
      return to_expr(*sum);
    });
  }

  Expr value_of(VarId wanted, const Expr& otherwise) const {
    for (const auto& [var, value] : values)
      if (var == wanted) return value;
    return otherwise;
  }

  Stmt copies(const Loop& loop, const Stmt& whole) {
    const Expr first = here(loop.min), times = here(loop.extent);
    const std::int64_t *min = as_int(first), *extent = as_int(times);
    if (!min || !extent) {
      refused = Error{fmt::format("loop {} cannot be unrolled: its bounds are not constant", loop.name),
                      ErrorKind::unsupported};
      return whole;
    }
    std::vector<Stmt> parts;
    for (std::int64_t i = *min; i < *min + *extent && !refused; ++i) {
      values.emplace_back(loop.index, int_const(i));
      parts.push_back(visit(loop.body));
      values.pop_back();
      if (stores > kMaxUnrolledStores)
        refused =
            Error{fmt::format("loop {} unrolls to more than {} stores; unroll less", loop.name, kMaxUnrolledStores),
                  ErrorKind::limit};
    }
    return block(std::move(parts));
  }
};

}  // namespace

Result<Program> unroll_loops(Program program) {
  Unroller unroller;
  program.body = unroller.visit(program.body);
  if (unroller.refused) return *unroller.refused;
  return rename_apart(std::move(program));
}

}  // namespace whet
