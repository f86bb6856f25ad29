#include "lower/unroll.h"

#include <fmt/format.h>

#include <optional>

#include "lower/rename.h"

namespace whet {
namespace {

struct Unroller {
  std::optional<Error> refused;
  std::int64_t stores = 0;

  Stmt visit(const Stmt& s) {
    return rewrite(
        s,
        [&](const Stmt& part) -> Stmt {
          if (std::holds_alternative<Store>(part->kind)) ++stores;
          const Loop* loop = std::get_if<Loop>(&part->kind);
          if (!loop || loop->kind != LoopKind::unrolled) return Stmt();
          return copies(*loop, part);
        },
        nullptr);
  }

  Stmt copies(const Loop& loop, const Stmt& whole) {
    const std::int64_t *min = as_int(loop.min), *extent = as_int(loop.extent);
    if (!min || !extent) {
      refused = Error{fmt::format("loop {} cannot be unrolled: its bounds are not constant", loop.name)};
      return whole;
    }
    std::vector<Stmt> parts;
    for (std::int64_t i = *min; i < *min + *extent && !refused; ++i) {
      const Stmt copy = rewrite(loop.body, nullptr, [&](const Expr& e) {
        return substitute(e, [&](VarId v) { return v == loop.index ? int_const(i) : Expr(); });
      });
      parts.push_back(visit(copy));
      if (stores > kMaxUnrolledStores)
        refused =
            Error{fmt::format("loop {} unrolls to more than {} stores; unroll less", loop.name, kMaxUnrolledStores)};
    }
    return block(std::move(parts));
  }
};

}  // namespace

Result<Program> unroll_loops(Program program, const Target&) {
  Unroller unroller;
  program.body = unroller.visit(program.body);
  if (unroller.refused) return *unroller.refused;
  return rename_apart(std::move(program));
}

}  // namespace whet
