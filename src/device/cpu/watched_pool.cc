#include "device/cpu/watched_pool.h"

#include <algorithm>

#include "runtime/clock.h"

namespace whet {
namespace {

/// Barriers of a run that fit without more memory: those of a step, and those inside of a kernel.
constexpr std::size_t kBarriers = 4096;

}  // namespace

WatchedPool::WatchedPool(whet_pool* inner) : inner_(inner), notes_(inner->workers) {
  head_.head_version = std::min(inner->head_version, 3u);
  head_.workers = inner->workers;
  head_.info = inner->info;
  head_.run = [](whet_pool* pool, void (*job)(void*, std::uint32_t), void* context) {
    whet_pool* const inner = of(pool).inner_;
    return inner->run(inner, job, context);
  };
  head_.barrier = [](whet_pool* pool, std::uint32_t worker) {
    WatchedPool& self = of(pool);
    std::vector<std::uint64_t>& times = self.notes_[worker].times;
    times.push_back(now_ns());
    self.inner_->barrier(self.inner_, worker);
    times.push_back(now_ns());
  };
  head_.destroy = [](whet_pool*) {};  // whoever made them gives both back
  head_.run_work = [](whet_pool* pool, const whet_work* work) {
    whet_pool* const inner = of(pool).inner_;
    return inner->run_work(inner, work);
  };
  head_.scratch = [](whet_pool* pool, std::uint64_t bytes) {
    whet_pool* const inner = of(pool).inner_;
    return inner->scratch(inner, bytes);
  };
  head_.self = this;
  for (Notes& notes : notes_) notes.times.reserve(2 * kBarriers);
}

void WatchedPool::forget() {
  for (Notes& notes : notes_) notes.times.clear();
}

}  // namespace whet
