#include "lower/gpu/spread_registers.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "compute/affine.h"
#include "program/context.h"
#include "program/launch.h"

namespace whet {
namespace {

/// index = group · q + factor · digit + rest, where 0 <= digit < group / factor and 0 <= rest < factor.
struct Spread {
  std::size_t dimension = 0;
  Expr digit;  ///< of the thread's number
  std::int64_t factor = 1, group = 1;

  bool operator==(const Spread& other) const {
    return dimension == other.dimension && factor == other.factor && group == other.group && same(digit, other.digit);
  }
};

class RegisterSpreader {
 public:
  RegisterSpreader(Program& program, const LaunchNest& nest)
      : program_(program),
        thread_(nest.threads->index),
        range_([this](VarId v) {
          const auto found = ranges_.find(v);
          return found == ranges_.end() ? Interval() : found->second;
        }),
        facts_(range_) {}

  Result<Stmt> run(const Stmt& launch, const std::vector<std::size_t>& buffers) {
    for (std::size_t b : buffers) spreads_.emplace(b, std::nullopt);
    learn(launch);
    const Stmt spread =
        rewrite(launch, [&](const Stmt& s) { return shortened(s); }, [&](const Expr& e) { return shortened(e); });
    for (const auto& [buffer, found] : spreads_) {
      Buffer& b = program_.buffers[buffer];
      if (!found)
        return Error{
            fmt::format("{} is memory of one thread, but several threads use it; compute it in block memory", b.name),
            ErrorKind::unsupported};
      std::int64_t& extent = b.extents[found->dimension];
      extent = (extent + found->group - 1) / found->group * found->factor;
      b.padding = 0;
    }
    return spread;
  }

 private:
  /// How the buffers are accessed; what holds where they are is known. A buffer without a common way is given up.
  void learn(const Stmt& s) {
    if (!s.defined()) return;
    std::visit(Match{
                   [&](const Loop& n) {
                     ranges_[n.index] = {bounds(over_loops(n.min), range_).min,
                                         bounds(over_loops(n.min + n.extent - 1), range_).max};
                     learn(n.body);
                   },
                   [&](const Let& n) {
                     if (n.value->dtype == DType::i64 && n.value->lanes == 1) lets_[n.var] = over_loops(n.value);
                     loads(n.value);
                     learn(n.body);
                   },
                   [&](const If& n) {
                     loads(n.condition);
                     const auto mark = facts_.mark();
                     if (!has_load(n.condition)) facts_.assume(over_loops(n.condition));
                     learn(n.then_body);
                     facts_.rewind(mark);
                     learn(n.else_body);
                   },
                   [&](const Block& n) {
                     for (const Stmt& part : n.body) learn(part);
                   },
                   [&](const Store& n) {
                     loads(n.value);
                     access(n.buffer.index(), n.index);
                   },
                   [&](const auto&) {},
               },
               s->kind);
  }

  void loads(const Expr& whole) {
    for_each(whole, [&](const Expr& e) {
      if (const Load* load = std::get_if<Load>(&e->kind)) access(load->source.index(), load->index);
    });
  }

  void access(std::size_t buffer, const std::vector<Expr>& index) {
    const auto known = spreads_.find(buffer);
    if (known == spreads_.end()) return;
    std::optional<Spread> here = spread_of(index);
    if (seen_.insert(buffer).second)
      known->second = std::move(here);
    else if (known->second && !(here && *here == *known->second))
      known->second = std::nullopt;
  }

  Expr over_loops(const Expr& e) const {
    return substitute(e, [&](VarId v) {
      const auto found = lets_.find(v);
      return found == lets_.end() ? Expr() : found->second;
    });
  }

  Affine affine_of(const Expr& index) const { return to_affine(simplify(over_loops(index), range_)); }

  /// Nothing where no dimension, or more than one, depends on the thread, or the rest does not fit.
  std::optional<Spread> spread_of(const std::vector<Expr>& index) const {
    std::optional<Spread> found;
    for (std::size_t d = 0; d < index.size(); ++d)
      for (const auto& [atom, factor] : affine_of(index[d]).terms) {
        if (!uses(atom, thread_)) continue;
        const Interval range = facts_.bounds(atom);
        if (found || factor <= 0 || range.min != 0 || !range.max) return {};
        found = Spread{d, atom, factor, factor * (*range.max + 1)};
      }
    if (found && !rest_fits(index[found->dimension], *found)) return {};
    return found;
  }

  bool rest_fits(const Expr& index, const Spread& spread) const {
    Interval rest = Interval::point(0);
    for (const auto& [atom, factor] : affine_of(index).terms) {
      if (same(atom, spread.digit) || factor % spread.group == 0) continue;
      const Interval range = facts_.bounds(atom);
      if (factor < 0 || range.min != 0 || !range.max) return false;
      rest.max = *rest.max + factor * *range.max;
    }
    return *rest.max + floor_mod(affine_of(index).constant, spread.group) < spread.factor;
  }

  std::vector<Expr> shortened(const std::vector<Expr>& index, std::size_t buffer) const {
    std::vector<Expr> out;
    for (const Expr& e : index) out.push_back(shortened(e));
    const auto found = spreads_.find(buffer);
    if (found == spreads_.end() || !found->second) return out;
    const Spread& spread = *found->second;
    const Affine whole = affine_of(index[spread.dimension]);
    Affine own{{}, floor_div(whole.constant, spread.group) * spread.factor + floor_mod(whole.constant, spread.group)};
    for (const auto& [atom, factor] : whole.terms) {
      if (same(atom, spread.digit)) continue;
      const bool counts_groups = factor % spread.group == 0;
      own.terms.emplace_back(atom, counts_groups ? factor / spread.group * spread.factor : factor);
    }
    out[spread.dimension] = to_expr(own);
    return out;
  }

  Expr shortened(const Expr& e) const {
    return rewrite(e, [&](const Expr& part) -> Expr {
      const Load* n = std::get_if<Load>(&part->kind);
      if (!n || !spreads_.count(n->source.index())) return {};
      return load(part->dtype, n->source, shortened(n->index, n->source.index()));
    });
  }

  Stmt shortened(const Stmt& s) const {
    const Store* n = std::get_if<Store>(&s->kind);
    if (!n || !spreads_.count(n->buffer.index())) return {};
    return make_stmt(n->with(shortened(n->index, n->buffer.index()), shortened(n->value), n->mask));
  }

  Program& program_;
  const VarId thread_;
  std::map<VarId, Interval> ranges_;
  const RangeOf range_;
  Facts facts_;
  std::map<VarId, Expr> lets_;
  std::map<std::size_t, std::optional<Spread>> spreads_;  ///< by BufferId; nothing: there is no common way
  std::set<std::size_t> seen_;                            ///< buffers of `spreads_` that were accessed
};

}  // namespace

Result<Stmt> spread_registers(Program& program, const Stmt& launch, const std::vector<std::size_t>& buffers) {
  if (buffers.empty()) return launch;
  return RegisterSpreader(program, *launch_nest(launch)).run(launch, buffers);
}

}  // namespace whet
