#include "lower/cpu/spread_prefetches.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace whet {
namespace {

Stmt spread(const Stmt& s);

Stmt spread_in(const std::vector<Stmt>& body) {
  const auto is_prefetch = [](const Stmt& s) { return std::holds_alternative<Prefetch>(s->kind); };
  const auto first = std::find_if_not(body.begin(), body.end(), is_prefetch);
  const auto prefetches = static_cast<std::size_t>(first - body.begin()), others = body.size() - prefetches;
  std::vector<Stmt> out;
  for (std::size_t i = 0, asked = 0; i < others; ++i) {
    while ((2 * asked + 1) * others < 2 * (i + 1) * prefetches) out.push_back(body[asked++]);
    out.push_back(spread(body[prefetches + i]));
  }
  return block(std::move(out));
}

Stmt spread(const Stmt& s) {
  return rewrite(
      s,
      [](const Stmt& part) -> Stmt {
        if (std::holds_alternative<Store>(part->kind)) return part;
        const Block* several = std::get_if<Block>(&part->kind);
        return several ? spread_in(several->body) : Stmt();
      },
      nullptr);
}

}  // namespace

Result<Program> spread_prefetches(Program program) {
  if (program.body.defined()) program.body = spread(program.body);
  return program;
}

}  // namespace whet
