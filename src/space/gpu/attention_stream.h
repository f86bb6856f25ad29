#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "schedule/steps.h"
#include "space/attention_form.h"
#include "space/space.h"

namespace whet {

/// The template of attention (space/attention_form.h) on tensor cores in one pass over the keys, of which there may be any number: nothing
/// of a row of scores is stored (schedule/online.h). A block has some queries of a head, and copies them once. Step by step it
/// copies some keys and their values. Each of its warps computes the scores of its queries with them, whose scale and mask are
/// computed in registers, the exponentials relative to the largest score so far, and adds their product with the values to its results,
/// which are scaled where that maximum grows. Exponentials are the left operand of that product where they are, in registers. Operands
/// that are not f16 in memory are rounded where warps read them.
///   decisions: queries, warps and the queries of each; keys of a step; stages of its copies; min_blocks
/// Nothing where the DAG is of another form, has tensors of 16 bits, or `precision` permits no rounding.
std::optional<Sketch> attention_stream_sketch(const ComputeDag&, const Target&, Precision precision);
/// The same where all operands of both products are f16, or all are bf16: nothing is rounded that the task does not round, so no precision is asked for.
std::optional<Sketch> half_attention_stream_sketch(const ComputeDag&, const Target&);

/// The DAG whose softmax is divided late, after operands have become copies and all other ops than the form's are inlined.
struct StreamAttention {
  AttentionForm ops;  ///< with their ids there; `weights` are the exponentials, `masked` the scores that they are of
  OpId queries, keys, values;
  std::shared_ptr<const Scheduler> start;
  bool keys_by_row =
      false;  ///< a key's elements are neighbours in memory and in the copy, which is (heads, key, depth)
};
/// By the keys of a step. None for DAGs that are no attention.
std::map<std::int64_t, StreamAttention> find_stream_attentions(const ComputeDag&);

}  // namespace whet
