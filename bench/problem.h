#pragma once

// One line of a problem list (bench/README.md): what whet_kernels and onednn_kernels both compute. Standard library
// alone, since the second knows nothing of whet.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

using Extents = std::vector<std::int64_t>;

/// A convolution of any number of spatial dimensions.
struct Convolution {
  std::int64_t batch, in, out, groups;
  Extents size, kernel, stride, pad, dilation;  ///< one a spatial dimension
  std::int64_t result(std::size_t d) const {
    return (size[d] + 2 * pad[d] - (kernel[d] - 1) * dilation[d] - 1) / stride[d] + 1;
  }
  Extents results() const {
    Extents all;
    for (std::size_t d = 0; d < size.size(); ++d) all.push_back(result(d));
    return all;
  }
};

struct Problem {
  std::string kind, name;
  Extents numbers;  ///< as they are in the line, without the count

  bool is_convolution() const { return kind == "conv" || kind == "conv3d"; }
  Convolution convolution() const {
    const Extents& n = numbers;
    if (kind == "conv")
      return {n[0], n[1], n[4], n[12], {n[2], n[3]}, {n[5], n[6]}, {n[7], n[8]}, {n[9], n[10]}, {n[11], n[11]}};
    return {n[0],
            n[1],
            n[5],
            n[12],
            {n[2], n[3], n[4]},
            {n[6], n[7], n[8]},
            Extents(3, n[9]),
            Extents(3, n[10]),
            Extents(3, n[11])};
  }
};

inline std::int64_t product(const Extents& extents) {
  std::int64_t p = 1;
  for (const std::int64_t extent : extents) p *= extent;
  return p;
}

/// How many numbers follow the name, the count excluded; 0 for an unknown kind.
inline std::size_t numbers_of(const std::string& kind) {
  struct Kind {
    const char* name;
    std::size_t numbers;
  };
  static constexpr Kind kKinds[] = {{"conv", 13},      {"conv3d", 13},   {"ip", 3},
                                    {"mm", 3},         {"bmm", 4},       {"softmax", 2},
                                    {"layer_norm", 2}, {"max_pool", 7},  {"global_average_pool", 4},
                                    {"attention", 4},  {"sum", 3},       {"sigmoid", 2},
                                    {"add", 2},        {"transpose", 2}, {"concat", 3},
                                    {"resize", 5},     {"gather", 2},    {"top_k", 3}};
  for (const Kind& known : kKinds)
    if (kind == known.name) return known.numbers;
  return 0;
}

/// Empty, or what is wrong with the line.
inline std::string parse(const std::string& line, Problem* problem) {
  std::istringstream words(line);
  words >> problem->kind >> problem->name;
  const std::size_t wanted = numbers_of(problem->kind);
  if (wanted == 0)
    return "\"" + problem->kind +
           "\" is no kind of problem; expected conv, conv3d, ip, mm, bmm, softmax, layer_norm, " +
           "max_pool, global_average_pool, attention, sum, sigmoid, add, transpose, concat, resize, gather or top_k";
  problem->numbers.clear();
  for (std::int64_t number; words >> number;) problem->numbers.push_back(number);
  if (!words.eof() || problem->numbers.size() != wanted + 1)
    return problem->name + ": a line of kind " + problem->kind + " has " + std::to_string(wanted) +
           " whole numbers and a count after the name";
  problem->numbers.pop_back();
  if (std::any_of(problem->numbers.begin(), problem->numbers.end(), [](std::int64_t n) { return n < 0; }))
    return problem->name + ": negative numbers mean nothing here";
  if (!problem->is_convolution()) return "";
  const Convolution c = problem->convolution();
  for (std::size_t d = 0; d < c.size.size(); ++d)
    if (c.kernel[d] < 1 || c.stride[d] < 1 || c.dilation[d] < 1 || c.result(d) < 1)
      return problem->name + ": the window does not fit into its input";
  if (c.groups < 1 || c.in % c.groups != 0 || c.out % c.groups != 0)
    return problem->name + ": " + std::to_string(c.groups) + " groups do not divide the channels";
  return "";
}

/// Rough count of vector instructions in one exp.
constexpr double kExpInstructions = 16;

/// Floating point operations of the direct algorithm, padded taps included. For what is no sum of products: two for
/// each vector instruction that an element needs, since the peak they are held against counts a multiply-add as two.
inline double operations(const Problem& p) {
  const Extents& n = p.numbers;
  if (p.kind == "transpose" || p.kind == "concat" || p.kind == "gather") return 0;  // moves
  double count = 2;
  if (p.is_convolution()) {
    const Convolution c = p.convolution();
    for (const std::int64_t f : {c.batch, c.out, c.in / c.groups, product(c.kernel), product(c.results())})
      count *= static_cast<double>(f);
    return count;
  }
  for (const std::int64_t f : n) count *= static_cast<double>(f);  // right for matrices, a global pool's sum
  if (p.kind == "sum") return 2.0 * static_cast<double>(n[0] * n[1]);
  if (p.kind == "sigmoid") return count * (3 + kExpInstructions);  // negation, sum, division
  if (p.kind == "resize") return 6.0 * static_cast<double>(product({n[0], n[1], n[2], n[3], n[4], n[4]}));
  if (p.kind == "top_k") return 2.0 * static_cast<double>(n[0] * n[1]);  // each is compared once
  if (p.kind == "attention")                                             // two products and the softmax of the scores
    return 2 * count + 2.0 * static_cast<double>(n[0] * n[1] * n[3]) * (4 + kExpInstructions);
  if (p.kind == "softmax") return count * (4 + kExpInstructions);  // largest, difference, exp, sum, scaling
  if (p.kind == "layer_norm") return count * 5;                    // sum, difference, squares, scaling, shift
  if (p.kind == "max_pool") {
    const std::int64_t rows = (n[2] + 2 * n[6] - n[4]) / n[5] + 1, columns = (n[3] + 2 * n[6] - n[4]) / n[5] + 1;
    return 2.0 * static_cast<double>(n[0] * n[1] * rows * columns * n[4] * n[4]);
  }
  return count;
}

}  // namespace bench
