#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Gives every value of i8 that is computed the type u8, 128 higher, where only casts, moves and maxima read it: processors
/// multiply bytes without a sign with bytes that have one. What the user sees keeps its type.
Result<Graph> drop_signs(const Graph&);

/// Convolutions and matrix products of bytes, written as products of i32 or of dequantized floats, become products of u8
/// by i8 with sums in i32:
///   conv(i32(x) - z, w)                 conv(x, i8(w)) - z * (sum of w)
///   conv((x - z) * s, q * t) + b        (conv(x, i8(q)) - z * (sum of q)) * (s * t) + b, the scale one for each channel
///   matmul(i32(x) - z, w), z computed   matmul(x, i8(w)) - z * (sum of w), and a convolution without padding likewise
/// Where the convolution pads by something else than x = 0, or reads other channels than fours, x is padded before it, by z.
/// A grouped convolution adds up in f32 as long as its sums are exact there, and so does a depthwise one that pads by
/// something else than x = 0.
/// Needs: constant weights that bytes with a sign hold, a constant s, positive scales. Else nothing changes.
Result<Graph> form_integer_products(const Graph&);

/// Moves what quantized models do between their products to the bytes:
///   a reshape, transpose, slice, pad or maximum of (x - z) * s   (the same of x - z) * s
///   the bytes of (x - z) * s by the same scale and zero point     x
///   clip(f32(sum) * t) / s                                        clip(f32(sum) * (t / s)), sums of these too
/// The last one may move a result by a step where it lies between two.
Result<Graph> move_to_bytes(const Graph&);

/// byte(clip(round(clip(x)) + zero)) has one clip, which holds both: the bounds of an activation in steps, which differ from
/// layer to layer, are mostly those of the byte.
Result<Graph> clip_bytes_once(const Graph&);

/// Bytes that are a dear function of other bytes, element by element, are read from a table of its 256 values: an activation
/// between two roundings. The index is one of i32, the operator a gather (`is_look_up`).
Result<Graph> tabulate_bytes(const Graph&);
bool is_look_up(const Graph&, const Node&);

/// Each reader of a number has a constant of its own, where a graph has bytes: whether two scales are equal by chance decides
/// nothing about what a kernel reads.
Result<Graph> give_numbers_apart(const Graph&);

/// Each reader of a dequantized value computes it from the bytes, so that the bytes are what is stored.
Result<Graph> dequantize_at_readers(const Graph&);

}  // namespace whet
