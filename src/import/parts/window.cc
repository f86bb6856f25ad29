#include "import/parts/window.h"

#include <algorithm>
#include <limits>

#include "import/fold_shape.h"
#include "import/parts/index.h"
#include "import/parts/move_axis.h"

namespace whet {
namespace {

/// With ceil_mode a last window may reach beyond the padding: the padding grows to hold it. A window that would begin
/// beyond the input and its first padding is not counted.
void round_up(PoolOperator& op, std::size_t i, std::int64_t extent) {
  const std::int64_t reach = op.dilations[i] * (op.kernel[i] - 1) + 1, stride = op.strides[i];
  const std::int64_t span = extent + op.pads_begin[i] + op.pads_end[i] - reach;
  if (span < 0) return;  // inference says that not one window fits
  std::int64_t positions = (span + stride - 1) / stride + 1;
  if ((positions - 1) * stride >= extent + op.pads_begin[i]) --positions;
  op.pads_end[i] = std::max<std::int64_t>((positions - 1) * stride + reach - extent - op.pads_begin[i], 0);
}

/// The operator of a pooling, with what ceil_mode adds.
PoolOperator pool_operator(const Pooling& p, const Shape& x) {
  PoolOperator op{p.kind, p.kernel, p.window.strides, p.window.dilations, p.window.pads_begin, p.window.pads_end};
  op.count_include_pad = p.count_include_pad;
  for (std::size_t i = 0; p.ceil_mode && i < p.kernel.size(); ++i) round_up(op, i, x[i + 2]);
  return op;
}

/// Average with its padding counted, and a padding that ceil_mode enlarged: what the file pads is counted and becomes a
/// Pad of its own; what ceil_mode added is not.
Result<ValueId> padded_average(NodeSite& site, ValueId x, PoolOperator op, const Window& window) {
  PadOperator pad{PadMode::constant, 0, {0, 0}, {0, 0}};
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    pad.begin.push_back(op.pads_begin[i]);
    pad.end.push_back(std::min(op.pads_end[i], window.pads_end[i]));
    op.pads_begin[i] = 0;
    op.pads_end[i] -= pad.end.back();
  }
  op.count_include_pad = false;
  WHET_TRY(const ValueId padded, site.add("pad", pad, {x}));
  return site.add("top", op, {padded});
}

/// The place in a plane of one tap of each window, and whether it is inside the input: [1, 1, positions...].
struct TapPlaces {
  Tensor places, inside;
  bool is_always_inside = true;
};

/// `tap`: the place of the first window's tap in the padded input.
TapPlaces places_of_tap(const PoolOperator& op, const Shape& tap, const Shape& spatial, const Shape& positions,
                        bool by_columns) {
  const std::size_t dims = spatial.size();
  Shape shape(dims + 2, 1);
  std::copy(positions.begin(), positions.end(), shape.begin() + 2);
  TapPlaces result{Tensor(DType::i64, shape), Tensor(DType::boolean, shape)};
  for (std::int64_t p = 0; p < num_elements(positions); ++p) {
    std::int64_t left = p, at = 0, below = 1;
    Shape where(dims);
    for (std::size_t d = dims; d-- > 0; left /= positions[d]) {
      where[d] = left % positions[d] * op.strides[d] + tap[d] - op.pads_begin[d];
    }
    bool is_inside = true;
    for (std::size_t k = 0; k < dims; ++k) {
      const std::size_t d = by_columns ? k : dims - 1 - k;
      at += where[d] * below;
      below *= spatial[d];
      is_inside = is_inside && where[d] >= 0 && where[d] < spatial[d];
    }
    result.places.set_integer(p, at);
    result.inside.set_integer(p, is_inside);
    result.is_always_inside = result.is_always_inside && is_inside;
  }
  return result;
}

/// |x|^p, its sum over windows or dimensions, and the root of that; of floats of 16 bits in f32.
Result<ValueId> powers(NodeSite& site, ValueId x, std::int64_t p) {
  WHET_TRY(ValueId magnitude, site.add("magnitude", UnaryOperator{UnaryKind::abs}, {x}));
  if (is_half(site.dtype(x))) {
    WHET_TRY(magnitude, site.add("wide", CastOperator{DType::f32}, {magnitude}));
  }
  const ValueId exponent = site.add_scalar("p", site.type(magnitude).dtype, static_cast<double>(p));
  return site.add("powers", BinaryOperator{BinaryKind::pow}, {magnitude, exponent});
}

Result<ValueId> root(NodeSite& site, ValueId sum, std::int64_t p, DType result) {
  const DType dtype = site.type(sum).dtype;
  const ValueId exponent = site.add_scalar("inverse_p", dtype, 1 / static_cast<double>(p));
  WHET_TRY(const ValueId root, site.add("root", BinaryOperator{BinaryKind::pow}, {sum, exponent}));
  return site.cast("narrow", root, result);
}

/// The spatial dimensions of x.
Result<std::vector<std::int64_t>> spatial_axes(const NodeSite& site, ValueId x) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < site.rank(x); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (!axes.empty()) return axes;
  return site.error("the input is " + to_string(site.type(x)) + "; expected spatial dimensions");
}

}  // namespace

