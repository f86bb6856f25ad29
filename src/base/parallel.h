#pragma once

#include <functional>

namespace whet {

/// A clock for reports.
double seconds_now();

/// Calls body(0) ... body(count - 1) on up to `jobs` threads (0: one a processor). The caller's thread is one of them.
void parallel_for(int count, int jobs, const std::function<void(int)>& body);

}  // namespace whet
