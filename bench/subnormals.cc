// What it costs that kernels keep subnormal numbers: one compiled model, whose runs alternately keep them and take them
// for 0.
//
//   subnormals MODEL.so SECONDS INPUT...
//
// An INPUT is a file whose last bytes are the tensor (.npy), `numbers` (from 0 to 1) or `subnormal` (numbers below the
// normal ones). It runs on one thread, and times are of that thread's processor, so that other programs count little.
// Prints a line of JSON. `ratio`: the median of the pairs' ratios kept / zero; `noise`: the same of pairs that both keep
// them; `least`: the ratio of the fastest of each. `operands`, `results`: whether an instruction of a run that keeps them
// had a subnormal operand, or a result that was rounded to a subnormal number or to 0. Where neither is so, the two do
// the same.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "runtime/cpu/float_mode.h"
#include "runtime/cpu/pool.h"
#include "whet/model.h"

namespace {

using whet::Subnormals;

[[noreturn]] void fail(const char* sentence) {
  std::fprintf(stderr, "subnormals: %s\n", sentence);
  std::exit(1);
}

/// A pool in front of another one, whose workers compute in `mode`.
struct ModePool : whet_pool {
  whet_pool* inner;
  Subnormals mode = Subnormals::kept;
  std::uint32_t noted = 0;  ///< the exceptions of all runs
  void (*job)(void*, std::uint32_t);
  void* context;

  explicit ModePool(whet_pool* of) : whet_pool{}, inner(of) {
    head_version = 1;  // it has what follows and no more
    workers = of->workers;
    info = of->info;
    run = [](whet_pool* pool, void (*job)(void*, std::uint32_t), void* context) {
      auto& self = *static_cast<ModePool*>(pool);
      self.job = job, self.context = context;
      return self.inner->run(self.inner, in_mode, &self);
    };
    barrier = [](whet_pool* pool, std::uint32_t worker) {
      whet_pool* const inner = static_cast<ModePool*>(pool)->inner;
      inner->barrier(inner, worker);
    };
    destroy = [](whet_pool*) {};
  }
  static void in_mode(void* context, std::uint32_t worker) {
    auto& self = *static_cast<ModePool*>(context);
    const whet::FloatMode mode(self.mode);
    self.job(self.context, worker);
    self.noted |= __builtin_ia32_stmxcsr();
  }
};

std::vector<char> contents(const std::string& what, const whet_tensor_info& info) {
  std::vector<char> bytes(static_cast<std::size_t>(info.bytes) + 64);
  if (what == "numbers" || what == "subnormal") {
    if (info.dtype != WHET_F32) return bytes;
    std::mt19937 random(1);
    for (std::int64_t i = 0; i < info.bytes / 4; ++i) {
      const float value = static_cast<float>(random() >> 8) * 0x1p-24f * (what == "subnormal" ? 0x1p-126f : 1.0f);
      std::memcpy(&bytes[static_cast<std::size_t>(4 * i)], &value, 4);
    }
    return bytes;
  }
  std::ifstream file(what, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  if (all.size() < static_cast<std::size_t>(info.bytes)) fail("an input's file is shorter than its tensor");
  std::memcpy(bytes.data(), all.data() + all.size() - info.bytes, static_cast<std::size_t>(info.bytes));
  return bytes;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double processor_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds of `runs` inferences.
double time_of(const whet_api* api, whet_session* session, ModePool& pool, Subnormals mode, int runs) {
  pool.mode = mode;
  const double begin = processor_seconds();
  whet_error error;
  for (int i = 0; i < runs; ++i)
    if (api->session_run(session, &error) != 0) fail(error.message);
  return processor_seconds() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) fail("usage: subnormals MODEL.so SECONDS INPUT...");
  whet_error error;
  whet_library library;
  whet_model* model = nullptr;
  whet_pool* workers = nullptr;
  whet_session* session = nullptr;
  whet_pool_options options{};
  options.threads = 1;
  if (whet_library_open(argv[1], 0, &library, &error) != 0) fail(error.message);
  const whet_api* api = library.api;
  if (api->model_open(nullptr, &model, &error) != 0 || api->pool_create(&options, &workers, &error) != 0)
    fail(error.message);
  ModePool pool(workers);
  if (api->session_create(model, &pool, &session, &error) != 0) fail(error.message);
  std::vector<std::vector<char>> inputs;
  for (std::uint32_t i = 0; i < api->model_info(model)->inputs; ++i) {
    inputs.push_back(contents(argv[std::min(static_cast<int>(i) + 3, argc - 1)], *api->model_input(model, i)));
    if (api->session_set_input(session, i, inputs.back().data(), nullptr, &error) != 0) fail(error.message);
  }
  const auto time = [&](Subnormals mode, int runs) { return time_of(api, session, pool, mode, runs); };
  time(Subnormals::kept, 3);
  const std::uint32_t noted = pool.noted;
  const int runs = std::max(1, static_cast<int>(0.002 / time(Subnormals::kept, 1)));  // a piece takes 2 ms or more
  std::vector<double> ratios, noise, kept, zero;
  double spent = 0;
  for (const double seconds = std::atof(argv[2]); spent < seconds || ratios.size() < 15;) {
    // The order turns from pair to pair.
    const bool first = ratios.size() % 2 == 0;
    double a = first ? time(Subnormals::kept, runs) : 0;
    const double b = time(Subnormals::zero, runs);
    if (!first) a = time(Subnormals::kept, runs);
    const double c = time(Subnormals::kept, runs), d = time(Subnormals::kept, runs);
    ratios.push_back(a / b), noise.push_back(c / d);
    kept.push_back(a), zero.push_back(b);
    spent += a + b + c + d;
  }
  const auto least = [](const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); };
  constexpr std::uint32_t kOperand = 0x02, kResult = 0x10;  // of MXCSR
  std::printf(
      "{\"ms\": %.5g, \"ratio\": %.4f, \"least\": %.4f, \"noise\": %.4f, \"pairs\": %zu, \"runs\": %d, "
      "\"operands\": %s, \"results\": %s}\n",
      1e3 * least(zero) / runs, median(ratios), least(kept) / least(zero), median(noise), ratios.size(), runs,
      noted & kOperand ? "true" : "false", noted & kResult ? "true" : "false");
  api->session_destroy(session);
  api->pool_destroy(workers);
  api->model_close(model);
  whet_library_close(&library);
  return 0;
}
