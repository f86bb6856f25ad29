#include <algorithm>

#include "ops/reshape_parts.h"
#include "ops/site.h"

namespace whet {
namespace {

/// Appends the input's indices of one part: the row-major position in the part, cut at the input's extents.
void append_part_index(const ReshapePart& part, const Shape& in, const Shape& out, const Exprs& i, Exprs& index) {
  Expr flat = int_const(0);
  for (std::size_t d = part.out_begin; d < part.out_end; ++d) {
    if (out[d] != 1) flat = flat * out[d] + i[d];
  }
  std::int64_t below = 1;
  for (std::size_t d = part.in_begin; d < part.in_end; ++d) below *= in[d];
  bool outermost = true;
  for (std::size_t d = part.in_begin; d < part.in_end; ++d) {
    below /= in[d];
    if (in[d] == 1) {
      const bool same_one = part.out_end == part.out_begin + 1 && out[part.out_begin] == 1;
      index.push_back(same_one ? i[part.out_begin] : int_const(0));
      continue;
    }
    const Expr high = floordiv(flat, below);
    index.push_back(outermost ? high : floormod(high, in[d]));
    outermost = false;
  }
}

/// The source position of padded position `at` (0 is the input's first element) by mirroring once at both ends. The
/// clamp changes nothing; it lets the verifier prove the load.
Expr mirrored(const Expr& at, std::int64_t begin, std::int64_t end, std::int64_t extent) {
  Expr j = at;
  if (begin > 0) j = max(j, int_const(0) - j);
  if (end > 0) j = min(j, int_const(2 * (extent - 1)) - j);
  return begin > 0 || end > 0 ? clamped(j, extent) : j;
}

}  // namespace

std::vector<ReshapePart> reshape_parts(const Shape& in, const Shape& out) {
  std::vector<ReshapePart> parts;
  std::size_t a = 0, b = 0;
  while (a < in.size() || b < out.size()) {
    ReshapePart part{a, a, b, b};
    const bool in_one = a < in.size() && in[a] == 1, out_one = b < out.size() && out[b] == 1;
    if (in_one || out_one) {
      // Extents of 1 pair up, or are alone: they never make another dimension's index harder.
      a += in_one;
      b += out_one;
    } else {
      std::int64_t left = in[a++], right = out[b++];
      while (left != right) {
        if (left < right) {
          left *= in[a++];
        } else {
          right *= out[b++];
        }
      }
    }
    part.in_end = a;
    part.out_end = b;
    parts.push_back(part);
  }
  return parts;
}

OpId define_at(const Site& site, const TransposeOperator& op) {
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    Exprs index(i.size());
    for (std::size_t d = 0; d < i.size(); ++d) index[static_cast<std::size_t>(op.perm[d])] = i[d];
    return site.read(0, index);
  });
}

OpId define_at(const Site& site, const ReshapeOperator&) {
  const Shape &in = site.shape(0), &out = site.output.shape;
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    Exprs index;
    for (const ReshapePart& part : reshape_parts(in, out)) append_part_index(part, in, out, i, index);
    return site.read(0, index);
  });
}

OpId define_at(const Site& site, const ConcatOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    // Built from the last input backwards: select(i < end of input k, input k, the ones after it).
    Expr value;
    std::int64_t end = site.output.shape[axis];
    for (std::size_t k = site.inputs.size(); k-- > 0;) {
      const std::int64_t extent = site.shape(k)[axis], begin = end - extent;
      if (extent > 0) {
        Exprs index = i;
        index[axis] = i[axis] - begin;
        const Expr own = site.read(k, index);
        value = value.defined() ? select(i[axis] < int_const(end), own, value) : own;
      }
      end = begin;
    }
    return value;
  });
}

OpId define_at(const Site& site, const SliceOperator& op) {
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    Exprs index;
    for (std::size_t d = 0; d < i.size(); ++d) index.push_back(i[d] * op.steps[d] + op.starts[d]);
    return site.read(0, index);
  });
}

OpId define_at(const Site& site, const PadOperator& op) {
  const bool constant = op.mode == PadMode::constant;
  return site.result(constant ? OpFamily::pad : OpFamily::injective, [&](const Exprs& i) {
    Exprs index;
    Expr inside = bool_const(true);
    for (std::size_t d = 0; d < i.size(); ++d) {
      const std::int64_t extent = site.shape(0)[d];
      const Expr at = i[d] - op.begin[d];
      if (op.mode == PadMode::reflect) {
        index.push_back(mirrored(at, op.begin[d], op.end[d], extent));
      } else if (op.mode == PadMode::edge && (op.begin[d] > 0 || op.end[d] > 0)) {
        index.push_back(clamped(at, extent));
      } else if (op.mode == PadMode::wrap && (op.begin[d] > 0 || op.end[d] > 0)) {
        index.push_back(floormod(at, extent));
      } else {
        index.push_back(at);
      }
      if (constant && op.begin[d] > 0) inside = inside && i[d] >= int_const(op.begin[d]);
      if (constant && op.end[d] > 0) inside = inside && i[d] < int_const(op.begin[d] + extent);
    }
    const Expr value = site.read(0, index);
    return select(inside, value, constant_like(value, op.value));
  });
}

namespace {

/// What an op gives is a byte without a sign in a wider type.
bool is_byte_without_sign(const Op& op) {
  const auto* element = std::get_if<Element>(&op.def);
  const Cast* wide = element && !element->reducer ? std::get_if<Cast>(&element->body->kind) : nullptr;
  return wide && wide->a->dtype == DType::u8;
}

}  // namespace

OpId define_at(const Site& site, const GatherOperator& op) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::int64_t extent = site.shape(0)[axis];
  const std::size_t index_rank = site.shape(1).size();
  if (auto* placeholder = std::get_if<Placeholder>(&site.dag.op(site.inputs[1]).def)) {
    placeholder->index_bound = placeholder->index_bound > 0 ? std::min(placeholder->index_bound, extent) : extent;
  }
  return site.result(OpFamily::injective, [&](const Exprs& i) {
    const auto first = i.begin() + op.axis, behind = first + static_cast<std::ptrdiff_t>(index_rank);
    const Expr raw = cast(DType::i64, site.read(1, Exprs(first, behind)));
    // Negative indices count from the end; clamped, so that every load provably stays inside.
    const Expr from_front =
        is_byte_without_sign(site.dag.op(site.inputs[1])) ? raw : select(raw < int_const(0), raw + extent, raw);
    Exprs index(i.begin(), first);
    index.push_back(clamped(from_front, extent));
    index.insert(index.end(), behind, i.end());
    return site.read(0, index);
  });
}

OpId define_at(const Site& site, const ExpandOperator&) {
  return site.result(OpFamily::injective, [&](const Exprs& i) { return site.read_broadcast(0, i); });
}

}  // namespace whet
