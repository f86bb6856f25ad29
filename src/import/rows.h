#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

/// A format's table of operators: each family's rows are at the end of its file, and are gathered here.
namespace whet {

/// The rows of all families, by operator; those of one operator stay in order. An operator of several names, with spaces between
/// them, has a row for each.
template <typename Row>
std::vector<Row> gathered(std::initializer_list<std::span<const Row>> families) {
  std::vector<Row> rows;
  for (const std::span<const Row> family : families)
    for (const Row& row : family)
      for (std::size_t begin = 0, end = 0; end < row.op.size(); begin = end + 1) {
        end = std::min(row.op.find(' ', begin), row.op.size());
        rows.push_back(row);
        rows.back().op = row.op.substr(begin, end - begin);
      }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.op < b.op; });
  return rows;
}

/// The row of an operator; null where there is none.
template <typename Row>
const Row* row_of(std::span<const Row> rows, std::string_view op) {
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), op, [](const Row& a, std::string_view b) { return a.op < b; });
  return row != rows.end() && row->op == op ? &*row : nullptr;
}

}  // namespace whet
