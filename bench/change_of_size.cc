// What a change of shapes costs in a library for several sizes.
//
//   change_of_size MODEL.so [THREADS]
//
// Prints one line, `other same first grown`: medians over changes at random [us], of session_set_shapes to another size, and
// to the same, and how much longer the first run after a change takes than the one behind it; and the bytes of the heap and
// of mappings that the process has more behind all changes than before them, after session_reserve.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

/// The shapes of all inputs at the largest sizes.
Shapes largest(const whet::rt::Model& model) {
  Shapes shapes(model.inputs());
  for (std::uint32_t i = 0; i < model.inputs(); ++i) shapes[i].assign(model.input(i).rank, -1);
  for (const whet_size_info& size : model.sizes()) shapes[size.input][size.dimension] = size.max;
  return shapes;
}

/// What the process has of memory: in use on the heap, and mapped.
std::int64_t bytes_of_memory() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return static_cast<std::int64_t>(mallinfo2().uordblks) + pages * sysconf(_SC_PAGESIZE);
}

constexpr int kChanges = 2000;
/// A run takes much longer than a change: this many changes have one.
constexpr int kChangesARun = 20;

class Changes {
 public:
  Changes(const whet::rt::Model& model, whet::rt::Session& session) : model_(model), session_(session) {
    session.reserve();
    session.set_shapes(largest(model));
    for (std::uint32_t i = 0; i < model.inputs(); ++i)
      inputs_.emplace_back(static_cast<std::size_t>(session.input_info(i).bytes));
    other_.reserve(kChanges), same_.reserve(kChanges), first_.reserve(kChanges);
  }

  void run(int changes) {
    for (int change = 0; change < changes; ++change) {
      const Shapes shapes = drawn(model_, random_);
      const whet_tensor_info* const before = &session_.input_info(0);
      const double begin = microseconds_now();
      session_.set_shapes(shapes);
      const double changed = microseconds_now();
      session_.set_shapes(shapes);
      const double end = microseconds_now();
      same_.push_back(end - changed);
      if (&session_.input_info(0) == before) continue;
      other_.push_back(changed - begin);
      if (other_.size() % kChangesARun != 1) continue;
      for (std::uint32_t i = 0; i < model_.inputs(); ++i) session_.set_input(i, inputs_[i].data());
      double runs[3];
      for (double& run : runs) {
        const double start = microseconds_now();
        session_.run();
        run = microseconds_now() - start;
      }
      first_.push_back(runs[0] - runs[2]);
    }
  }
  void forget() { other_.clear(), same_.clear(), first_.clear(); }

  void print(std::int64_t grown) const {
    if (other_.empty()) throw Error("the library has one choice of sizes");
    std::printf("%.2f %.2f %.2f %lld\n", median(other_), median(same_), median(first_), static_cast<long long>(grown));
  }

 private:
  const whet::rt::Model& model_;
  whet::rt::Session& session_;
  std::vector<std::vector<char>> inputs_;
  std::vector<double> other_, same_, first_;
  std::mt19937 random_{1};
};

void measure(const char* path, std::uint32_t threads) {
  const whet::rt::Model model(path);
  whet_pool_options options{};
  options.threads = threads;
  whet::rt::Session session(model, whet::rt::Pool(model, options));
  Changes changes(model, session);
  changes.run(kChanges / 10);  // what the C library keeps for itself is there then
  changes.forget();
  const std::int64_t before = bytes_of_memory();
  changes.run(kChanges);
  changes.print(bytes_of_memory() - before);
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