void pad_to_same(Window& window, const Shape& extents, const Shape& kernel, SamePadding odd) {
  window.pads_begin.assign(kernel.size(), 0);
  window.pads_end.assign(kernel.size(), 0);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t stride = window.strides[i], positions = (extents[i] + stride - 1) / stride;
    const std::int64_t reach = window.dilations[i] * (kernel[i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>((positions - 1) * stride + reach - extents[i], 0);
    const std::int64_t smaller = total / 2;
    window.pads_begin[i] = odd == SamePadding::upper ? smaller : total - smaller;
    window.pads_end[i] = total - window.pads_begin[i];
  }
}

Status expect_window(const NodeSite& site, ValueId x, const Shape& kernel) {
  const std::size_t spatial = kernel.size();
  if (site.rank(x) == spatial + 2 && spatial >= 1 && spatial <= 3) return ok_status();
  return site.error("the input is " + to_string(site.type(x)) + " and the window has " + std::to_string(spatial) +
                    " dimensions; expected a batch, channels and as many dimensions (one to three)");
}

Result<ValueId> convolved(NodeSite& site, ValueId x, ValueId weights, std::optional<ValueId> bias,
                          const ConvOperator& op) {
  std::vector<ValueId> inputs = {x, weights};
  if (bias) inputs.push_back(*bias);
  return site.add("product", op, inputs);
}

Shape spatial_extents(const Shape& x, Layout layout) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(place_of(layout, 0));
  return Shape(first, first + static_cast<std::ptrdiff_t>(x.size()) - 2);
}

WeightPlaces places_of(WeightOrder order, std::size_t spatial) {
  const WeightPlaces in_order[] = {{0, 1, 2, "[results, channels / groups, kernel...]"},
                                   {0, spatial + 1, 1, "[results, kernel..., channels / groups]"},
                                   {spatial + 1, spatial, 0, "[kernel..., channels / groups, results]"},
                                   {spatial + 1, 0, 1, "[1, kernel..., a multiple of the channels]"},
                                   {spatial, spatial + 1, 0, "[kernel..., results, channels / groups]"}};
  return in_order[static_cast<std::size_t>(order)];
}

Result<ValueId> convolution(NodeSite& site, const char* part, ValueId x, ValueId w, std::optional<ValueId> bias,
                            ConvForm form) {
  const Shape image = site.shape(x), given = site.shape(w);
  const std::size_t spatial = form.window.strides.size();
  const bool last = form.layout == Layout::channels_last;
  const WeightPlaces at = places_of(form.weights, spatial);
  const bool has_shapes = image.size() == spatial + 2 && given.size() == spatial + 2 && num_elements(image) > 0;
  const std::int64_t channels = has_shapes ? image[channel_of(form.layout, spatial)] : 0;
  const bool fits = has_shapes && num_elements(given) > 0 && channels % given[at.channels] == 0 &&
                    (form.weights != WeightOrder::one_kO || (given[0] == 1 && given.back() % channels == 0));
  if (!fits)
    return site.error("convolves " + to_string(site.type(x)) + " by weights " + to_string(given) + "; expected " +
                      at.expected);
  const std::int64_t results = given[at.results], of_group = given[at.channels];
  const auto begin = given.begin() + static_cast<std::ptrdiff_t>(at.kernel);
  const Shape kernel(begin, begin + static_cast<std::ptrdiff_t>(spatial));
  if (form.same) pad_to_same(form.window, spatial_extents(image, form.layout), kernel, SamePadding::upper);
  ConvOperator op{form.window.strides, form.window.dilations, form.window.pads_begin, form.window.pads_end};
  op.groups = form.groups > 0 ? form.groups : channels / of_group;
  op.layout = form.layout;
  // The graph has [k..., I, O], or [k..., O] of depthwise ones, beside channels last; and else [O, I, k...].
  TransposeOperator turn;
  Shape ordered;
  for (std::size_t d = 0; d < spatial; ++d) turn.perm.push_back(static_cast<std::int64_t>(at.kernel + d));
  const auto o = static_cast<std::int64_t>(at.results), i = static_cast<std::int64_t>(at.channels);
  turn.perm.insert(last ? turn.perm.end() : turn.perm.begin(), {last ? i : o, last ? o : i});
  for (const std::int64_t d : turn.perm) ordered.push_back(given[static_cast<std::size_t>(d)]);
  if (last && op.groups > 1 && op.groups == results && of_group == 1) ordered.erase(ordered.end() - 2);
  if (form.weights != WeightOrder::one_kO && !std::is_sorted(turn.perm.begin(), turn.perm.end())) {
    WHET_TRY(w, site.add("weights", turn, {w}));
  }
  if (site.shape(w) != ordered) {
    WHET_TRY(w, site.add("weights", ReshapeOperator{ordered}, {w}));
  }
  std::vector<ValueId> inputs = {x, w};
  if (bias) inputs.push_back(*bias);
  return site.add(part, op, inputs);
}

