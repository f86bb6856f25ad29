#pragma once

#include <functional>

#include "trial/placement.h"

namespace whet {

/// Looks now and then where the processors that run kernels lie. A look takes at most a hundredth of the time; between two looks the
/// last one counts. One thread.
class PlacementWatch {
 public:
  ///   probe  a round trip [ns]; 0: it was disturbed. Empty: nothing is known
  ///   clock  seconds, never backwards
  PlacementWatch(std::function<double()> probe, std::function<double()> clock);

  ProcessorPlacement now();

 private:
  void look();

  std::function<double()> probe_, clock_;
  ProcessorPlacement last_;
  double next_ = 0;  ///< second of the next look
};

}  // namespace whet
