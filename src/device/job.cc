#include "device/job.h"

#include <utility>

namespace whet {

JobReply run_job(const MeasureJob& job, const std::function<MeasureReply(const MeasureRequest&)>& measure) {
  JobReply out;
  double incumbent = 0;
  for (std::size_t number = 0; number < job.replies() && out.on_the_table < 0; ++number) {
    MeasureRequest request = job.requests[number % job.requests.size()];
    if (job.champion) request.policy.incumbent_seconds = number < job.requests.size() ? incumbent : 0;
    MeasureReply reply = measure(request);
    if (job.champion && number == 0) incumbent = incumbent_after(reply);
    if (reply.code == OutcomeCode::device_lost) out.on_the_table = static_cast<int>(number);
    out.replies.push_back(std::move(reply));
  }
  const MeasureReply untried{OutcomeCode::device_lost, out.replies.back().message};
  out.replies.resize(job.replies(), untried);
  return out;
}

}  // namespace whet