Result<ValueId> channels_first(NodeSite& site, ValueId x, bool is_last) {
  return is_last && site.rank(x) > 2 ? site.add("channels_first", move_axis(site.rank(x), site.rank(x) - 1, 1), {x})
                                     : Result<ValueId>(x);
}
Result<ValueId> channels_back(NodeSite& site, ValueId x, bool is_last) {
  return is_last && site.rank(x) > 2 ? site.add("channels_last", move_axis(site.rank(x), 1, site.rank(x) - 1), {x})
                                     : Result<ValueId>(x);
}

Result<ValueId> pooled(NodeSite& site, ValueId x, const Pooling& pooling) {
  WHET_RETURN_IF_ERROR(expect_window(site, x, pooling.kernel));
  const PoolOperator op = pool_operator(pooling, site.shape(x));
  bool grew = false;
  for (std::size_t i = 0; i < op.kernel.size(); ++i) grew = grew || op.pads_end[i] > pooling.window.pads_end[i];
  if (op.kind == PoolKind::average && op.count_include_pad && grew) return padded_average(site, x, op, pooling.window);
  return site.add("top", op, {x});
}

std::optional<PadOfMaximum> pad_of_maximum(const Graph& graph, ValueId padded, const Shape& kernel) {
  const auto made_by = [&](ValueId value) -> const Node* {
    const auto& nodes = graph.nodes;
    const auto found =
        std::find_if(nodes.rbegin(), nodes.rend(), [&](const Node& node) { return node.output == value; });
    return found == nodes.rend() ? nullptr : &*found;
  };
  const Node* node = made_by(padded);
  const auto* pad = node == nullptr ? nullptr : std::get_if<PadOperator>(&node->op);
  if (pad == nullptr || pad->mode != PadMode::constant || pad->begin.size() != kernel.size()) return std::nullopt;
  const Node* before = made_by(node->inputs[0]);
  const auto* unary = before == nullptr ? nullptr : std::get_if<UnaryOperator>(&before->op);
  const auto* clip = before == nullptr ? nullptr : std::get_if<ClipOperator>(&before->op);
  const bool not_negative = (unary != nullptr && unary->kind == UnaryKind::relu) || (clip != nullptr && clip->low >= 0);
  const auto lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  if (pad->value > lowest && !(not_negative && pad->value <= 0)) return std::nullopt;
  for (std::size_t d = 0; d < kernel.size(); ++d)
    if (pad->begin[d] < 0 || pad->end[d] < 0 || pad->begin[d] >= kernel[d] || pad->end[d] >= kernel[d])
      return std::nullopt;
  return PadOfMaximum{node->inputs[0], *pad};
}

Result<ValueId> max_pool_indices(NodeSite& site, ValueId input, const Pooling& pooling, ValueId top, bool by_columns) {
  const Shape x = site.shape(input), y = site.shape(top);
  const PoolOperator op = pool_operator(pooling, x);
  const std::size_t dims = op.kernel.size();
  const Shape spatial(x.begin() + 2, x.end()), positions(y.begin() + 2, y.end());
  const std::int64_t plane = num_elements(spatial), count = num_elements(positions);
  if (num_elements(op.kernel) > 1024 || count > kMaxFoldedElements) {
    return site.error("the places of the maxima of windows " + to_string(op.kernel) + " are not supported");
  }
  PadOperator pad{PadMode::constant, -std::numeric_limits<double>::infinity(), {0, 0}, {0, 0}};
  if (!is_float(site.dtype(input))) pad.value = site.dtype(input) == DType::u8 ? 0 : -128;
  pad.begin.insert(pad.begin.end(), op.pads_begin.begin(), op.pads_begin.end());
  pad.end.insert(pad.end.end(), op.pads_end.begin(), op.pads_end.end());
  WHET_TRY(const ValueId padded, site.add("padded", pad, {input}));
  ValueId places = site.add_scalar("nowhere", DType::i64, 0);
  for (std::int64_t tap = num_elements(op.kernel); tap-- > 0;) {
    SliceOperator slice{{0, 0}, {1, 1}, y};
    std::int64_t rest = tap;
    for (std::size_t d = dims; d-- > 0; rest /= op.kernel[d]) {
      slice.starts.insert(slice.starts.begin() + 2, rest % op.kernel[d] * op.dilations[d]);
      slice.steps.insert(slice.steps.begin() + 2, y[d + 2] > 1 ? op.strides[d] : 1);
    }
    const TapPlaces at =
        places_of_tap(op, Shape(slice.starts.begin() + 2, slice.starts.end()), spatial, positions, by_columns);
    WHET_TRY(const ValueId part, site.add("tap", slice, {padded}));
    WHET_TRY(ValueId hit, site.add("hit", BinaryOperator{BinaryKind::equal}, {part, top}));
    if (!at.is_always_inside) {  // the padding equals the lowest number, too
      WHET_TRY(hit, site.add("inside", BinaryOperator{BinaryKind::logical_and},
                             {hit, site.add_constant("is_inside", at.inside)}));
    }
    WHET_TRY(places, site.add("place", WhereOperator{}, {hit, site.add_constant("places", at.places), places}));
  }
  Shape planes_shape(dims + 2, 1);
  planes_shape[0] = x[0];
  planes_shape[1] = x[1];
  const Tensor planes = numbered(planes_shape, DType::i64, 0, static_cast<double>(plane));
  return site.add("places", BinaryOperator{BinaryKind::add}, {places, site.add_constant("planes", planes)});
}

