#include <algorithm>

#include "ops/site.h"

// Operators that read or write where numbers say, and those whose results are such numbers.

namespace whet {
namespace {

/// Index `raw` of any integer type counted from the beginning of a dimension.
Expr counted(const Expr& raw, std::int64_t extent) {
  const Expr wide = cast(DType::i64, raw);
  return select(wide < int_const(0), wide + extent, wide);
}

void bound_index(const Site& site, std::size_t input, std::int64_t extent) {
  auto* placeholder = std::get_if<Placeholder>(&site.dag.op(site.inputs[input]).def);
  if (placeholder == nullptr) return;
  placeholder->index_bound = placeholder->index_bound > 0 ? std::min(placeholder->index_bound, extent) : extent;
}

/// The place that entry `at` of the indices (input 1) names in dimensions first, first + 1, ... of data, each clamped,
/// so that every load provably stays inside.
Exprs place(const Site& site, const Exprs& at, std::size_t first) {
  Exprs named;
  const std::int64_t depth = site.shape(1).back();
  for (std::int64_t k = 0; k < depth; ++k) {
    Exprs index = at;
    index.push_back(int_const(k));
    const std::int64_t extent = site.shape(0)[first + static_cast<std::size_t>(k)];
    named.push_back(clamped(counted(site.read(1, index), extent), extent));
  }
  return named;
}

Reducer reducer_of(ScatterKind kind) {
  switch (kind) {
    case ScatterKind::add:
      return Reducer::sum;
    case ScatterKind::mul:
      return Reducer::prod;
    case ScatterKind::min:
      return Reducer::min;
    default:
      return Reducer::max;
  }
}

/// Data with what the updates that point to an element make of it.
///   named         number of leading axes that the indices address; along the others an update is a run of neighbours
///   hits(i, r)    whether update r points to element i: an index is equal to an axis, which schedules make a write
///   update(i, r)  the place of its value in the updates
OpId scatter(const Site& site, ScatterKind kind, std::size_t named, const std::vector<Axis>& candidates,
             const ReduceBody& hits, const std::function<Exprs(const Exprs& i, const Exprs& r)>& update) {
  if (kind != ScatterKind::replace) {
    const Reducer reducer = reducer_of(kind);
    const OpId all =
        site.reduce(site.part("updates"), axes_of(site.output.shape), candidates, reducer, OpFamily::reduce,
                    [&](const Exprs& i, const Exprs& r) {
                      return select(hits(i, r), site.read(2, update(i, r)), identity_of(reducer, site.output.dtype));
                    });
    return site.result(OpFamily::elementwise,
                       [&](const Exprs& i) { return combine(reducer, site.read(0, i), site.read(all, i)); });
  }
  // The number of the last update that points here, 1 the first; below 1: none.
  const Shape& shape = site.output.shape;
  const auto end = static_cast<std::ptrdiff_t>(named);
  const OpId owner =
      site.reduce(site.part("owner"), axes_of(Shape(shape.begin(), shape.begin() + end)), candidates, Reducer::max,
                  OpFamily::reduce, [&](const Exprs& i, const Exprs& r) {
                    Expr number = int_const(0);
                    for (std::size_t k = 0; k < r.size(); ++k) {
                      number = number * candidates[k].extent + r[k];
                    }
                    return select(hits(i, r), cast(DType::i32, number + 1), identity_of(Reducer::max, DType::i32));
                  });
  std::int64_t count = 1;
  for (const Axis& axis : candidates) count *= axis.extent;
  return site.result(OpFamily::other, [&](const Exprs& i) {
    const Expr number = site.read(owner, Exprs(i.begin(), i.begin() + end));
    Expr rest = clamped(cast(DType::i64, number) - 1, count);
    Exprs r(candidates.size());
    for (std::size_t k = candidates.size(); k-- > 0;) {
      r[k] = k == 0 ? clamped(rest, candidates[k].extent) : floormod(rest, candidates[k].extent);
      rest = floordiv(rest, candidates[k].extent);
    }
    return select(number > int_const(0, DType::i32), site.read(2, update(i, r)), site.read(0, i));
  });
}

}  // namespace

OpId define_at(const Site& site, const GatherElementsOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::int64_t extent = site.shape(0)[axis];
  bound_index(site, 1, extent);
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    Exprs index = i;
    index[axis] = clamped(counted(site.read(1, i), extent), extent);
    return site.read(0, index);
  });
}

