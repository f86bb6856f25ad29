#pragma once

// Lists of requests, which bench/sizes gives to whet and to ONNX Runtime alike. A list is a file of text. Its first line
// has a number for each input: 0 for an input of f32, else one of i64 holds numbers from 0 to below it. Each other line
// is a request: the shape of each input, `1x24 1x24`.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bursts.h"

namespace bench {

using Shape = std::vector<std::int64_t>;

/// A list, and memory for its inputs, 64-byte aligned: enough for the largest request, and the others read the beginning.
class Requests {
 public:
  explicit Requests(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    std::istringstream words(line);
    for (std::int64_t below = 0; words >> below;) below_.push_back(below);
    while (std::getline(file, line)) shapes_.push_back(shapes_of(line));
    if (shapes_.empty()) throw std::runtime_error(path + ": is no list of requests");
    for (std::size_t i = 0; i < below_.size(); ++i) data_.push_back(made_up(i));
  }

  std::size_t size() const { return shapes_.size(); }
  std::size_t inputs() const { return below_.size(); }
  /// One an input.
  const std::vector<Shape>& shapes(std::size_t request) const { return shapes_[request]; }
  void* data(std::size_t input) const { return data_[input].get(); }
  std::size_t bytes(std::size_t request, std::size_t input) const {
    return elements(shapes_[request][input]) * bytes_of_element(input);
  }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  using Memory = std::unique_ptr<void, Free>;

  static std::size_t elements(const Shape& shape) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
  }
  std::size_t bytes_of_element(std::size_t input) const {
    return below_[input] > 0 ? sizeof(std::int64_t) : sizeof(float);
  }

  std::vector<Shape> shapes_of(const std::string& line) const {
    std::vector<Shape> shapes;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      std::istringstream extents(word);
      Shape& shape = shapes.emplace_back();
      for (std::string extent; std::getline(extents, extent, 'x');) shape.push_back(std::atoll(extent.c_str()));
    }
    if (shapes.size() != below_.size()) throw std::runtime_error("a request has another number of inputs: " + line);
    return shapes;
  }

  Memory made_up(std::size_t input) const {
    std::size_t count = 0;
    for (const std::vector<Shape>& shapes : shapes_) count = std::max(count, elements(shapes[input]));
    Memory memory(std::aligned_alloc(64, (count * bytes_of_element(input) + 63) / 64 * 64));
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (std::size_t k = 0; k < count; ++k) {
      if (below_[input] > 0)
        static_cast<std::int64_t*>(memory.get())[k] = static_cast<std::int64_t>(random()) % below_[input];
      else
        static_cast<float*>(memory.get())[k] = normal(random);
    }
    return memory;
  }

  std::vector<std::int64_t> below_;         ///< one an input
  std::vector<std::vector<Shape>> shapes_;  ///< [request][input]
  std::vector<Memory> data_;                ///< one an input
};

/// Before the timed requests, for threads, caches and the clock to be as they will be [s].
constexpr double kRequestWarmup = 0.05;

/// The answer to `times FIRST..END`: what each of these requests takes [us], one behind the other.
template <typename Run>
std::string times_of(const Requests& requests, const std::string& range, Run run) {
  std::size_t first = 0, end = 0;
  if (std::sscanf(range.c_str(), "%zu..%zu", &first, &end) != 2 || first >= end || end > requests.size())
    return "error";
  std::size_t warmed = 0;
  for (const double begin = now(); now() - begin < kRequestWarmup; ++warmed) run(first + warmed % (end - first));
  std::string times;
  for (std::size_t k = first; k < end; ++k) {
    const double begin = now();
    run(k);
    char text[32];
    std::snprintf(text, sizeof text, "%.3f ", (now() - begin) * 1e6);
    times += text;
  }
  return times;
}

/// The answer to `answer K`: the f32 outputs of request K, one behind the other, are in the file then.
template <typename Outputs>
std::string write_answer(const Requests& requests, const std::string& number, const std::string& path,
                         Outputs outputs) {
  const std::size_t request = std::strtoul(number.c_str(), nullptr, 10);
  if (request >= requests.size()) return "error";
  std::ofstream file(path, std::ios::binary);
  outputs(request, file);
  file.close();
  return file ? "written" : "error";
}

}  // namespace bench
