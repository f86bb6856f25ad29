#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compute/dag.h"

namespace whet {

/// The value of an element: a float (of any float dtype), or an integer or boolean. The dtype of the op decides which.
union ElementValue {
  double f;
  std::int64_t i;
};

/// The values of one expression for a batch of elements: element k is `data[k * step]`. With step 0 all elements are
/// the same.
struct ValueColumn {
  const ElementValue* data;
  int step;
  ElementValue operator[](int k) const { return data[std::ptrdiff_t{k} * step]; }
};

/// The body of an op, prepared to be evaluated for up to kBatch elements at once along one axis (`lane`). An element
/// costs little more than in compiled code. It is long by a function for each kind of expression, which all read one array of nodes.
class CompiledBody {
 public:
  static constexpr int kBatch = 256;

  /// `values` holds the tensors of all ops before this one.
  CompiledBody(const ComputeDag& dag, const Element& element, AxisId lane, const std::vector<Tensor>& values);

  /// Evaluates at `axes` (one value an axis); `axes[lane]` is the first of `count` <= kBatch elements. After
  /// `failed()`, `error` gives the reason, and the columns are meaningless.
  ValueColumn run(const std::vector<std::int64_t>& axes, int count);
  /// The two factors of a body that is a product of floats. They are not multiplied.
  bool is_product() const { return is_product_; }
  std::pair<ValueColumn, ValueColumn> run_factors(const std::vector<std::int64_t>& axes, int count);

  /// Adds the products to `sums` where both factors are plain reads of f32 that stay inside, as in convolutions.
  /// Otherwise returns false.
  bool add_products(const std::vector<std::int64_t>& axes, int count, ElementValue* sums);

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }

 private:
  /// Which elements of the batch are wanted; null: all.
  using Mask = const std::uint8_t*;

  /// offset + Σ coefficient · axis
  struct Linear {
    std::int64_t offset = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> terms;
    std::int64_t lane = 0;  ///< the lane axis' coefficient, also in `terms`
  };
  struct Node {
    const ExprNode* expr = nullptr;
    std::vector<int> children;
    bool uniform = true;  ///< the same for the whole batch
    std::vector<ElementValue> slots;
    std::vector<std::uint8_t> masks[2];
    // Of loads whose indices are all affine:
    bool affine = false;
    bool always_inside = false;
    Linear flat;
    std::vector<Linear> index;
  };

  int compile(const Expr&);
  void compile_load(Node&, const Load&);
  bool read_linear(const Expr&, Linear&) const;
  std::int64_t at(const Linear& l) const;

  ValueColumn eval(int node, Mask mask);
  ValueColumn unary_column(Node&, const Unary&, Mask);
  ValueColumn binary_column(Node&, const Binary&, Mask);
  ValueColumn select_column(Node&, Mask);
  ValueColumn cast_column(Node&, Mask);
  ValueColumn call_column(Node&, const Call&, Mask);
  ValueColumn load_column(Node&, const Load&, Mask);
  ValueColumn affine_load(Node&, const Load&, Mask);
  ValueColumn general_load(Node&, const Load&, Mask);
  void out_of_range(const Load&, const std::vector<std::int64_t>& index);
  int width(const Node& n) const { return n.uniform ? 1 : count_; }
  ValueColumn column(const Node& n) const { return {n.slots.data(), n.uniform ? 0 : 1}; }

  const ComputeDag& dag_;
  const Element& element_;
  AxisId lane_;
  const std::vector<Tensor>& values_;
  std::vector<Node> nodes_;
  int root_ = -1;
  bool is_product_ = false;
  bool reads_both_ = false;  ///< see `add_products`
  const std::vector<std::int64_t>* axes_ = nullptr;
  int count_ = 0;
  std::string error_;
};

}  // namespace whet
