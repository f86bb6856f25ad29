#include "lower/gpu/ownership.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "program/context.h"

namespace whet {
namespace {

/// (number / divisor) mod modulus of a block's or thread's number; modulus 0: no mod.
struct NumberDigit {
  std::int64_t divisor = 1, modulus = 0;
};

std::optional<NumberDigit> digit_of(const Expr& e, VarId number) {
  if (const Var* v = std::get_if<Var>(&e->kind)) return v->id == number ? std::optional(NumberDigit{}) : std::nullopt;
  const Binary* binary = std::get_if<Binary>(&e->kind);
  const std::int64_t* right = binary ? as_int(binary->b) : nullptr;
  if (!right || *right <= 0) return std::nullopt;
  std::optional<NumberDigit> digit = digit_of(binary->a, number);
  if (!digit) return std::nullopt;
  if (binary->op == BinaryOp::floormod) {
    if (digit->modulus != 0 && digit->modulus % *right != 0) return std::nullopt;
    digit->modulus = *right;
    return digit;
  }
  if (binary->op != BinaryOp::floordiv) return std::nullopt;
  if (digit->modulus % *right != 0) return std::nullopt;
  digit->divisor *= *right;
  digit->modulus /= *right;
  return digit;
}

/// The digits name every number below `numbers`.
bool cover(std::vector<NumberDigit> digits, std::int64_t numbers) {
  std::sort(digits.begin(), digits.end(),
            [](const NumberDigit& a, const NumberDigit& b) { return a.divisor < b.divisor; });
  std::int64_t known = 1;  // numbers are known modulo this
  for (const NumberDigit& digit : digits) {
    if (digit.divisor > known) return known >= numbers;
    if (digit.modulus == 0) return true;
    known = std::max(known, digit.divisor * digit.modulus);
  }
  return known >= numbers;
}

/// One index of an access, taken apart: common + Σ factor · term.
struct IndexParts {
  Affine common;  ///< of variables that both accesses share, and the constant
  struct Term {
    Expr atom;
    std::int64_t factor;
    std::optional<NumberDigit> digit;  ///< of the thread's or the block's number; nothing: of loops
    bool of_thread = false;
    Interval range;
  };
  std::vector<Term> terms;
};

bool is_common(const Expr& e, const AccessContext& context) {
  bool all = !has_load(e);
  for_each(e, [&](const Expr& part) {
    const Var* v = std::get_if<Var>(&part->kind);
    if (!v) return;
    all = all && ((v->id == context.block && context.one_block) ||
                  std::find(context.common.begin(), context.common.end(), v->id) != context.common.end());
  });
  return all;
}

IndexParts take_apart(const Expr& index, const BufferAccess& access, const AccessContext& context) {
  Facts facts(context.range);
  for (const Expr& condition : access.conditions) facts.assume(condition);
  const Affine sum = to_affine(simplify(index, context.range));
  IndexParts parts;
  parts.common.constant = sum.constant;
  for (const auto& [atom, factor] : sum.terms) {
    if (is_common(atom, context)) {
      parts.common.terms.emplace_back(atom, factor);
    } else if (const auto thread = digit_of(atom, context.thread)) {
      parts.terms.push_back({atom, factor, thread, true, facts.bounds(atom)});
    } else if (const auto block = digit_of(atom, context.block); block && !context.one_block) {
      parts.terms.push_back({atom, factor, block, false, facts.bounds(atom)});
    } else {
      parts.terms.push_back({atom, factor, std::nullopt, false, facts.bounds(atom)});
    }
  }
  return parts;
}

/// factor · difference, where equal indices make the sum of all of them 0.
struct Difference {
  std::int64_t factor;
  std::int64_t most;  ///< |difference| is at most this
  std::optional<NumberDigit> digit;
  bool of_thread = false;
};

/// The terms of two indices, or nothing where they do not fit together.
std::optional<std::vector<Difference>> differences(IndexParts x, IndexParts y, const AccessContext& context) {
  const Affine apart = sub(x.common, y.common);
  if (apart.constant != 0) return std::nullopt;
  for (const auto& [atom, factor] : apart.terms) {  // a loop that one of them is in an earlier iteration of
    const bool in_x = x.common.coefficient(atom) != 0, in_y = y.common.coefficient(atom) != 0;
    if (in_x && in_y) return std::nullopt;
    (in_x ? x : y).terms.push_back({atom, in_x ? factor : -factor, {}, false, bounds(atom, context.range)});
  }
  std::vector<Difference> found;
  std::vector<bool> matched(y.terms.size(), false);
  for (const IndexParts::Term& term : x.terms) {
    if (!term.range.min || !term.range.max) return std::nullopt;
    std::size_t other = 0;
    // Digits of numbers are told apart by what they are, loops by how often they count.
    const auto fits = [&](const IndexParts::Term& t) {
      return t.factor == term.factor && t.digit.has_value() == term.digit.has_value() &&
             (!term.digit || same(t.atom, term.atom));
    };
    while (other < y.terms.size() && (matched[other] || !fits(y.terms[other]))) ++other;
    Interval range = Interval::point(0);
    if (other < y.terms.size()) {
      matched[other] = true;
      range = y.terms[other].range;
    } else if (term.digit) {
      return std::nullopt;
    }
    if (!range.min || !range.max) return std::nullopt;
    found.push_back({std::abs(term.factor), std::max(*term.range.max - *range.min, *range.max - *term.range.min),
                     term.digit, term.of_thread});
  }
  for (std::size_t k = 0; k < y.terms.size(); ++k) {
    if (matched[k]) continue;
    const Interval& range = y.terms[k].range;
    if (y.terms[k].digit || !range.min || !range.max) return std::nullopt;
    found.push_back({std::abs(y.terms[k].factor), std::max(std::abs(*range.min), std::abs(*range.max)), {}});
  }
  return found;
}

/// Takes out the differences that are 0 whenever the sum is: one that all others together cannot make up for, and one that
/// is too small for what divides all others.
std::vector<Difference> zero_ones(std::vector<Difference> open) {
  std::vector<Difference> zero;
  for (std::size_t k = 0; k < open.size();) {
    std::int64_t others = 0, divisor = 0;
    for (std::size_t j = 0; j < open.size(); ++j) {
      if (j == k) continue;
      others += open[j].factor * open[j].most;
      divisor = std::gcd(divisor, open[j].factor);
    }
    if (others >= open[k].factor && divisor > 0 && open[k].factor * open[k].most >= divisor) {
      ++k;
      continue;
    }
    zero.push_back(open[k]);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(k));
    k = 0;
  }
  return zero;
}

/// The last thread for which t / n < m holds; nothing where the condition is another.
std::optional<std::int64_t> last_of_quotient(const Expr& condition, VarId thread) {
  const Binary* less = std::get_if<Binary>(&condition->kind);
  const Binary* quotient = less && less->op == BinaryOp::lt ? std::get_if<Binary>(&less->a->kind) : nullptr;
  if (!quotient || quotient->op != BinaryOp::floordiv) return std::nullopt;
  const Var* number = std::get_if<Var>(&quotient->a->kind);
  const std::int64_t *n = as_int(quotient->b), *m = as_int(less->b);
  if (!number || number->id != thread || !n || !m || *n <= 0) return std::nullopt;
  return *n * *m - 1;
}

/// The threads whose access it can be.
Interval threads_of(const BufferAccess& access, const AccessContext& context) {
  Facts facts(context.range);
  std::optional<std::int64_t> last;
  for (const Expr& condition : access.conditions) {
    facts.assume(condition);
    for (const Expr& part : conjuncts_of(condition))
      if (const auto of_quotient = last_of_quotient(part, context.thread))
        last = std::min(last.value_or(*of_quotient), *of_quotient);
  }
  Interval threads = facts.bounds(var(context.thread, "t"));
  if (last) threads.max = std::min(threads.max.value_or(*last), *last);
  return threads;
}

}  // namespace

