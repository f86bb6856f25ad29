#include <algorithm>
#include <numeric>

#include "import/onnx/importers.h"

namespace whet {
namespace {

/// Axes that are an attribute until operator set 12 and an input from 13 on.
Result<std::optional<std::vector<std::int64_t>>> read_axes(OnnxSite& site) {
  std::vector<std::int64_t> axes;
  if (site.opset() >= 13) {
    if (!site.has(1)) return std::optional<std::vector<std::int64_t>>();
    WHET_TRY(axes, site.known_integers(1, "list of axes"));
  } else {
    if (!site.has_attribute("axes")) return std::optional<std::vector<std::int64_t>>();
    WHET_TRY(axes, site.integers("axes", {}));
  }
  return std::optional(axes);
}

/// The extents of Reshape: 0 copies that of the input (unless `allow_zero`), one -1 takes what is left.
Result<Shape> resolve_reshape(OnnxSite& site, const std::vector<std::int64_t>& wanted, bool allow_zero) {
  const Shape& x = site.shape(0);
  Shape shape = wanted;
  std::int64_t open = -1, product = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= x.size())
        return site.error("the shape copies dimension " + std::to_string(i) + ", which the input does not have");
      shape[i] = x[i];
    }
    if (shape[i] == -1) {
      if (open >= 0) return site.error("the shape " + to_string(wanted) + " has -1 twice");
      open = static_cast<std::int64_t>(i);
      continue;
    }
    if (shape[i] < 0 || (product > 0 && shape[i] > kMaxElements / product)) {
      return site.error("the shape " + to_string(wanted) + " is not possible for " + to_string(site.type(site.in(0))));
    }
    product *= shape[i];
  }
  if (open < 0) return shape;
  if (product == 0 || num_elements(x) % product != 0) {
    return site.error("the shape " + to_string(wanted) + " is not possible for " + to_string(site.type(site.in(0))));
  }
  shape[static_cast<std::size_t>(open)] = num_elements(x) / product;
  return shape;
}

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(values.size())}, values);
}

Result<std::int64_t> read_block(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_RETURN_IF_ERROR(site.expect_attribute("blocksize"));
  WHET_TRY(const std::int64_t block, site.integer("blocksize", 1));
  if (site.rank(0) != 4)
    return site.error("the input is " + to_string(site.type(site.in(0))) + "; expected 4 dimensions");
  if (block >= 1 && block <= 1024) return block;
  return site.error("attribute \"blocksize\" is " + std::to_string(block) + "; expected 1 to 1024");
}

/// Reshape, transpose, reshape.
Status give_rearranged(OnnxSite& site, const Shape& apart, const Shape& perm, const Shape& result) {
  WHET_TRY(const ValueId split, site.add("apart", ReshapeOperator{apart}, {site.in(0)}));
  WHET_TRY(const ValueId turned, site.add("turned", TransposeOperator{perm}, {split}));
  return site.give(ReshapeOperator{result}, {turned});
}

}  // namespace

Status import_reshape(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const bool allow_zero, site.flag("allowzero", false));
  WHET_TRY(const std::vector<std::int64_t> wanted, site.known_integers(1, "shape"));
  WHET_TRY(const Shape shape, resolve_reshape(site, wanted, allow_zero));
  return site.give(ReshapeOperator{shape}, {site.in(0)});
}

Status import_flatten(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  WHET_TRY(std::int64_t axis, site.integer("axis", 1));
  const Shape& x = site.shape(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  if (axis < -rank || axis > rank) {
    return site.error("axis " + std::to_string(axis) + " does not exist in " + to_string(site.type(site.in(0))));
  }
  if (axis < 0) axis += rank;
  return site.give(ReshapeOperator{{num_elements(Shape(x.begin(), x.begin() + axis)),
                                    num_elements(Shape(x.begin() + axis, x.end()))}},
                   {site.in(0)});
}

Status import_squeeze(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 13 ? 2 : 1));
  WHET_TRY(const auto given, read_axes(site));
  const Shape& x = site.shape(0);
  std::vector<std::int64_t> axes;
  if (given) {
    WHET_TRY(axes, site.resolve_axes(*given, x.size()));
  }
  Shape shape;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (named && x[i] != 1) {
      return site.error("drops dimension " + std::to_string(i) + " of " + to_string(site.type(site.in(0))) +
                        "; expected an extent of 1");
    }
    if (given ? !named : x[i] != 1) shape.push_back(x[i]);
  }
  return site.give(ReshapeOperator{shape}, {site.in(0)});
}

Status import_unsqueeze(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(site.opset() >= 13 ? 2 : 1));
  WHET_TRY(const auto given, read_axes(site));
  if (!given) return site.error("attribute \"axes\" is missing");
  const Shape& x = site.shape(0);
  WHET_TRY(const std::vector<std::int64_t> axes, site.resolve_axes(*given, x.size() + given->size()));
  Shape shape;
  auto next = x.begin();
  for (std::size_t i = 0; i < x.size() + axes.size(); ++i) {
    const bool added = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    shape.push_back(added ? 1 : *next++);
  }
  return site.give(ReshapeOperator{shape}, {site.in(0)});
}

