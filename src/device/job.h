#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "runner/messages.h"

namespace whet {

/// What a device measures without asking back: schedules of one task. Machines differ, and one machine differs from
/// minute to minute; a champion, which runs with the others, tells by how much.
struct MeasureJob {
  std::vector<MeasureRequest> requests;  ///< run in order
  /// The first request is of the schedule that the others have to beat: its time is their incumbent, whatever their
  /// policies say, and it runs again after them.
  bool champion = false;

  /// How many replies answer it.
  std::size_t replies() const { return requests.size() + (champion ? 1 : 0); }
};

struct JobReply {
  /// One a request, then the champion's second where there is one. What was not tried is device_lost.
  std::vector<MeasureReply> replies;
  /// The number of the reply that was being waited for when the device was lost; -1: none.
  int on_the_table = -1;
};

/// The time that the others have to beat, by the champion's first reply [s]; 0: none.
inline double incumbent_after(const MeasureReply& champion) {
  return champion.code == OutcomeCode::ok && !champion.seconds.empty() ? *std::ranges::min_element(champion.seconds)
                                                                       : 0;
}

/// Runs a job by single requests. A lost device ends it.
JobReply run_job(const MeasureJob&, const std::function<MeasureReply(const MeasureRequest&)>& measure);

}  // namespace whet
