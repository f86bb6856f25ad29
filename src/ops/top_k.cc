#include <algorithm>
#include <limits>

#include "ops/site.h"

namespace whet {
namespace {

/// What the best elements of a row are chosen from: pieces of `length` neighbours, the first one after the other.
struct Round {
  std::int64_t length = 1;
  std::int64_t pieces = 1;
  bool by_pairs = true;  ///< each piece is compared with each; else their k-th best is found bit by bit
};

/// The number of pieces that half of an i32 can count.
constexpr std::int64_t kHalf = 1 << 15;

/// Keys of this type take 64 bits; sums near their end would overflow, which i64 is taken not to do.
bool has_wide_keys(DType dtype) { return size_of(dtype) == 8; }

// In the unit of a comparison among pairs, as measured.
double cost_of_pairs(double pieces) { return pieces * pieces; }
double cost_of_bits(double pieces) { return 60000 + 40 * pieces; }
/// Finding each piece's best, of neighbours or where data says, and writing down which were chosen.
double cost_of_round(const Round& round, bool first) {
  const double read = first && round.length >= 16 ? 1 : 8;
  return 1000 + static_cast<double>(round.pieces) * (20 + read * static_cast<double>(round.length));
}

/// The rounds of least work: from large pieces to small ones and single elements, the last by pairs, which also sorts.
/// A round of all rows costs as much as some comparisons.
std::vector<Round> rounds_of(std::int64_t extent, std::int64_t k, std::int64_t rows, bool pairs_alone) {
  constexpr double kAllRows = 10000;
  const double each = kAllRows / static_cast<double>(rows);
  std::vector<Round> best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](std::int64_t split, int splits) {
    std::int64_t length = 1;
    for (int i = 0; i < splits; ++i) length *= split;
    std::vector<Round> rounds;
    double cost = 0;
    const auto add = [&](const Round& round) {
      const auto pieces = static_cast<double>(round.pieces);
      cost += each + cost_of_round(round, rounds.empty());
      cost += round.by_pairs ? cost_of_pairs(pieces) : cost_of_bits(pieces);
      rounds.push_back(round);
    };
    for (std::int64_t pieces = (extent + length - 1) / length; length > 0; pieces = k * split, length /= split) {
      const auto count = static_cast<double>(pieces);
      const double sorting = length > 1 ? 0 : each + cost_of_pairs(static_cast<double>(k));
      // Pieces in the order of their rank are not in that of their places, which bits ask for.
      const bool by_pairs = pairs_alone || (!rounds.empty() && rounds.back().by_pairs) || pieces >= kHalf ||
                            cost_of_pairs(count) <= cost_of_bits(count) + sorting;
      add({length, pieces, by_pairs});
    }
    if (!rounds.back().by_pairs) add({1, k, true});
    if (cost < least) least = cost, best = std::move(rounds);
  };
  consider(2, 0);
  for (const std::int64_t split : {2, 4, 8, 16, 32, 64}) {
    std::int64_t length = split;
    for (int splits = 1; extent / length >= k; ++splits, length *= split) consider(split, splits);
  }
  return best;
}

/// An integer that is greater the better `x` is; NaN is the greatest number.
Expr key_of(const Expr& x, bool largest) {
  Expr key = cast(has_wide_keys(x->dtype) ? DType::i64 : DType::i32, x);
  if (is_float(x->dtype)) {
    // The bits of magnitudes rise with them, those of NaN are beyond all others.
    const Expr magnitude = call(MathFn::bits_of, {call(MathFn::abs, {widened(x)})});
    key = select(x < constant_like(x, 0), constant_like(magnitude, 0) - magnitude, magnitude);
  }
  return largest ? key : int_const(-1, key->dtype) - key;
}

struct TopK {
  const Site& site;
  std::size_t axis;
  std::int64_t k;
  bool largest;

