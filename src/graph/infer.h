#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

/// Inside the room: one overload for each operator, one file for each family. `infer_type` dispatches.
namespace whet {

/// The node whose type is inferred (for messages), and the types of its inputs.
struct InferSite {
  const std::string& node;
  std::string operation;  ///< name_of the operator
  const std::vector<TensorType>& inputs;

  const TensorType& in(std::size_t i) const { return inputs[i]; }
  /// "node: sentence"
  Error error(const std::string& sentence) const { return Error{node + ": " + sentence}; }
  Status expect_inputs(std::size_t count) const { return expect_inputs(count, count); }
  Status expect_inputs(std::size_t low, std::size_t high) const;
  Status expect_float(std::size_t i) const;
  Status expect_number(std::size_t i) const;  ///< anything but boolean
  Status expect_boolean(std::size_t i) const;
  Status expect_index(std::size_t i) const;  ///< i32 or i64
  Status expect_same_dtype(std::size_t i, std::size_t j) const;
  Status expect_rank_at_least(std::size_t i, std::size_t rank) const;
  /// `values` has `count` entries, each >= `low`.
  Status expect_entries(std::string_view attribute, const std::vector<std::int64_t>& values, std::size_t count,
                        std::int64_t low) const;
  Status expect_axis(std::string_view attribute, std::int64_t axis, std::size_t rank) const;
};

/// Whether `check_shape` has nothing against it: a long network has many shapes, and nobody begins a sentence for each.
bool is_sane(const Shape&);
/// Inputs 0 and 1 are u8 and i8, whose products are added up in i32.
bool is_product_of_bytes(const InferSite&);
/// Of a convolution or matmul: i32 of bytes; where it is `wide` i32 of two factors of i16, else f32; else that of its inputs. An error where
/// it is wide and input 0 is not of 16 bits.
Result<DType> dtype_of_sums(const InferSite&, bool wide);
/// The dimension of the channels (or of their blocks), the first spatial dimension, and the number of these.
struct ChannelPlace {
  std::size_t channel, first_spatial, spatial;
};
ChannelPlace channel_place(Layout, std::size_t rank);
/// The number of positions of a window of `kernel` taps. An error where not even one position fits.
Result<std::int64_t> window_positions(const InferSite&, std::size_t spatial_dimension, std::int64_t extent,
                                      std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                                      std::int64_t pad_begin, std::int64_t pad_end);

// infer_elementwise.cc
Result<TensorType> infer(const InferSite&, const UnaryOperator&);
Result<TensorType> infer(const InferSite&, const ClipOperator&);
Result<TensorType> infer(const InferSite&, const HardSigmoidOperator&);
Result<TensorType> infer(const InferSite&, const LeakyReluOperator&);
Result<TensorType> infer(const InferSite&, const BinaryOperator&);
Result<TensorType> infer(const InferSite&, const WhereOperator&);
Result<TensorType> infer(const InferSite&, const CastOperator&);
// infer_window.cc
Result<TensorType> infer(const InferSite&, const ConvOperator&);
Result<TensorType> infer(const InferSite&, const PoolOperator&);
// infer_matrix.cc
Result<TensorType> infer(const InferSite&, const MatMulOperator&);
Result<TensorType> infer(const InferSite&, const ReduceOperator&);
Result<TensorType> infer(const InferSite&, const SoftmaxOperator&);
Result<TensorType> infer(const InferSite&, const BatchNormOperator&);
// infer_data.cc
Result<TensorType> infer(const InferSite&, const TransposeOperator&);
Result<TensorType> infer(const InferSite&, const ReshapeOperator&);
Result<TensorType> infer(const InferSite&, const ConcatOperator&);
Result<TensorType> infer(const InferSite&, const SliceOperator&);
Result<TensorType> infer(const InferSite&, const PadOperator&);
Result<TensorType> infer(const InferSite&, const GatherOperator&);
Result<TensorType> infer(const InferSite&, const ExpandOperator&);
Result<TensorType> infer(const InferSite&, const ResizeOperator&);
// infer_index.cc
Result<TensorType> infer(const InferSite&, const GatherElementsOperator&);
Result<TensorType> infer(const InferSite&, const GatherNdOperator&);
Result<TensorType> infer(const InferSite&, const ScatterElementsOperator&);
Result<TensorType> infer(const InferSite&, const ScatterNdOperator&);
Result<TensorType> infer(const InferSite&, const ArgReduceOperator&);
Result<TensorType> infer(const InferSite&, const TopKOperator&);
Result<TensorType> infer(const InferSite&, const CumSumOperator&);
// infer_custom.cc
Result<TensorType> infer(const InferSite&, const CustomOperator&);

}  // namespace whet
