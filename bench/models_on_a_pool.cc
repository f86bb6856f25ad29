// Throughput of several models on one pool, each called from a thread of its own, against that of one model.
//
//   models_on_a_pool MODEL.so CALLERS THREADS SECONDS
//
// Opens the library once a caller. Prints the sum of the callers' throughputs divided by that of one caller alone.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "whet/model.hpp"

namespace {

/// Inferences a second of `callers` threads together.
double throughput(std::vector<whet::rt::Session>& sessions, std::size_t callers, double seconds) {
  std::atomic<long> runs{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      for (; !stop; ++runs) sessions[i].run();
    });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(runs) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: models_on_a_pool MODEL.so CALLERS THREADS SECONDS\n", stderr);
    return 2;
  }
  const std::size_t callers = std::strtoul(argv[2], nullptr, 10);
  const double seconds = std::strtod(argv[4], nullptr);
  try {
    std::vector<whet::rt::Model> models;
    for (std::size_t i = 0; i < callers; ++i) models.emplace_back(argv[1]);
    whet_pool_options options{};
    options.threads = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
    const whet::rt::Pool pool(models.front(), options);
    std::vector<whet::rt::Session> sessions;
    std::vector<std::vector<char>> inputs;
    for (const whet::rt::Model& model : models) {
      whet::rt::Session& session = sessions.emplace_back(model, pool);
      for (std::uint32_t i = 0; i < model.inputs(); ++i)
        session.set_input(i, inputs.emplace_back(static_cast<std::size_t>(model.input(i).bytes)).data());
      session.run();
    }
    throughput(sessions, 1, seconds / 4);  // warm-up
    const double one = throughput(sessions, 1, seconds), all = throughput(sessions, callers, seconds);
    std::printf("%.4f\n", all / one);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "models_on_a_pool: %s\n", error.what());
    return 1;
  }
}
