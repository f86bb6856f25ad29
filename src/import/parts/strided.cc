#include "import/parts/strided.h"

#include <algorithm>
#include <limits>

#include "import/parts/shape.h"

namespace whet {
namespace {

constexpr std::int64_t kBehindAll = std::numeric_limits<std::int64_t>::max();

bool bit(std::int64_t mask, std::size_t i) { return (mask >> i & 1) != 0; }

Status check_entries(const NodeSite& site, ValueId x, const StridedSlice& s) {
  const std::size_t count = s.starts.size();
  if (count != s.ends.size() || count != s.steps.size() || count > 31)
    return site.error("has " + std::to_string(count) + " starts, " + std::to_string(s.ends.size()) + " ends and " +
                      std::to_string(s.steps.size()) + " steps");
  std::size_t ellipses = 0, taken = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ellipses += bit(s.ellipsis, i) ? 1 : 0;
    taken += bit(s.ellipsis, i) || bit(s.is_new, i) ? 0 : 1;
    if (s.steps[i] == 0) return site.error("has a step of 0");
  }
  if (ellipses > 1) return site.error("has " + std::to_string(ellipses) + " ellipses");
  if (taken <= site.rank(x)) return ok_status();
  return site.error("slices " + std::to_string(taken) + " dimensions of " + to_string(site.type(x)));
}

/// Batch and blocks as dimensions of their own: [blocks..., N, extents...] turned to [N, extents[0], blocks[0], ...].
TransposeOperator interleaved(std::size_t blocks, std::size_t rank) {
  TransposeOperator turn{{static_cast<std::int64_t>(blocks)}};
  for (std::size_t d = 0; d < blocks; ++d) {
    turn.perm.push_back(static_cast<std::int64_t>(blocks + 1 + d));
    turn.perm.push_back(static_cast<std::int64_t>(d));
  }
  for (std::size_t d = blocks + 1; d < rank; ++d) turn.perm.push_back(static_cast<std::int64_t>(blocks + d));
  return turn;
}

TransposeOperator inverse(const TransposeOperator& turn) {
  TransposeOperator back{turn.perm};
  for (std::size_t i = 0; i < turn.perm.size(); ++i)
    back.perm[static_cast<std::size_t>(turn.perm[i])] = static_cast<std::int64_t>(i);
  return back;
}

Result<std::int64_t> volume_of(const NodeSite& site, ValueId x, const std::vector<std::int64_t>& block,
                               const std::vector<std::int64_t>& edges) {
  const bool fits = !block.empty() && block.size() < site.rank(x) && edges.size() == 2 * block.size();
  if (!fits)
    return site.error("makes blocks of " + to_string(block) + " with " + std::to_string(edges.size()) + " edges of " +
                      to_string(site.type(x)));
  std::int64_t volume = 1;
  for (const std::int64_t extent : block) {
    if (extent < 1 || extent > kMaxElements || volume > kMaxElements / extent)
      return site.error("makes blocks of " + to_string(block));
    volume *= extent;
  }
  for (const std::int64_t edge : edges)
    if (edge < 0 || edge > kMaxElements) return site.error("has an edge of " + std::to_string(edge));
  return volume;
}

}  // namespace

