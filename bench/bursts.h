#pragma once

// What the programs that bench/kernels runs alternately have in common: they answer one line of standard input with one
// line of standard output.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

/// Before the timed runs of a burst, for the caches and the clock to be as they will be: this part of its time.
constexpr double kWarmup = 0.2;
constexpr std::size_t kLeastRuns = 3;

/// With weights from memory: each run reads another copy of them. No cache holds all copies.
inline std::size_t copies_of(std::size_t weight_bytes) {
  constexpr std::size_t kBeyondCaches = std::size_t{256} << 20, kMost = 256;
  return std::clamp<std::size_t>(kBeyondCaches / std::max<std::size_t>(weight_bytes, 1), 1, kMost);
}

/// `answer(command, argument)` for every line `COMMAND [ARGUMENT [SECONDS]]`, until the end of input.
template <typename Answer>
void serve(const std::string& ready, Answer answer) {
  std::cout << ready << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, argument;
    double seconds = 0;
    words >> command >> argument >> seconds;
    std::cout << answer(command, argument, seconds) << std::endl;
  }
}

}  // namespace bench
