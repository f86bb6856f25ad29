#pragma once

#include "base/check.h"
#include "import/rows.h"
#include "import_torch/site.h"

/// The operators of PyTorch that whet reads. Each family's rows are at the end of its file; rows.cc gathers them.
namespace whet::torch {

/// What an operator computes in where tensors are f16.
enum class Precision : std::uint8_t {
  own,   ///< f16; what is one operator of the graph, products and sums among them, is rounded once anyway
  wide,  ///< f32, rounded once: several steps
  wide_if_said,  ///< f32 where an argument is given that may be left out, and is not what it is then; of complex numbers as of_parts
  of_parts,     ///< nothing: it moves or adds elements; of complex numbers the one parts and the others, apart
  of_products,  ///< f16; it is linear in each operand, so that it multiplies complex numbers by their parts
};

constexpr Precision kWide = Precision::wide, kWideIfSaid = Precision::wide_if_said, kOfParts = Precision::of_parts,
                    kOfProducts = Precision::of_products;

/// A row of the table. One function reads an operator with all overloads of equal arguments.
struct TorchRow {
  template <auto function>
  consteval TorchRow(std::string_view op, std::string_view overloads, std::string_view takes, RowFunction<function>,
                     Precision precision = Precision::own)
      : op(op), overloads(overloads), takes(takes), precision(precision), import([](TorchSite& site) {
          return called(site, function);
        }) {
    WHET_CHECK(count_parameters(takes) >= parameters_of(function), "a row names fewer words than its function takes");
  }

  std::string_view op;         ///< "aten.conv2d"; a family's row may have several names
  std::string_view overloads;  ///< "default padding"
  std::string_view takes;      ///< the arguments (site.h)
  Precision precision;
  Status (*import)(TorchSite&);
};

using TorchRows = std::span<const TorchRow>;
/// All rows, one an operator and group of overloads, by operator.
TorchRows rows();
bool has_word(std::string_view words, std::string_view word);
/// The row of "aten.conv2d.default"; null where there is none.
const TorchRow* find_row(std::string_view op);
/// The row for complex numbers, of an operator that has one of its own; null where there is none.
const TorchRow* find_complex_row(std::string_view op);
/// Whether the operator only moves elements to other places, or pads them.
bool moves_elements(std::string_view op);
/// Why an operator without a row is not read, and what to do; "" where there is nothing to say.
std::string reason_against(std::string_view op);

// complex.cc
/// Real and imaginary parts side by side in the last dimension become a pair, and back.
Status give_pair(TorchSite&, ValueId x);
Result<ValueId> side_by_side(TorchSite&, ComplexParts);
// compose.cc
Result<ValueId> diagonals(TorchSite&, ValueId x, std::int64_t offset, std::int64_t dim1, std::int64_t dim2);
// counted.cc
Result<ValueId> rows_where(TorchSite&, ValueId x, ValueId mask);

TorchRows complex_rows(), compose_rows(), control_rows(), counted_rows(), create_rows(), elementwise_rows(),
    fourier_rows(), rows_of_complex(), encoder_rows(), index_rows(), loss_rows(), matrix_rows(), normalize_rows(),
    quantize_rows(), recurrent_rows(), reduce_rows(), resize_rows(), search_rows(), shape_rows(), statistics_rows(),
    window_rows();

}  // namespace whet::torch
