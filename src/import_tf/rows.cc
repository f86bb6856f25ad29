#include "import_tf/rows.h"

#include <iterator>

namespace whet::tensorflow {
TfRows rows() {
  static const std::vector<TfRow> kRows = gathered<TfRow>(
      {boxes_rows(), control_rows(), elementwise_rows(), fourier_rows(), index_rows(), shape_rows(), window_rows()});
  return kRows;
}

const TfRow* find_row(std::string_view op) { return row_of(rows(), op); }

std::string reason_against(std::string_view op) {
  if (op.starts_with("Random") || op.starts_with("StatelessRandom") || op.starts_with("Multinomial"))
    return " (draws random numbers; whet compiles functions)";
  if (op.starts_with("HashTable") || op.starts_with("LookupTable") || op.starts_with("String")) return " (of texts)";
  return "";
}

}  // namespace whet::tensorflow