  std::int64_t extent() const { return site.shape(0)[axis]; }
  std::vector<Axis> axes(std::int64_t count) const {
    std::vector<Axis> all = axes_of(site.shape(0));
    all[axis].extent = count;
    return all;
  }
  Exprs with(Exprs i, const Expr& at) const {
    i[axis] = at;
    return i;
  }

  /// Of each piece the best key; the pieces are one after the other, or start where data says.
  OpId best_of(const Round& round, const MapBody* start) const {
    return site.reduce(site.part("best"), axes(round.pieces), {{"r", round.length}}, Reducer::max, OpFamily::reduce,
                       [&](const Exprs& i, const Exprs& r) {
                         const Expr at = start ? cast(DType::i64, (*start)(i)) + r[0] : i[axis] * round.length + r[0];
                         const Expr inside = start ? min(max(at, int_const(0)), int_const(extent() - 1)) : at;
                         const Expr key = key_of(site.read(0, with(i, inside)), largest);
                         return select(at < int_const(extent()), key, identity_of(Reducer::max, key->dtype));
                       });
  }

  /// A piece's rank: the number of those that come before it, whose best is better, or as good and further in front.
  OpId rank_by_pairs(const Round& round, OpId best, const MapBody& start) const {
    return site.reduce(site.part("rank"), axes(round.pieces), {{"r", round.pieces}}, Reducer::sum, OpFamily::reduce,
                       [&](const Exprs& i, const Exprs& r) {
                         const Exprs other = with(i, r[0]);
                         const Expr mine = site.read(best, i), its = site.read(best, other);
                         const Expr tie = equal(its, mine) && start(other) < start(i);
                         return select(its > mine || tie, int_const(1, DType::i32), int_const(0, DType::i32));
                       });
  }

  /// Of all places of `op` the sum up to it: of 16 neighbours, then of 16 such sums, and so on.
  OpId sums_of(OpId op, std::int64_t count) const {
    constexpr std::int64_t kTerms = 16;
    for (std::int64_t places = 1; places < count; places *= kTerms) {
      const std::int64_t terms = std::min(kTerms, (count + places - 1) / places);
      op = site.reduce(site.part("sums"), axes(count), {{"r", terms}}, Reducer::sum, OpFamily::reduce,
                       [&](const Exprs& i, const Exprs& r) {
                         const Expr at = i[axis] - r[0] * places;
                         const Expr term = site.read(op, with(i, at));
                         return select(at >= int_const(0), term, constant_like(term, 0));
                       });
    }
    return op;
  }

  /// The k-th greatest of `count` keys of 32 bits, kDigit bits after the other: the greatest number that k keys reach.
  OpId threshold(OpId keys, std::int64_t count) const {
    constexpr int kDigit = 4;
    const Expr zero = int_const(0, DType::i32), one = int_const(1, DType::i32);
    MapBody reached = [](const Exprs&) { return identity_of(Reducer::max, DType::i32); };
    OpId last;
    for (int shift = 32 - kDigit; shift >= 0; shift -= kDigit) {
      const auto next = [&](const Exprs& i, const Expr& digit) {
        return reached(i) + cast(DType::i32, digit) * int_const(std::int64_t{1} << shift, DType::i32);
      };
      const OpId reach = site.reduce(site.part("reach"), axes(1 << kDigit), {{"r", count}}, Reducer::sum,
                                     OpFamily::reduce, [&](const Exprs& i, const Exprs& r) {
                                       const Expr limit = next(with(i, int_const(0)), i[axis]);
                                       return select(site.read(keys, with(i, r[0])) >= limit, one, zero);
                                     });
      last = site.reduce(site.part("threshold"), axes(1), {{"digit", 1 << kDigit}}, Reducer::max, OpFamily::reduce,
                         [&](const Exprs& i, const Exprs& r) {
                           const Expr enough = site.read(reach, with(i, r[0])) >= int_const(k, DType::i32);
                           return select(enough, next(i, r[0]), reached(i));
                         });
      reached = [&site = site, last](const Exprs& i) { return site.read(last, i); };
    }
    return last;
  }

