#include "trial/outcome.h"

#include <algorithm>
#include <limits>

namespace whet {

double Outcome::best_seconds() const {
  if (!ok() || seconds.empty()) return std::numeric_limits<double>::infinity();
  return *std::min_element(seconds.begin(), seconds.end()) / pace;
}

}  // namespace whet