Meeting who_meets(const BufferAccess& a, const BufferAccess& b, const AccessContext& context) {
  std::vector<NumberDigit> of_thread, of_block;
  for (std::size_t d = 0; d < a.index.size(); ++d) {
    const auto sum = differences(take_apart(a.index[d], a, context), take_apart(b.index[d], b, context), context);
    if (!sum) continue;
    for (const Difference& zero : zero_ones(*sum))
      if (zero.digit) (zero.of_thread ? of_thread : of_block).push_back(*zero.digit);
  }
  if (!context.one_block && !cover(of_block, context.blocks)) return Meeting::anybody;
  const Interval x = threads_of(a, context), y = threads_of(b, context);
  if (x.is_point() && x == y) return Meeting::one_thread;
  // Where a nest has fewer threads than the launch, the digits need not tell the others apart.
  std::int64_t threads = context.threads;
  if (x.max && y.max) threads = std::min(threads, std::max(*x.max, *y.max) + 1);
  return cover(of_thread, threads) ? Meeting::one_thread : Meeting::one_block;
}

bool are_disjoint(const BufferAccess& a, const BufferAccess& b, const AccessContext& context) {
  for (std::size_t d = 0; d < a.index.size(); ++d) {
    const Expr x = simplify(a.index[d], context.range), y = simplify(b.index[d], context.range);
    const auto mod_of = [](const Expr& e) -> const Binary* {
      const Binary* binary = std::get_if<Binary>(&e->kind);
      return binary && binary->op == BinaryOp::floormod && as_int(binary->b) ? binary : nullptr;
    };
    const Binary *p = mod_of(x), *q = mod_of(y);
    if (p && q && *as_int(p->b) == *as_int(q->b) && is_common(p->a, context) && is_common(q->a, context)) {
      const Affine distance = sub(to_affine(p->a), to_affine(q->a));
      if (distance.is_constant() && floor_mod(distance.constant, *as_int(p->b)) != 0) return true;
    }
    const IndexParts s = take_apart(x, a, context), t = take_apart(y, b, context);
    const Affine distance = sub(s.common, t.common);
    if (!distance.is_constant()) continue;
    Interval apart = Interval::point(distance.constant);
    for (const IndexParts::Term& term : s.terms) apart = apart + term.range * term.factor;
    for (const IndexParts::Term& term : t.terms) apart = apart + term.range * -term.factor;
    if ((apart.min && *apart.min > 0) || (apart.max && *apart.max < 0)) return true;
  }
  return false;
}

}  // namespace whet
