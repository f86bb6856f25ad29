#pragma once

#include <string>

#include "base/result.h"
#include "device/local/zygote.h"
#include "records/record_base.h"
#include "workflow/events.h"
#include "workflow/repro.h"

namespace whet {

/// `whet repro BASE`: which of a network's entries stay.
struct BaseQuestion {
  std::string origin;  ///< the network, as the base calls it; "": by the model's name
  std::string output;  ///< the base without the others; "": none is written
  double within = 0.05;
  bool json = false, verbose = false;
};

/// Measures, prints, and writes the base that is admitted. Gives the exit code.
Result<int> remeasure_base(const ReproSettings&, const BaseQuestion&, const RecordBase&, Workplace&, Zygote&,
                           EventStream* events);

/// On a terminal: how far it is. The line is gone when all is done.
void show_progress(std::size_t done, std::size_t all, const char* what);

}  // namespace whet