  /// Places 0 to k - 1 for the k best pieces, in their order in the row; `round.pieces` for the others.
  OpId place_by_bits(const Round& round, OpId best) const {
    const OpId least = threshold(best, round.pieces);
    // Those above the threshold are counted in the low half of a number, those at it in the high half.
    const Expr zero = int_const(0, DType::i32), above = int_const(1, DType::i32), half = int_const(kHalf, DType::i32);
    const OpId counted = stored("counted", round.pieces, [&](const Exprs& i) {
      const Expr mine = site.read(best, i), limit = site.read(least, with(i, int_const(0)));
      return select(mine > limit, above, select(equal(mine, limit), half, zero));
    });
    const OpId sums = sums_of(counted, round.pieces);
    return stored("place", round.pieces, [&](const Exprs& i) {
      const Expr mine = site.read(counted, i), before = site.read(sums, i) - mine;
      const Expr all = site.read(sums, with(i, int_const(round.pieces - 1)));
      const Expr free = int_const(k, DType::i32) - floormod(all, half);
      const Expr higher = floormod(before, half), equals = floordiv(before, half);
      const Expr chosen = equal(mine, above) || (equal(mine, half) && equals < free);
      return select(chosen, higher + min(equals, free), int_const(round.pieces, DType::i32));
    });
  }

  /// An op of the form of a reduction of one term, which schedules store: it is read for each of many results.
  OpId stored(const char* part, std::int64_t count, const MapBody& body) const {
    return site.reduce(site.part(part), axes(count), {{"r", 1}}, Reducer::sum, OpFamily::reduce,
                       [&](const Exprs& i, const Exprs&) { return body(i); });
  }
};

}  // namespace

/// Tournament: a row is cut into pieces. The k pieces with the best maxima hold the k best elements. These pieces are cut into
/// smaller ones, down to single elements, which are sorted by comparing each pair. Positions are i32, a piece at a time.
OpId define_at(const Site& site, const TopKOperator& op) {
  const TopK top{site, static_cast<std::size_t>(op.axis), site.output.shape[static_cast<std::size_t>(op.axis)],
                 op.largest};
  const std::int64_t rows = std::max<std::int64_t>(num_elements(site.shape(0)) / top.extent(), 1);
  const std::vector<Round> rounds = rounds_of(top.extent(), top.k, rows, has_wide_keys(site.types[0].dtype));
  MapBody start = [&](const Exprs& i) { return cast(DType::i32, i[top.axis] * rounds.front().length); };
  for (std::size_t n = 0; n < rounds.size(); ++n) {
    const Round& round = rounds[n];
    const OpId best = top.best_of(round, n > 0 ? &start : nullptr);
    const OpId place = round.by_pairs ? top.rank_by_pairs(round, best, start) : top.place_by_bits(round, best);
    const OpId chosen = site.reduce(site.part("start"), top.axes(top.k), {{"r", round.pieces}}, Reducer::sum,
                                    OpFamily::reduce, [&](const Exprs& i, const Exprs& r) {
                                      const Exprs other = top.with(i, r[0]);
                                      const Expr to = cast(DType::i64, site.read(place, other));
                                      return select(equal(to, i[top.axis]), start(other), int_const(0, DType::i32));
                                    });
    start = [&site, chosen](const Exprs& i) { return site.read(chosen, i); };
    if (n + 1 == rounds.size()) break;
    // The next pieces are parts of those.
    const std::int64_t part = rounds[n + 1].length, parts = round.length / part;
    const OpId next = top.stored("part", rounds[n + 1].pieces, [&](const Exprs& i) {
      const Expr at = i[top.axis];
      return start(top.with(i, floordiv(at, parts))) + cast(DType::i32, floormod(at, parts) * part);
    });
    start = [&site, next](const Exprs& i) { return site.read(next, i); };
  }
  return site.result(OpFamily::elementwise, [&](const Exprs& i) { return cast(DType::i64, start(i)); });
}

}  // namespace whet
