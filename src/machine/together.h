#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace whet {

/// Runs `work(thread)` on every cpu at once, `times` times with a common start, each on a thread that is pinned there; the
/// calling thread is the first. `prepare(thread)` comes before each time and is not timed; it may be empty. The result is
/// the shortest wall time of one round [s].
double best_seconds_together(const std::vector<int>& cpus, int times, const std::function<void(std::size_t)>& work,
                             const std::function<void(std::size_t)>& prepare = {});

}  // namespace whet
