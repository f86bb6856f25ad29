// What a change of shapes costs in a library for several sizes.
//
//   change_of_size MODEL.so [THREADS]
//
// Prints one line of microseconds, medians over 2,000 changes at random: `other same first`: session_set_shapes to another
// size, and to the same; how much longer the first run after a change takes than the one behind it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "whet/model.hpp"

namespace {

using whet::rt::Error;
using Shapes = std::vector<std::vector<std::int64_t>>;

double microseconds_now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// The shapes of all inputs at values of the sizes that are drawn at random.
Shapes drawn(const whet::rt::Model& model, std::mt19937& random) {
  Shapes shapes(model.inputs());
  for (std::uint32_t i = 0; i < model.inputs(); ++i) shapes[i].assign(model.input(i).rank, -1);
  for (const whet_size_info& size : model.sizes()) {
    const auto steps = size.count > 0 ? size.count : static_cast<std::uint64_t>((size.max - size.min) / size.step) + 1;
    const auto step = static_cast<std::int64_t>(random() % steps);
    shapes[size.input][size.dimension] = size.count > 0 ? size.values[step] : size.min + step * size.step;
  }
  return shapes;
}

void measure(const char* path, std::uint32_t threads) {
  const whet::rt::Model model(path);
  whet_pool_options options{};
  options.threads = threads;
  whet::rt::Session session(model, whet::rt::Pool(model, options));
  session.reserve();
  std::vector<std::vector<char>> inputs;
  std::vector<double> other, same, first;
  std::mt19937 random(1);
  for (int change = 0; change < 2000; ++change) {
    const Shapes shapes = drawn(model, random);
    const whet_tensor_info* const before = &session.input_info(0);
    const double begin = microseconds_now();
    session.set_shapes(shapes);
    const double changed = microseconds_now();
    session.set_shapes(shapes);
    const double end = microseconds_now();
    same.push_back(end - changed);
    if (&session.input_info(0) == before) continue;
    other.push_back(changed - begin);
    inputs.resize(model.inputs());
    for (std::uint32_t i = 0; i < model.inputs(); ++i) {
      inputs[i].resize(std::max(inputs[i].size(), static_cast<std::size_t>(session.input_info(i).bytes)));
      session.set_input(i, inputs[i].data());
    }
    double runs[3];
    for (double& run : runs) {
      const double start = microseconds_now();
      session.run();
      run = microseconds_now() - start;
    }
    first.push_back(runs[0] - runs[2]);
  }
  if (other.empty()) throw Error("the library has one choice of sizes");
  std::printf("%.2f %.2f %.2f\n", median(other), median(same), median(first));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) throw Error("a library for several sizes is required");
  measure(argv[1], argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 0);
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "change_of_size: %s\n", error.what());
  return 1;
}