Result<ValueId> strided_slice(NodeSite& site, ValueId x, const StridedSlice& s) {
  WHET_RETURN_IF_ERROR(check_entries(site, x, s));
  std::size_t taken = 0;
  for (std::size_t i = 0; i < s.starts.size(); ++i) taken += bit(s.ellipsis, i) || bit(s.is_new, i) ? 0 : 1;
  const Shape shape = site.shape(x);
  std::vector<std::int64_t> starts, ends, steps, gone;
  std::vector<std::size_t> fresh;  // places of new dimensions among those that are left
  std::size_t left = 0;
  for (std::size_t i = 0; i < s.starts.size(); ++i) {
    if (bit(s.ellipsis, i)) {
      const std::size_t skipped = shape.size() - taken;
      left += skipped;
      starts.insert(starts.end(), skipped, 0);
      ends.insert(ends.end(), skipped, kBehindAll);
      steps.insert(steps.end(), skipped, 1);
      continue;
    }
    if (bit(s.is_new, i)) {
      fresh.push_back(left++);
      continue;
    }
    const bool backwards = s.steps[i] < 0, goes = bit(s.goes, i);
    starts.push_back(bit(s.open_starts, i) && !goes ? (backwards ? kBehindAll : 0) : s.starts[i]);
    ends.push_back(bit(s.open_ends, i) ? (backwards ? -kBehindAll : kBehindAll) : s.ends[i]);
    steps.push_back(goes ? 1 : s.steps[i]);
    if (goes) {
      ends.back() = starts.back() == -1 ? kBehindAll : std::min(starts.back(), kBehindAll - 1) + 1;
      gone.push_back(static_cast<std::int64_t>(starts.size()) - 1);
    } else {
      ++left;
    }
  }
  WHET_TRY(ValueId y, sliced(site, x, starts, ends, std::nullopt, steps));
  if (!gone.empty()) {
    WHET_TRY(y, squeezed(site, y, gone));
  }
  if (fresh.empty()) return y;
  std::vector<std::int64_t> axes(fresh.begin(), fresh.end());
  return unsqueezed(site, y, axes);
}

Result<ValueId> symmetric_pad(NodeSite& site, ValueId x, const std::vector<std::int64_t>& pads) {
  const std::size_t rank = site.rank(x);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t before = pads[d], behind = pads[d + rank], extent = site.shape(x)[d];
    if (before < 0 || behind < 0 || before > extent || behind > extent)
      return site.error("pads an extent of " + std::to_string(extent) + " by " + std::to_string(before) + " and " +
                        std::to_string(behind));
    std::vector<ValueId> row;
    const auto axis = static_cast<std::int64_t>(d);
    const std::vector<std::int64_t> axes = {axis};
    if (before > 0) {
      WHET_TRY(const ValueId part, sliced(site, x, {before - 1}, {-kBehindAll}, axes, {-1}));
      row.push_back(part);
    }
    row.push_back(x);
    if (behind > 0) {
      const std::int64_t end = extent == behind ? -kBehindAll : extent - behind - 1;
      WHET_TRY(const ValueId part, sliced(site, x, {-1}, {end}, axes, {-1}));
      row.push_back(part);
    }
    if (row.size() > 1) {
      WHET_TRY(x, site.add("joined", ConcatOperator{axis}, row));
    }
  }
  return x;
}

Result<ValueId> space_to_batch(NodeSite& site, ValueId x, const std::vector<std::int64_t>& block,
                               const std::vector<std::int64_t>& pads) {
  WHET_TRY(const std::int64_t volume, volume_of(site, x, block, pads));
  const std::size_t rank = site.rank(x), blocks = block.size();
  std::vector<std::int64_t> edges(2 * rank, 0);
  for (std::size_t d = 0; d < blocks; ++d) {
    edges[d + 1] = pads[2 * d];
    edges[rank + d + 1] = pads[2 * d + 1];
  }
  WHET_TRY(const ValueId whole, padded(site, x, edges, every_axis(rank), PadMode::constant, 0));
  const Shape shape = site.shape(whole);
  Shape apart = {shape[0]}, joined = shape;
  for (std::size_t d = 0; d < blocks; ++d) {
    if (shape[d + 1] % block[d] != 0)
      return site.error("makes blocks of " + to_string(block) + " of " + to_string(site.type(whole)));
    joined[d + 1] = shape[d + 1] / block[d];
    apart.push_back(joined[d + 1]);
    apart.push_back(block[d]);
  }
  apart.insert(apart.end(), shape.begin() + static_cast<std::ptrdiff_t>(blocks) + 1, shape.end());
  joined[0] *= volume;
  WHET_TRY(ValueId y, site.add("apart", ReshapeOperator{apart}, {whole}));
  WHET_TRY(y, site.add("turned", inverse(interleaved(blocks, rank)), {y}));
  return site.add("blocks", ReshapeOperator{joined}, {y});
}