Status import_expand(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<std::int64_t> wanted, site.known_integers(1, "shape"));
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the result", wanted));
  const auto shape = broadcast(site.shape(0), wanted);
  if (!shape) return site.error(to_string(site.type(site.in(0))) + " cannot be expanded to " + to_string(wanted));
  if (*shape == site.shape(0)) return site.pass(site.in(0));
  return site.give(ExpandOperator{*shape}, {site.in(0)});
}

/// [a, b] repeated [r, s] times: [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r*a, s*b].
Status import_tile(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(2));
  WHET_TRY(const std::vector<std::int64_t> repeats, site.known_integers(1, "list of repeats"));
  const Shape x = site.shape(0);
  if (repeats.size() != x.size()) {
    return site.error("has " + std::to_string(repeats.size()) + " repeats for " + to_string(site.type(site.in(0))));
  }
  WHET_RETURN_IF_ERROR(check_shape(site.name() + ": the list of repeats", repeats));
  Shape apart, repeated, result;
  for (std::size_t i = 0; i < x.size(); ++i) {
    apart.insert(apart.end(), {1, x[i]});
    repeated.insert(repeated.end(), {repeats[i], x[i]});
    result.push_back(repeats[i] * x[i]);
  }
  WHET_TRY(const ValueId split, site.add("apart", ReshapeOperator{apart}, {site.in(0)}));
  WHET_TRY(const ValueId copies, site.add("copies", ExpandOperator{repeated}, {split}));
  return site.give(ReshapeOperator{result}, {copies});
}

Status import_transpose(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  std::vector<std::int64_t> reversed(site.rank(0));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  WHET_TRY(const std::vector<std::int64_t> perm, site.integers("perm", reversed));
  return site.give(TransposeOperator{perm}, {site.in(0)});
}

/// [N, C, H, W]: blocks of channels become blocks of pixels. "DCR" and "CRD" are two orders of the channels.
Status import_depth_to_space(OnnxSite& site) {
  WHET_TRY(const std::int64_t b, read_block(site));
  WHET_TRY(const std::size_t mode, site.choice("mode", "DCR", {"DCR", "CRD"}));
  const Shape x = site.shape(0);
  const std::int64_t n = x[0], c = x[1] / (b * b), h = x[2], w = x[3];
  if (x[1] % (b * b) != 0) {
    return site.error("attribute \"blocksize\" is " + std::to_string(b) + "; its square must divide the " +
                      std::to_string(x[1]) + " channels");
  }
  const Shape apart = mode == 0 ? Shape{n, b, b, c, h, w} : Shape{n, c, b, b, h, w};
  const Shape perm = mode == 0 ? Shape{0, 3, 4, 1, 5, 2} : Shape{0, 1, 4, 2, 5, 3};
  return give_rearranged(site, apart, perm, {n, c, h * b, w * b});
}

/// The way back, in the order "DCR".
Status import_space_to_depth(OnnxSite& site) {
  WHET_TRY(const std::int64_t b, read_block(site));
  const Shape x = site.shape(0);
  const std::int64_t n = x[0], c = x[1], h = x[2] / b, w = x[3] / b;
  if (x[2] % b != 0 || x[3] % b != 0) {
    return site.error("attribute \"blocksize\" is " + std::to_string(b) + "; it must divide the extents " +
                      std::to_string(x[2]) + " and " + std::to_string(x[3]));
  }
  return give_rearranged(site, {n, c, h, b, w, b}, {0, 3, 5, 1, 2, 4}, {n, c * b * b, h, w});
}

Status import_identity(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.pass(site.in(0));
}

/// Does nothing in inference, nor in training with a ratio of 0, as exporters leave it in attention.
Status import_dropout(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1, site.opset() >= 12 ? 3 : 1));
  site.ignore({"ratio", "seed"});
  if (site.has(2)) {
    WHET_TRY(const double training, site.known_number(2, "training mode"));
    WHET_TRY(const double ratio, site.has(1) ? site.known_number(1, "ratio") : 0.5);
    if (training != 0 && ratio != 0) return site.error("is in training mode; only inference is supported");
  }
  if (site.wants_output(1)) {  // nothing was dropped
    const ValueId kept = site.add_scalar("kept", DType::boolean, 1);
    WHET_RETURN_IF_ERROR(site.give(ExpandOperator{site.shape(0)}, {kept}, 1));
  }
  return site.pass(site.in(0));
}

Status import_shape(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  const Shape& x = site.shape(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  WHET_TRY(std::int64_t start, site.integer("start", 0));
  WHET_TRY(std::int64_t end, site.integer("end", rank));
  start = std::clamp<std::int64_t>(start < 0 && start >= -rank ? start + rank : start, 0, rank);
  end = std::clamp<std::int64_t>(end < 0 && end >= -rank ? end + rank : end, start, rank);
  return site.give_constant(integers({x.begin() + start, x.begin() + end}));
}

Status import_size(OnnxSite& site) {
  WHET_RETURN_IF_ERROR(site.expect_inputs(1));
  return site.give_constant(Tensor::of<std::int64_t>(DType::i64, {}, {num_elements(site.shape(0))}));
}

}  // namespace whet
