// Times of libraries for several sizes at the shapes of one for one size, and of that one. All run on one pool, on the
// same inputs and outputs.
//
//   libraries_at_a_size SECONDS THREADS EXACT.so SIZED.so...
//
// Says `ready ERROR`: the largest difference of a sized library's outputs from the exact one's, as a part of the largest
// magnitude. Then it answers each line of its input with a line:
//   round now        a time for each library, in their order [us]: the median run of a burst of SECONDS
//   placement now    round trip of a cache line between the first two threads [ns]; `-` for one thread
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bursts.h"
#include "machine/placement.h"
#include "whet/model.hpp"

namespace {

using whet::rt::Error;

/// So that the clock's own time does not count [s].
constexpr double kLeastSample = 50e-6;

struct Free {
  void operator()(void* data) const { std::free(data); }
};
using Memory = std::unique_ptr<float, Free>;

Memory memory_for(const whet_tensor_info& tensor) {
  if (tensor.dtype != WHET_F32) throw Error(std::string(tensor.name) + " is not f32");
  const std::size_t bytes = (static_cast<std::size_t>(tensor.bytes) + 63) / 64 * 64;
  Memory memory(static_cast<float*>(std::aligned_alloc(64, bytes)));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::generate_n(memory.get(), bytes / sizeof(float), [&] { return uniform(random); });
  return memory;
}

/// Seconds of a run: the median of a burst, behind a warm-up.
double burst(whet::rt::Session& session, double seconds) {
  const double begin = bench::now();
  std::size_t warmed = 0;
  while (warmed == 0 || bench::now() - begin < bench::kWarmup * seconds) session.run(), ++warmed;
  const double one = (bench::now() - begin) / static_cast<double>(warmed);
  const int runs = std::max(1, static_cast<int>(std::ceil(kLeastSample / one)));
  std::vector<double> samples;
  for (const double start = bench::now(); bench::now() - start < seconds || samples.size() < bench::kLeastRuns;) {
    const double before = bench::now();
    for (int run = 0; run < runs; ++run) session.run();
    samples.push_back((bench::now() - before) / runs);
  }
  return bench::median(std::move(samples));
}

class Libraries {
 public:
  Libraries(const std::vector<std::string>& paths, std::uint32_t threads) {
    for (const std::string& path : paths) models_.emplace_back(path);
    whet_pool_options options{};
    options.threads = threads;
    const whet::rt::Pool pool(models_.front(), options);
    const whet::rt::Model& exact = models_.front();
    std::vector<std::vector<std::int64_t>> shapes;
    for (std::uint32_t i = 0; i < exact.inputs(); ++i) {
      shapes.emplace_back(exact.input(i).shape, exact.input(i).shape + exact.input(i).rank);
      inputs_.push_back(memory_for(exact.input(i)));
    }
    for (std::uint32_t i = 0; i < exact.outputs(); ++i) outputs_.push_back(memory_for(exact.output(i)));
    for (const whet::rt::Model& model : models_) {
      whet::rt::Session& session = sessions_.emplace_back(model, pool);
      if (&model != &exact) session.set_shapes(shapes);
      for (std::uint32_t i = 0; i < exact.inputs(); ++i) session.set_input(i, inputs_[i].get());
      for (std::uint32_t i = 0; i < exact.outputs(); ++i) session.bind_output(i, outputs_[i].get());
    }
  }

  /// Of the sized libraries' outputs from the exact one's, as a part of the largest magnitude.
  double largest_difference() {
    const std::vector<float> right = answer(sessions_.front());
    double largest = 0, difference = 0;
    for (const float value : right) largest = std::max(largest, std::abs(static_cast<double>(value)));
    for (std::size_t s = 1; s < sessions_.size(); ++s) {
      const std::vector<float> got = answer(sessions_[s]);
      for (std::size_t k = 0; k < got.size(); ++k) {
        const double off = std::abs(static_cast<double>(got[k]) - static_cast<double>(right[k]));
        difference = std::isfinite(off) ? std::max(difference, off) : HUGE_VAL;
      }
    }
    return difference / largest;
  }

  std::string round(double seconds) {
    std::string times;
    for (whet::rt::Session& session : sessions_) times += fmt::format("{:.4f} ", burst(session, seconds) * 1e6);
    return times;
  }

  std::string placement() const {
    const whet_pool_info& pool = sessions_.front().pool_info();
    if (pool.threads < 2 || pool.cores == nullptr) return "-";
    const whet::CorePlacement placement =
        whet::measure_placement(static_cast<int>(pool.cores[0]), static_cast<int>(pool.cores[1]));
    return fmt::format("{:.1f}", placement.round_trip_ns);
  }

 private:
  std::vector<float> answer(whet::rt::Session& session) {
    std::vector<float> values;
    for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
      const std::size_t count = static_cast<std::size_t>(session.output_info(i).bytes) / sizeof(float);
      std::fill_n(outputs_[i].get(), count, std::nanf(""));
    }
    session.run();
    for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
      const std::size_t count = static_cast<std::size_t>(session.output_info(i).bytes) / sizeof(float);
      values.insert(values.end(), outputs_[i].get(), outputs_[i].get() + count);
    }
    return values;
  }

  std::vector<whet::rt::Model> models_;
  std::vector<Memory> inputs_, outputs_;
  std::vector<whet::rt::Session> sessions_;
};

void serve_rounds(const std::vector<std::string>& paths, std::uint32_t threads, double seconds) {
  Libraries libraries(paths, threads);
  bench::serve(fmt::format("ready {:.3g}", libraries.largest_difference()),
               [&](const std::string& command, const std::string&, double) -> std::string {
                 if (command == "round") return libraries.round(seconds);
                 return command == "placement" ? libraries.placement() : "error";
               });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: libraries_at_a_size SECONDS THREADS EXACT.so SIZED.so...\n", stderr);
    return 2;
  }
  try {
    serve_rounds({argv + 3, argv + argc}, static_cast<std::uint32_t>(std::atoi(argv[2])), std::atof(argv[1]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "libraries_at_a_size: %s\n", error.what());
    return 1;
  }
}
