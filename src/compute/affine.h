#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "compute/interval.h"
#include "compute/size.h"

namespace whet {

/// constant + Σ coefficient · atom, over i64 scalars. An atom is an expression that is not affine: a variable, or a
/// min, max, floordiv, floormod, product, select, cast or load. The form is canonical: every atom occurs once, no
/// coefficient is 0, variables come first by id, then the other atoms by hash. So equal sums have equal terms.
struct Affine {
  std::vector<std::pair<Expr, std::int64_t>> terms;
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  /// 0 when `atom` does not occur.
  std::int64_t coefficient(const Expr& atom) const;
};

/// Reads sums, differences and products with constants. Every other expression is an atom. `e` is an i64 scalar.
Affine to_affine(const Expr& e);
/// The affine form of an `e` that consists of variables and constants alone; nothing for any other `e`.
std::optional<Affine> sum_of_variables(const Expr& e);
/// The expression, positive terms first: x*2 + y - z - 1.
Expr to_expr(const Affine&);
/// Whether `e` is a sum of variables in the form that `to_expr` writes. The answer may be false for some such sums.
bool is_written_sum(const Expr& e);
Affine add(const Affine&, const Affine&);
Affine sub(const Affine&, const Affine&);
Affine scale(const Affine&, std::int64_t factor);
bool same(const Affine&, const Affine&);

using RangeOf = std::function<Interval(VarId)>;
/// The ranges of the variables of sizes (size_var). Of any other variable nothing is known.
RangeOf size_ranges(std::vector<SizeRange> sizes);

/// The facts about variables at one place of a program: a stack of bindings and conditions.
/// The bounds of a variable may depend on the variables bound before it (tails, padding). Facts uses them as relations:
/// with kh in max(0, 1 - y) .. 2 it finds that `y + kh - 1` is at least 0.
/// It is long because bounds ask for conditions and conditions for bounds: neither half is of use alone.
class Facts {
 public:
  Facts() = default;
  /// `range` gives the bounds of variables that are not bound, those of sizes among them.
  explicit Facts(RangeOf range) : range_(std::move(range)) {}

  void bind(VarId, Interval);
  /// Binds a variable to min .. max, both included.
  void bind(VarId, const Expr& min, const Expr& max);
  /// Adds a condition. Facts understands conjunctions of comparisons of integers, and their negations, and ignores the
  /// rest. A vector condition is assumed to hold in the lanes that matter; `kLane` is one of them.
  void assume(const Expr& condition);
  void assume_not(const Expr& condition);

  /// While a ScalarView exists, facts from vector conditions are ignored. Scalars need this when they are computed
  /// whether or not a lane uses them.
  class [[nodiscard]] ScalarView {
   public:
    explicit ScalarView(Facts& facts) : facts_(facts) { ++facts_.scalar_views_; }
    ~ScalarView() { --facts_.scalar_views_; }
    ScalarView(const ScalarView&) = delete;
    ScalarView& operator=(const ScalarView&) = delete;

   private:
    Facts& facts_;
  };

  /// `rewind(mark())` removes the bindings and conditions added in between.
  struct Mark {
    std::size_t bindings, facts;
  };
  Mark mark() const { return {bindings_.size(), facts_.size()}; }
  void rewind(Mark);

  /// The bounds of an expression. They are sound, and exact for affine expressions of variables with constant ranges.
  /// The interval of a vector contains every lane.
  Interval bounds(const Expr&) const;
  Interval bounds(const Affine&) const;
  /// Whether a >= 0 is proven.
  bool proves_nonnegative(const Affine& a) const;
  /// Whether the condition is proven to be true (false), in every lane.
  bool proves(const Expr& condition) const;
  bool refutes(const Expr& condition) const;

 private:
  struct Binding {
    VarId var;
    Interval range;
    std::optional<Affine> min, max;  ///< only where they are tighter than `range`
  };
  struct Fact {
    Affine value;         ///< >= 0
    bool of_lanes;        ///< from a vector condition
    std::uint64_t atoms;  ///< a bit for each atom: most facts that cannot help are skipped by these bits
    bool of_one_atom;     ///< bounds an atom by a constant
  };
  struct Search;

  const Binding* find(VarId) const;
  template <typename IsIt>
  Interval narrowed(Interval, const IsIt& is_it) const;
  Interval range_of(VarId) const;
  Interval atom_bounds(const Expr&) const;
  Interval binary_bounds(const Binary&) const;
  Interval divided_by_positive(const Binary&) const;
  std::optional<Affine> most_of(const Binary&) const;
  Interval term_bounds(const Affine&) const;
  bool facts_speak_of(const Affine&) const;
  std::optional<std::int64_t> upper(const Affine&, Search&, int depth) const;
  std::optional<std::int64_t> best_upper(const Affine&, std::optional<std::int64_t> goal) const;
  struct Point;
  std::optional<std::int64_t> value_at(const Expr&, Point&) const;
  std::optional<std::int64_t> value_at(const Affine&, Point&) const;
  bool attains(const Affine&, std::int64_t bound, bool others_high) const;
  void add_fact(Affine, bool of_lanes);
  void assume(const Expr& condition, bool of_lanes);
  void assume_not(const Expr& condition, bool of_lanes);

  RangeOf range_;
  std::vector<Binding> bindings_;
  std::vector<Fact> facts_;
  int scalar_views_ = 0;
};

/// A variable outside every program: the lane number of a vector.
inline constexpr VarId kLane{-2};
/// The value of lane `kLane` of a vector expression, as a scalar: ramp(b, s) gives b + lane*s. Scalars stay unchanged.
Expr lane_of(const Expr& e);

Interval bounds(const Expr& e, const RangeOf& range);

/// Simplifies an expression into an equal one in canonical form:
///   - integer arithmetic goes through Affine, and floordiv and floormod by constants are divided out;
///   - comparisons, min, max, selects and logic are folded where bounds decide them;
///   - a side of a select, and the right operand of && and ||, is simplified knowing the condition.
/// The result is idempotent in practice; no caller may rely on that. `facts` is unchanged afterwards.
Expr simplify(const Expr& e, Facts& facts);
Expr simplify(const Expr& e, const RangeOf& range);

}  // namespace whet
