#include "device/remote/session_jobs.h"

#include <utility>

namespace whet {

SessionJob session_job(const MeasureJob& job, double kernel_seconds) {
  SessionJob asked{kernel_seconds, {}, job.champion};
  asked.requests.assign(job.requests.begin(), job.requests.end());
  return asked;
}

std::vector<MeasureReply> measure_replies(SessionItems items, OutcomeCode code, const std::string& why) {
  std::vector<MeasureReply> replies;
  for (auto& item : items)
    replies.push_back(item ? std::get<MeasureReply>(std::move(item->reply)) : MeasureReply{code, why});
  return replies;
}

CheckReply check_reply(SessionItems items, OutcomeCode code, const std::string& why) {
  return items.front() ? std::get<CheckReply>(std::move(items.front()->reply)) : CheckReply{code, why, {}};
}

SpotsReply spots_reply(SessionItems items, OutcomeCode code, const std::string& why) {
  return items.front() ? std::get<SpotsReply>(std::move(items.front()->reply)) : SpotsReply{code, why, false, {}};
}

SessionItem crashed_item(const SessionRequest& request, std::size_t number, const std::string& message) {
  SessionItem item{static_cast<std::uint32_t>(number), {}};
  if (std::holds_alternative<MeasureRequest>(request))
    item.reply = MeasureReply{OutcomeCode::crash, message};
  else if (std::holds_alternative<CheckRequest>(request))
    item.reply = CheckReply{OutcomeCode::crash, message, {}};
  else
    item.reply = SpotsReply{OutcomeCode::crash, message, false, {}};
  return item;
}

}  // namespace whet
