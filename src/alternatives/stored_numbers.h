#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alternatives/activation_layout.h"
#include "passes/fuse.h"
#include "trial/value_range.h"

namespace whet {

/// What the stored numbers of an activation stand for: q for (q - zero) * scale, between `least` and `most`. A bf16 stands for itself.
struct StoredNumbers {
  StoredAs stored = StoredAs::bf16;
  double scale = 1;  ///< an f32
  std::int64_t zero = 0, least = 0, most = 0;
  friend bool operator==(const StoredNumbers&, const StoredNumbers&) = default;
};
/// "14 bits, step 0.00021", "8 bits, step 0.024, zero 117"; "" of bf16
std::string to_text(const StoredNumbers&);

/// The constants of a product whose activation is stored in fewer bits.
struct LoweredProduct {
  Tensor weights;  ///< bf16, i16 or i8; f32 of a depthwise convolution that widens what it reads
  /// i32: a convolution's own constant one, and what its zero point adds, in units of the sums.
  std::optional<Tensor> bias;
  bool has_own_bias = false;  ///< the convolution's own is in it
  /// f32 [O]: what a sum of 1 stands for, by output channel. Nothing where sums are f32 and stand for themselves.
  std::optional<Tensor> scales;
};

/// How the values of a network are stored in fewer bits, and what its products by constants multiply then. One thread; the graph lives
/// longer.
/// Scales leave room for a quarter more than the ranges have: what no sample has may be larger.
///   i16  zero is 0, for the largest magnitude. 14 bits, or 12 or 10 where the weights of
///        a product that reads the value would have few bits left. The weights of an output channel have as many bits as leave each sum of
///        products, with its bias, within i32, whatever is read
///   u8   what lies between the least and the largest number, 0 included, in 255 steps. Weights have 8 bits with a sign, by output channel
/// Values that are copies of each other have one scale.
class StoredForms {
 public:
  ///   ranges  of the network's values, or of some; values without one are stored as bf16 at most
  StoredForms(const FusedGraph&, const ValueRanges& ranges);

  /// Nothing where the value is constant or not of f32; as whole numbers also where the samples have nothing, zeros alone or what is not
  /// finite.
  std::optional<StoredNumbers> numbers(ValueId, StoredAs) const;
  /// Null where the node is no product by constants, or where the processors' instruction for words of such numbers does not fit: the number
  /// of its terms, fewer than 16 results. Depthwise convolutions fit.
  const LoweredProduct* product(const Node&, StoredAs) const;

 private:
  std::size_t class_of(ValueId) const;
  void unite_copies();
  void read_ranges(const ValueRanges&);
  void choose_bits();
  std::optional<LoweredProduct> make_product(const Node&, StoredAs) const;

  const Graph& graph_;
  mutable std::vector<std::size_t> parent_;   ///< of each value another one that is stored alike
  std::map<std::size_t, ValueRange> ranges_;  ///< of classes
  std::map<std::size_t, int> bits_;           ///< of classes that products read; i16
  mutable std::map<std::pair<ValueId, StoredAs>, std::optional<LoweredProduct>> products_;  ///< by their results
};

bool is_product(const Operator&);
/// The operator copies numbers, of which padding adds zeros, and computes none.
bool copies_numbers(const Operator&);

/// How nodes are added to a graph that grows.
struct NodeSink {
  std::function<Result<ValueId>(const std::string& name, Operator, std::vector<ValueId>)> add;
  std::function<ValueId(const std::string& name, Tensor)> constant;
};
/// The f32 `x` as it is stored.
Result<ValueId> add_rounding(const NodeSink&, const std::string& name, ValueId x, const StoredNumbers&);
/// The f32 that `x` stands for.
Result<ValueId> add_widening(const NodeSink&, const std::string& name, ValueId x, const StoredNumbers&);
/// The f32 result of a product of `x`, which is stored as the product has it.
///   bias  gives a convolution's bias in f32, where it has one that is not in `product`
Result<ValueId> add_product(const NodeSink&, const Node&, const LoweredProduct& product, ValueId x,
                            const std::function<Result<ValueId>()>& bias);

}  // namespace whet
