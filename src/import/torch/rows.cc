#include "import/torch/rows.h"

#include <algorithm>

namespace whet::torch {
namespace {

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

/// Operators that will not be read, by what begins their names.
struct Against {
  std::string_view prefix, reason;
};
constexpr Against kAgainst[] = {
    {"aten.unique", " (the size of its result depends on values)"},
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

TorchRows rows() {
  // aten.max and aten.min are two families': the default comes first.
  static const std::vector<TorchRow> kRows = gathered<TorchRow>(
      {complex_rows(), compose_rows(), control_rows(), counted_rows(), create_rows(), reduce_rows(), elementwise_rows(),
       encoder_rows(), index_rows(), matrix_rows(), normalize_rows(), quantize_rows(), recurrent_rows(), resize_rows(),
       search_rows(), shape_rows(), window_rows()});
  return kRows;
}

const TorchRow* find_row(std::string_view op) {
  const std::size_t dot = op.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view base = op.substr(0, dot), overload = op.substr(dot + 1);
  for (const TorchRow& row : rows()) {
    if (row.overloads.empty() ? row.op == op : row.op == base && has_word(row.overloads, overload)) return &row;
  }
  return nullptr;
}

std::string reason_against(std::string_view op) {
  for (const Against& row : kAgainst)
    if (op.starts_with(row.prefix)) return std::string(row.reason);
  return "";
}

}  // namespace whet::torch
