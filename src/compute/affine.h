#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "compute/expr.h"

namespace whet {

/// constant + Σ coefficient · atom, over i64 scalars. An atom is an expression that is not affine itself: a variable,
/// or a min, max, floordiv, floormod, product, select, cast or load. Canonical: every atom once, no coefficient 0,
/// variables first by id, then the others by hash; so equal sums have equal terms.
struct Affine {
  std::vector<std::pair<Expr, std::int64_t>> terms;
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  /// 0 when `atom` does not occur.
  std::int64_t coefficient(const Expr& atom) const;
};

/// Reads sums, differences and products with constants; everything else stands as an atom. `e`: an i64 scalar.
Affine to_affine(const Expr& e);
/// The same where `e` holds nothing but variables and constants; else nothing.
std::optional<Affine> sum_of_variables(const Expr& e);
/// Positive terms first: x*2 + y - z - 1.
Expr to_expr(const Affine&);
/// Whether `e` is a sum of variables just as `to_expr` writes it (it may say no of some).
bool is_written_sum(const Expr& e);
Affine add(const Affine&, const Affine&);
Affine sub(const Affine&, const Affine&);
Affine scale(const Affine&, std::int64_t factor);
bool same(const Affine&, const Affine&);

/// All integers x with min <= x <= max; a missing end is infinite. An empty interval has min > max.
struct Interval {
  std::optional<std::int64_t> min, max;

  static Interval point(std::int64_t v) { return {v, v}; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
using RangeOf = std::function<Interval(VarId)>;

/// What is known about variables at one place of a program: a stack of bindings and conditions.
/// Bounds of a variable may depend on the variables bound before it (tails, padding), and are used as relations:
/// with kh in max(0, 1 - y) .. 2, `y + kh - 1` is found to be at least 0.
class Facts {
 public:
  Facts() = default;
  /// `range` answers for variables that are not bound.
  explicit Facts(RangeOf range) : range_(std::move(range)) {}

  void bind(VarId, Interval);
  /// Both included.
  void bind(VarId, const Expr& min, const Expr& max);
  /// Takes what it understands of `condition`: conjunctions of comparisons of integers, and their negations.
  /// Of a vector condition, that it holds in the lanes that matter: `kLane` stands for one of them.
  void assume(const Expr& condition);
  void assume_not(const Expr& condition);

  /// While it lives, what vector conditions say is left aside: for scalars that are computed whether or not a lane
  /// wants them.
  class [[nodiscard]] ScalarView {
   public:
    explicit ScalarView(Facts& facts) : facts_(facts) { ++facts_.scalar_views_; }
    ~ScalarView() { --facts_.scalar_views_; }
    ScalarView(const ScalarView&) = delete;
    ScalarView& operator=(const ScalarView&) = delete;

   private:
    Facts& facts_;
  };

  /// `rewind(mark())` forgets what was bound and assumed in between.
  struct Mark {
    std::size_t bindings, facts;
  };
  Mark mark() const { return {bindings_.size(), facts_.size()}; }
  void rewind(Mark);

  /// Sound; exact for affine expressions of variables with constant ranges. A vector's interval holds every lane.
  Interval bounds(const Expr&) const;
  Interval bounds(const Affine&) const;
  /// a >= 0 always.
  bool proves_nonnegative(const Affine& a) const;
  /// The boolean (every lane of it) is known.
  bool proves(const Expr& condition) const;
  bool refutes(const Expr& condition) const;

 private:
  struct Binding {
    VarId var;
    Interval range;
    std::optional<Affine> min, max;  ///< only where they say more than `range`
  };
  struct Fact {
    Affine value;         ///< >= 0
    bool of_lanes;        ///< said by a vector condition
    std::uint64_t atoms;  ///< a bit for each atom, so that most facts that cannot help are skipped at a glance
    bool of_one_atom;     ///< bounds an atom by a constant
  };
  struct Search;

  const Binding* find(VarId) const;
  template <typename IsIt>
  Interval narrowed(Interval, const IsIt& is_it) const;
  Interval range_of(VarId) const;
  Interval atom_bounds(const Expr&) const;
  Interval binary_bounds(const Binary&) const;
  Interval term_bounds(const Affine&) const;
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

/// A variable outside every program that stands for the lane number of a vector.
inline constexpr VarId kLane{-2};
/// The value of lane `kLane` of a vector expression, as a scalar: ramp(b, s) gives b + lane*s. Scalars stay.
Expr lane_of(const Expr& e);

Interval bounds(const Expr& e, const RangeOf& range);

/// An equal expression in canonical form: integer arithmetic through Affine, floordiv and floormod by constants divided
/// out, comparisons, min, max, selects and logic folded where bounds decide. A side of a select, and the right operand
/// of && and
/// ||, is simplified knowing the condition. Idempotent in practice, not by promise. `facts` is the same afterwards.
Expr simplify(const Expr& e, Facts& facts);
Expr simplify(const Expr& e, const RangeOf& range);

}  // namespace whet