OpId define_at(const Site& site, const GatherNdOperator& op) {
  const auto batch = static_cast<std::ptrdiff_t>(op.batch_dims);
  const auto named = static_cast<std::ptrdiff_t>(site.shape(1).size()) - 1;
  bound_index(site, 1,
              *std::min_element(site.shape(0).begin() + batch, site.shape(0).begin() + batch + site.shape(1).back()));
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    Exprs index(i.begin(), i.begin() + batch);
    const Exprs places = place(site, Exprs(i.begin(), i.begin() + named), static_cast<std::size_t>(batch));
    index.insert(index.end(), places.begin(), places.end());
    index.insert(index.end(), i.begin() + named, i.end());
    return site.read(0, index);
  });
}

OpId define_at(const Site& site, const ScatterElementsOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape &data = site.shape(0), &indices = site.shape(1);
  bound_index(site, 1, data[axis]);
  // Only updates at the same place of the other dimensions can be meant; where the indices end, none is.
  auto at = [&](const Exprs& i, const Exprs& r) {
    Exprs index;
    for (std::size_t d = 0; d < i.size(); ++d) {
      index.push_back(d == axis ? r[0] : data[d] == indices[d] ? i[d] : clamped(i[d], indices[d]));
    }
    return index;
  };
  auto hits = [&](const Exprs& i, const Exprs& r) {
    Expr hit = equal(counted(site.read(1, at(i, r)), data[axis]), i[axis]);
    for (std::size_t d = 0; d < i.size(); ++d) {
      if (d != axis && data[d] != indices[d]) hit = hit && i[d] < int_const(indices[d]);
    }
    return hit;
  };
  return scatter(site, op.kind, data.size(), {{"r", indices[axis]}}, hits, at);
}

OpId define_at(const Site& site, const ScatterNdOperator& op) {
  const Shape &data = site.shape(0), &indices = site.shape(1);
  const auto depth = static_cast<std::size_t>(indices.back());
  bound_index(site, 1, *std::min_element(data.begin(), data.begin() + indices.back()));
  std::vector<Axis> candidates;
  for (std::size_t d = 0; d + 1 < indices.size(); ++d) candidates.push_back({"r" + std::to_string(d), indices[d]});
  // A single update has no dimension of its own.
  const bool single = candidates.empty();
  if (single) candidates.push_back({"r", 1});
  auto entry = [&](const Exprs& r) { return single ? Exprs() : r; };
  auto hits = [&](const Exprs& i, const Exprs& r) {
    const Exprs places = place(site, entry(r), 0);
    Expr hit = bool_const(true);
    for (std::size_t k = 0; k < depth; ++k) hit = hit && equal(places[k], i[k]);
    return hit;
  };
  auto update = [&](const Exprs& i, const Exprs& r) {
    Exprs index = entry(r);
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(depth), i.end());
    return index;
  };
  return scatter(site, op.kind, depth, candidates, hits, update);
}

namespace {

/// Axes of the result without the one that something was chosen along, and how places correspond.
struct Along {
  const Site& site;
  std::size_t axis;
  std::int64_t extent() const { return site.shape(0)[axis]; }
  std::vector<Axis> rows() const {
    std::vector<Axis> axes = axes_of(site.shape(0));
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(axis));
    return axes;
  }
  Exprs without(Exprs i) const {
    i.erase(i.begin() + static_cast<std::ptrdiff_t>(axis));
    return i;
  }
  Exprs with(Exprs i, const Expr& at) const {
    i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), at);
    return i;
  }
};

}  // namespace

/// The best value of each row, then the first (last) place where it is. Places count in i32, as many at a time.
OpId define_at(const Site& site, const ArgReduceOperator& op) {
  const Along along{site, static_cast<std::size_t>(op.axis)};
  const std::vector<Axis> r_axis = {{"r", along.extent()}};
  const OpId best =
      site.reduce(site.part("best"), along.rows(), r_axis, op.largest ? Reducer::max : Reducer::min, OpFamily::reduce,
                  [&](const Exprs& i, const Exprs& r) { return site.read(0, along.with(i, r[0])); });
  const Expr none = int_const(op.last ? 0 : along.extent() - 1, DType::i32);
  const OpId at = site.reduce(site.part("place"), along.rows(), r_axis, op.last ? Reducer::max : Reducer::min,
                              OpFamily::reduce, [&](const Exprs& i, const Exprs& r) {
                                const Expr hit = equal(site.read(0, along.with(i, r[0])), site.read(best, i));
                                return select(hit, cast(DType::i32, r[0]), none);
                              });
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    return cast(DType::i64, site.read(at, op.keep_dims ? along.without(i) : i));
  });
}

