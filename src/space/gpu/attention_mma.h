#pragma once

#include "space/gpu/attention_launch.h"

namespace whet {

/// The template of attention (space/attention_form.h) on tensor cores: both products are sums of warps. A block has some queries
/// of a head, and copies them and all keys of a part. Its warps compute the scores, whose scale and mask are their epilogue;
/// its threads find the maximum and the sum of exponentials of a row and store the weights, which are the second product's left
/// operand. Values are copied some keys at a time. Operands that are not of 16 bits in memory are rounded where warps read them.
///   decisions: queries, warps by rows and the queries of each; columns, warps that share a row's keys and results; depth, the
///   keys whose values are copied together; stages of that copy; min_blocks; part, as that of gpu_attention_sketch
/// Nothing where the DAG is of another form, has tensors of 16 bits, or `precision` permits no rounding.
std::optional<Sketch> attention_mma_sketch(const ComputeDag&, const Target&, Precision precision);
/// The same where all operands of both products are f16, or all are bf16: nothing is rounded that the task does not round, so no precision
/// is asked for.
std::optional<Sketch> attention_half_sketch(const ComputeDag&, const Target&);

}  // namespace whet
