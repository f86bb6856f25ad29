#include "import_torch/rows.h"

#include <algorithm>

#include "import_torch/levels.h"

namespace whet::torch {
namespace {

/// Operators that will not be read, by what begins their names.
struct Against {
  std::string_view prefix, reason;
};
constexpr Against kAgainst[] = {
    {"aten.unique", " (the size of its result depends on values)"},
    {"aten._weight_int4pack_mm",
     " (its weights are packed for one kernel of one processor; in Python: export before they are packed)"},
    {"aten._unique.", " (the size of its result depends on values)"},
    {"aten.item", " (it reads a value while the network runs)"},
    {"aten._local_scalar_dense", " (it reads a value while the network runs)"},
    {"aten.rand", " (it draws random numbers)"},
    {"aten.bernoulli", " (it draws random numbers)"},
    {"aten.multinomial", " (it draws random numbers)"},
    {"aten.normal", " (it draws random numbers)"},
    {"aten.uniform", " (it draws random numbers)"},
};

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t begin = 0, end = 0; begin <= words.size(); begin = end + 1) {
    end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
  }
  return false;
}

TorchRows rows() {
  // aten.max and aten.min are two families': the default comes first.
  static const std::vector<TorchRow> kRows =
      gathered<TorchRow>({complex_rows(), fourier_rows(), compose_rows(),     control_rows(),    counted_rows(),
                          create_rows(),  reduce_rows(),  elementwise_rows(), encoder_rows(),    index_rows(),
                          loss_rows(),    matrix_rows(),  normalize_rows(),   quantize_rows(),   recurrent_rows(),
                          resize_rows(),  search_rows(),  shape_rows(),       statistics_rows(), window_rows()});
  return kRows;
}

namespace {

const TorchRow* found_in(TorchRows rows, std::string_view op) {
  const std::size_t dot = op.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view base = op.substr(0, dot), overload = op.substr(dot + 1);
  for (const TorchRow& row : rows) {
    if (row.overloads.empty() ? row.op == op : row.op == base && has_word(row.overloads, overload)) return &row;
  }
  return nullptr;
}

}  // namespace

const TorchRow* find_row(std::string_view op) { return found_in(rows(), op); }
const TorchRow* find_complex_row(std::string_view op) {
  static const std::vector<TorchRow> kRows = gathered<TorchRow>({rows_of_complex()});
  return found_in(kRows, op);
}

bool computes_each_element(std::string_view op) {
  // These of the family read dimensions.
  constexpr std::string_view kOthers =
      "aten._shape_as_tensor aten._prelu_kernel aten.prelu aten.sym_numel aten.sym_size";
  static const std::vector<TorchRow> kRows = gathered<TorchRow>({elementwise_rows()});
  return !has_word(kOthers, op.substr(0, op.rfind('.'))) && found_in(kRows, op) != nullptr;
}

bool moves_elements(std::string_view op) { return found_in(shape_rows(), op) != nullptr; }

std::string reason_against(std::string_view op) {
  for (const Against& row : kAgainst)
    if (op.starts_with(row.prefix)) return std::string(row.reason);
  return "";
}

}  // namespace whet::torch
