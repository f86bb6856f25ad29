#include "machine/together.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/parallel.h"
#include "machine/cores.h"

namespace whet {

double best_seconds_together(const std::vector<int>& cpus, int times, const std::function<void(std::size_t)>& work,
                             const std::function<void(std::size_t)>& prepare) {
  const int count = static_cast<int>(cpus.size());
  std::atomic<int> arrived{0};
  // Between cores that are less than a scheduler's tick apart: waiting threads spin.
  const auto meet = [&](int round) {
    arrived.fetch_add(1);
    while (arrived.load() < count * round) std::this_thread::yield();
  };
  double best = 1e30;
  const auto body = [&](std::size_t k) {
    const ScopedPin pin(cpus[k]);
    for (int i = 0; i < times; ++i) {
      if (prepare) prepare(k);
      meet(2 * i + 1);
      const double start = seconds_now();
      work(k);
      meet(2 * i + 2);
      if (k == 0) best = std::min(best, seconds_now() - start);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t k = 1; k < cpus.size(); ++k) threads.emplace_back(body, k);
  body(0);
  for (std::thread& thread : threads) thread.join();
  return best;
}

}  // namespace whet