Result<ValueId> lp_pooled(NodeSite& site, ValueId input, const Pooling& pooling, std::int64_t p) {
  WHET_RETURN_IF_ERROR(expect_window(site, input, pooling.kernel));
  PoolOperator op = pool_operator(pooling, site.shape(input));
  op.kind = PoolKind::average;
  op.count_include_pad = true;  // zeros add nothing: the mean of all taps is the sum except for a factor
  WHET_TRY(const ValueId x, powers(site, input, p));
  WHET_TRY(const ValueId mean, site.add("mean", op, {x}));
  const ValueId count = site.add_scalar("count", site.dtype(mean), static_cast<double>(num_elements(op.kernel)));
  WHET_TRY(const ValueId sum, site.add("sum", BinaryOperator{BinaryKind::mul}, {mean, count}));
  return root(site, sum, p, site.dtype(input));
}

Result<ValueId> pooled_whole(NodeSite& site, ValueId x, ReduceKind kind) {
  WHET_TRY(const std::vector<std::int64_t> axes, spatial_axes(site, x));
  return site.add("pooled", ReduceOperator{kind, axes, true}, {x});
}

Result<ValueId> lp_pooled_whole(NodeSite& site, ValueId input, std::int64_t p) {
  ReduceOperator op{ReduceKind::sum, {}, true};
  for (std::size_t i = 2; i < site.rank(input); ++i) op.axes.push_back(static_cast<std::int64_t>(i));
  WHET_TRY(const ValueId x, powers(site, input, p));
  WHET_TRY(const ValueId sum, site.add("sum", op, {x}));
  return root(site, sum, p, site.dtype(input));
}

Result<ValueId> max_unpool(NodeSite& site, ValueId x, ValueId places, const Shape& given) {
  const Shape y(given.begin(), given.end());  // which may be of a value of the graph, whose list grows
  const Shape shape = site.shape(x);
  if (shape.size() < 3 || site.shape(places) != shape || site.dtype(places) != DType::i64 || num_elements(shape) == 0) {
    return site.error("puts " + to_string(site.type(x)) + " at places " + to_string(site.type(places)) +
                      "; expected a batch, channels and spatial dimensions, and an i64 for each element");
  }
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", y));
  if (y.size() != shape.size() || y[0] != shape[0] || y[1] != shape[1] || num_elements(y) == 0) {
    return site.error("puts " + to_string(site.type(x)) + " into " + to_string(y) +
                      "; expected equal batches and channels");
  }
  const std::int64_t planes = shape[0] * shape[1], pixels = num_elements(y) / planes,
                     each = num_elements(shape) / planes;
  const ValueId size = site.add_scalar("plane", DType::i64, static_cast<double>(pixels));
  WHET_TRY(ValueId at, site.add("place", BinaryOperator{BinaryKind::mod}, {places, size}));
  WHET_TRY(at, site.add("places", ReshapeOperator{{planes, each}}, {at}));
  WHET_TRY(const ValueId elements, site.add("elements", ReshapeOperator{{planes, each}}, {x}));
  const ValueId zero = site.add_scalar("zero", site.dtype(x), 0);
  WHET_TRY(const ValueId zeros, site.add("zeros", ExpandOperator{{planes, pixels}}, {zero}));
  WHET_TRY(const ValueId put, site.add("put", ScatterElementsOperator{1}, {zeros, at, elements}));
  return site.add("unpooled", ReshapeOperator{y}, {put});
}

}  // namespace whet
