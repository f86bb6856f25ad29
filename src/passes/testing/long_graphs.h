#pragma once

#include <string>
#include <vector>

#include "passes/testing/graph_builder.h"

namespace whet::testing {

/// Kinds of graphs of any length, as loops and generated networks have them: `length` is about the number of their nodes.
struct LongGraph {
  const char* name;
  Graph (*make)(int length);
};

inline Graph long_additions(int length) {
  GraphBuilder build;
  ValueId x = build.input("x", {4, 8});
  for (int i = 0; i < length; ++i) x = build.plus("y" + std::to_string(i), x, x);
  return build.finish({x});
}

inline Graph long_sums_with_numbers(int length) {
  GraphBuilder build;
  ValueId x = build.input("x", {1});
  for (int i = 0; i < length; ++i)
    x = build.binary("y" + std::to_string(i), i % 2 == 0 ? BinaryKind::sub : BinaryKind::mul, x,
                     build.constant("c" + std::to_string(i), {}, {0.5}));
  return build.finish({x});
}

inline Graph long_relus(int length) {
  GraphBuilder build;
  ValueId x = build.input("x", {4, 8});
  for (int i = 0; i < length; ++i) x = build.relu("y" + std::to_string(i), x);
  return build.finish({x});
}

inline Graph long_residual_blocks(int length) {
  GraphBuilder build;
  ValueId x = build.input("x", {1, 2, 3, 3});
  for (int i = 0; i < length / 4; ++i) {
    const std::string n = std::to_string(i);
    const ValueId a = build.relu("a" + n, build.conv("c" + n, x, 2, 1));
    x = build.relu("y" + n, build.plus("sum" + n, a, x));
  }
  return build.finish({x});
}

/// Along axis 1 of [2, length / 5, 3].
inline SliceOperator rows_between(std::int64_t begin, std::int64_t end) {
  return {{0, begin, 0}, {1, 1, 1}, {2, end - begin, 3}};
}

/// for i: o[:, i] = tanh(x[:, i] * 2)
inline Graph long_written_rows(int length) {
  GraphBuilder build;
  const std::int64_t rows = length / 5;
  const ValueId x = build.input("x", {2, rows, 3}), two = build.constant("two", {}, {2});
  ValueId o = build.input("o", {2, rows, 3});
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::string n = std::to_string(i);
    const ValueId read = build.add("read" + n, rows_between(i, i + 1), {x});
    const ValueId row = build.unary("row" + n, UnaryKind::tanh, build.binary("twice" + n, BinaryKind::mul, read, two));
    std::vector<ValueId> parts;
    if (i > 0) parts.push_back(build.add("front" + n, rows_between(0, i), {o}));
    parts.push_back(row);
    if (i + 1 < rows) parts.push_back(build.add("back" + n, rows_between(i + 1, rows), {o}));
    o = build.add("o" + n, ConcatOperator{1}, parts);
  }
  return build.finish({o});
}

/// for i: h = tanh(h * x[:, i]); all h side by side
inline Graph long_loop(int length) {
  GraphBuilder build;
  const std::int64_t rows = length / 3;
  const ValueId x = build.input("x", {2, rows, 3});
  ValueId h = build.input("h", {2, 1, 3});
  std::vector<ValueId> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::string n = std::to_string(i);
    const ValueId read = build.add("read" + n, rows_between(i, i + 1), {x});
    h = build.unary("h" + n, UnaryKind::tanh, build.binary("p" + n, BinaryKind::mul, h, read));
    all.push_back(h);
  }
  return build.finish({build.add("all", ConcatOperator{1}, all)});
}

/// Each value is read by the next one and by what comes after all of them, in the same order.
inline Graph long_skips(int length) {
  GraphBuilder build;
  ValueId x = build.input("x", {4, 4});
  const ValueId w = build.constant("w", {4, 4});
  std::vector<ValueId> kept;
  for (int i = 0; i < length / 4; ++i) {
    const std::string n = std::to_string(i);
    kept.push_back(build.relu("k" + n, x));
    x = build.add("p" + n, MatMulOperator{}, {kept.back(), w});
  }
  for (int i = 0; i < length / 4; ++i) {
    const std::string n = std::to_string(i);
    x = build.add("q" + n, MatMulOperator{}, {build.plus("s" + n, x, kept[static_cast<std::size_t>(i)]), w});
  }
  return build.finish({x});
}

constexpr LongGraph kLongGraphs[] = {{"additions", long_additions}, {"sums with numbers", long_sums_with_numbers},
                                     {"relus", long_relus},         {"residual blocks", long_residual_blocks},
                                     {"rows", long_written_rows},   {"a loop", long_loop},
                                     {"skips", long_skips}};

}  // namespace whet::testing