Result<ValueId> batch_to_space(NodeSite& site, ValueId x, const std::vector<std::int64_t>& block,
                               const std::vector<std::int64_t>& crops) {
  WHET_TRY(const std::int64_t volume, volume_of(site, x, block, crops));
  const Shape shape = site.shape(x);
  const std::size_t rank = shape.size(), blocks = block.size();
  if (shape[0] % volume != 0)
    return site.error("makes blocks of " + to_string(block) + " of " + to_string(site.type(x)));
  Shape apart(block.begin(), block.end()), joined = shape;
  joined[0] = shape[0] / volume;
  apart.push_back(joined[0]);
  apart.insert(apart.end(), shape.begin() + 1, shape.end());
  for (std::size_t d = 0; d < blocks; ++d) joined[d + 1] *= block[d];
  WHET_TRY(ValueId y, site.add("apart", ReshapeOperator{apart}, {x}));
  WHET_TRY(y, site.add("turned", interleaved(blocks, rank), {y}));
  WHET_TRY(y, site.add("blocks", ReshapeOperator{joined}, {y}));
  std::vector<std::int64_t> starts, ends, axes;
  for (std::size_t d = 0; d < blocks; ++d) {
    if (crops[2 * d] + crops[2 * d + 1] >= joined[d + 1])
      return site.error("cuts " + std::to_string(crops[2 * d] + crops[2 * d + 1]) + " off an extent of " +
                        std::to_string(joined[d + 1]));
    axes.push_back(static_cast<std::int64_t>(d) + 1);
    starts.push_back(crops[2 * d]);
    ends.push_back(joined[d + 1] - crops[2 * d + 1]);
  }
  return sliced(site, y, starts, ends, axes, std::vector<std::int64_t>(blocks, 1));
}

namespace {

Result<ValueId> in_blocks(NodeSite& site, ValueId x, std::int64_t b, Layout layout, bool to_pixels) {
  const Shape s = site.shape(x);
  const bool first = layout == Layout::channels_first;
  const std::size_t row = first ? 2 : 1, channel = first ? 1 : 3;
  const bool fits = s.size() == 4 && b >= 1 && b <= 4096 && num_elements(s) > 0 &&
                    (to_pixels ? s[channel] % (b * b) == 0 : s[row] % b == 0 && s[row + 1] % b == 0);
  if (!fits) return site.error("makes blocks of " + std::to_string(b) + " of " + to_string(site.type(x)));
  if (first) return to_pixels ? depth_to_space(site, x, b, DepthOrder::depth_column_row) : space_to_depth(site, x, b);
  const Shape apart =
      to_pixels ? Shape{s[0], s[1], s[2], b, b, s[3] / (b * b)} : Shape{s[0], s[1] / b, b, s[2] / b, b, s[3]};
  const Shape whole =
      to_pixels ? Shape{s[0], s[1] * b, s[2] * b, s[3] / (b * b)} : Shape{s[0], s[1] / b, s[2] / b, s[3] * b * b};
  WHET_TRY(x, site.add("apart", ReshapeOperator{apart}, {x}));
  WHET_TRY(x, site.add("turned", TransposeOperator{{0, 1, 3, 2, 4, 5}}, {x}));
  return site.add("blocks", ReshapeOperator{whole}, {x});
}

}  // namespace

Result<ValueId> blocks_to_pixels(NodeSite& site, ValueId x, std::int64_t block, Layout layout) {
  return in_blocks(site, x, block, layout, true);
}
Result<ValueId> pixels_to_blocks(NodeSite& site, ValueId x, std::int64_t block, Layout layout) {
  return in_blocks(site, x, block, layout, false);
}

}  // namespace whet