namespace {

/// Sums along one axis, up to each place or (exclusive) before it; from the end on when reversed.
struct Running {
  const Site& site;
  std::size_t axis;
  bool reverse;

  /// Sums of groups of neighbours, of these the sums up to each group, and inside of a group the sums up to each place: an
  /// element is added three times. The places of a group share their sums where a step holds them all.
  OpId by_groups(OpId of, const Shape& shape, bool exclusive, bool is_result) const {
    const std::int64_t extent = shape[axis], group = group_of(extent), groups = (extent + group - 1) / group;
    OpId before;
    if (groups > 1) {
      Shape grouped = shape;
      grouped[axis] = groups;
      const OpId totals = site.map(site.part("totals"), axes_of(grouped), OpFamily::elementwise, [&](const Exprs& i) {
        const Expr start = i[axis] * group;
        Expr sum = value(of, shape, i, start);
        for (std::int64_t k = 1; k < group; ++k) sum = sum + value(of, shape, i, start + k);
        return sum;
      });
      before = by_groups(totals, grouped, true, false);
    }
    const auto body = [&](const Exprs& i) {
      const Expr place = floormod(i[axis], group), start = floordiv(i[axis], group) * group;
      Expr sum;
      for (std::int64_t step = 0; step < group; ++step) {
        const Expr at = int_const(reverse ? group - 1 - step : step);
        const Expr next = value(of, shape, i, start + at);
        const Expr reached = exclusive ? (reverse ? place < at : place > at) : (reverse ? place <= at : place >= at);
        const Expr term = step == 0 && !exclusive ? next : select(reached, next, constant_like(next, 0));
        sum = sum.defined() ? sum + term : term;
      }
      if (groups == 1) return sum;
      Exprs own = i;
      own[axis] = floordiv(i[axis], group);
      return site.read(before, own) + sum;
    };
    if (is_result) return site.result(OpFamily::elementwise, body);
    return site.map(site.part("before"), axes_of(shape), OpFamily::elementwise, body);
  }

 private:
  /// A divisor where there is one that is neither small nor large.
  static std::int64_t group_of(std::int64_t extent) {
    constexpr std::int64_t kGroup = 8;
    if (extent <= kGroup) return extent;
    for (const std::int64_t group : {kGroup, 10L, 7L, 9L, 6L, 12L, 5L, 11L, 13L})
      if (extent % group == 0) return group;
    return kGroup;
  }
  /// 0 behind the end, where the last group is not full.
  Expr value(OpId of, const Shape& shape, Exprs i, const Expr& at) const {
    i[axis] = at;
    const Expr read = site.read(of, i);
    return shape[axis] % group_of(shape[axis]) == 0 ? read
                                                    : select(at < int_const(shape[axis]), read, constant_like(read, 0));
  }
};

/// Sums of the last 4, 16, 64, ... elements: n log n additions, all of them along the axis.
OpId doubling_sums(const Site& site, const CumSumOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::int64_t extent = site.shape(0)[axis];
  OpId last = site.inputs[0];
  // The index that is `places` earlier in the order of the sums.
  const auto before = [&](Exprs i, std::int64_t places) {
    i[axis] = op.reverse ? i[axis] + places : i[axis] - places;
    return i;
  };
  const auto is_inside = [&](const Expr& at) { return op.reverse ? at < int_const(extent) : at >= int_const(0); };
  for (std::int64_t places = 1; places < extent; places *= 4) {
    last = site.map(site.part("sums"), axes_of(site.output.shape), OpFamily::elementwise, [&](const Exprs& i) {
      Expr sum = site.read(last, i), result = sum;
      for (std::int64_t at = places; at < std::min(4 * places, extent); at += places) {
        sum = sum + site.read(last, before(i, at));
        result = select(is_inside(before(i, at)[axis]), sum, result);
      }
      return result;
    });
  }
  return site.result(OpFamily::elementwise, [&](const Exprs& i) {
    const Expr value = site.read(last, op.exclusive ? before(i, 1) : i);
    return op.exclusive ? select(is_inside(before(i, 1)[axis]), value, constant_like(value, 0)) : value;
  });
}

}  // namespace

OpId define_at(const Site& site, const CumSumOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape& shape = site.shape(0);
  std::int64_t behind = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) behind *= shape[d];
  if (behind < 4) return doubling_sums(site, op);  // vectors lie along the axis
  return Running{site, axis, op.reverse}.by_groups(site.inputs[0], shape, op.exclusive, true);
}

}  // namespace whet
