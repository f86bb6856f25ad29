#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/site.h"

/// Windows that slide over images [N, C, spatial...]: convolutions and pools. Parts, see arithmetic.h.
namespace whet {

/// How a window slides; one entry a spatial dimension.
struct Window {
  std::vector<std::int64_t> strides, dilations, pads_begin, pads_end;
};

/// Where the odd pixel of padding goes: behind the image, or before it.
enum class SamePadding : std::uint8_t { upper, lower };
/// Pads so that every stride-th pixel of `extents` is the centre of a window of `kernel`. Strides and dilations are given.
void pad_to_same(Window&, const Shape& extents, const Shape& kernel, SamePadding odd);

/// Refuses windows that do not fit: x has a batch, channels and as many dimensions as `kernel`, one to three.
Status expect_window(const NodeSite&, ValueId x, const Shape& kernel);

/// A convolution of x by weights [O, I / groups, kernel...], plus a bias [O].
Result<ValueId> convolved(NodeSite&, ValueId x, ValueId weights, std::optional<ValueId> bias, const ConvOperator&);

/// Where weights have their dimensions: O results, I channels of a group, k... the kernel. `one_kO`: [1, k..., O] of one channel each.
enum class WeightOrder : std::uint8_t { OIk, OkI, kIO, one_kO, kOI };

struct ConvForm {
  Window window;
  bool same = false;  ///< pads as `pad_to_same` does, the odd pixel behind; else as the window says
  Layout layout = Layout::channels_first;
  WeightOrder weights = WeightOrder::OIk;
  std::int64_t groups = 0;  ///< 0: as many as the shapes say
};
/// The product of x, in the form's layout, by weights in the form's order, plus a bias [O]; a step called `part`. Errors: shapes that
/// do not fit.
Result<ValueId> convolution(NodeSite&, const char* part, ValueId x, ValueId weights, std::optional<ValueId> bias,
                            ConvForm);

/// A dimension of images of `spatial` dimensions: that of the channels, and that of spatial dimension `d`.
constexpr std::size_t channel_of(Layout layout, std::size_t spatial) {
  return layout == Layout::channels_last ? spatial + 1 : 1;
}
constexpr std::size_t place_of(Layout layout, std::size_t d) { return layout == Layout::channels_last ? d + 1 : d + 2; }
/// The spatial extents of an image.
Shape spatial_extents(const Shape& x, Layout);
/// Weights by the places of their dimensions, and what they are called in messages.
struct WeightPlaces {
  std::size_t results, channels, kernel;  ///< the kernel's first one
  const char* expected;
};
WeightPlaces places_of(WeightOrder, std::size_t spatial);

/// Images whose channels are last (`is_last`; else they stay as they are) with channels first, and back.
Result<ValueId> channels_first(NodeSite&, ValueId x, bool is_last);
Result<ValueId> channels_back(NodeSite&, ValueId x, bool is_last);

struct Pooling {
  PoolKind kind = PoolKind::max;
  std::vector<std::int64_t> kernel;
  Window window;
  bool ceil_mode = false;          ///< a last window may reach beyond the padding
  bool count_include_pad = false;  ///< an average counts the window's padding, but not what ceil_mode adds
};
/// The largest or the mean of each window. Needs: `expect_window`.
Result<ValueId> pooled(NodeSite&, ValueId x, const Pooling&);
/// The place of each maximum `top` (the result of `pooled`) in the whole input, counted row by row, or column by column; i64.
/// Of equal ones the first. Errors: windows of more than 1024 pixels.
Result<ValueId> max_pool_indices(NodeSite&, ValueId x, const Pooling&, ValueId top, bool by_columns);
/// (sum of |x|^p)^(1/p) over windows; f16 is summed in f32. The kind of the pooling means nothing.
Result<ValueId> lp_pooled(NodeSite&, ValueId x, const Pooling&, std::int64_t p);

/// A Pad in front of a max pool that changes no maximum: it pads with the lowest value, or with a value <= 0 around non-negative
/// data. The image before it, and its pads; those behind each dimension come second.
struct PadOfMaximum {
  ValueId image;
  PadOperator pad;
};
/// Nothing where something else makes the image; or a window of `kernel` (extents by dimension; 1 where none slides) could
/// hold nothing but padding.
std::optional<PadOfMaximum> pad_of_maximum(const Graph&, ValueId padded, const Shape& kernel);

/// A reduction over the spatial dimensions, which stay as extents of 1. Needs: at least one.
Result<ValueId> pooled_whole(NodeSite&, ValueId x, ReduceKind);
Result<ValueId> lp_pooled_whole(NodeSite&, ValueId x, std::int64_t p);

/// The way back from maxima: each element of x is put at its place (i64, counted through the whole result `y`) into planes of
/// zeros. Needs: x and places of equal shapes; y has their batch and channels.
Result<ValueId> max_unpool(NodeSite&, ValueId x, ValueId places, const Shape& y);

}  // namespace whet
