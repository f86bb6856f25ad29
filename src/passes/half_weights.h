#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace whet {

/// Products of f32 activations of few rows by constants of f32 keep their constants in 16 bits in memory: f16 or bf16, rounded here.
/// Kernels widen them in registers; activations, products and sums stay f32. Such a product reads each weight for a few multiply-adds
/// alone, so that memory bounds it and half the bytes are half the time. Others keep f32, as do weights that are small or that another
/// node reads, and those of squeeze-and-excites; networks that run at all sizes of a range have none (PassOptions, for_ranges). Weights beyond the largest f16 stay f32 too.
Result<Graph> store_f16_weights(const Graph&);
Result<Graph> store_bf16_weights(const Graph&);

}  // namespace whet
