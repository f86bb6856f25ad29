#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "artifact/outcome_code.h"
#include "device/job.h"
#include "device/protocol/messages.h"

namespace whet {

/// The items of a session's job, in order; nothing where no answer came.
using SessionItems = std::vector<std::optional<SessionItem>>;

/// A job as a session carries it.
///   kernel_seconds  the limit of each request
SessionJob session_job(const MeasureJob&, double kernel_seconds);

/// The replies to that job. Where no answer came, the reply is this code and why.
std::vector<MeasureReply> measure_replies(SessionItems, OutcomeCode, const std::string& why);
/// The reply to a job that is one check.
CheckReply check_reply(SessionItems, OutcomeCode, const std::string& why);
/// The same of a check by spots.
SpotsReply spots_reply(SessionItems, OutcomeCode, const std::string& why);

/// The answer to a request that took devices down: a crash.
SessionItem crashed_item(const SessionRequest&, std::size_t number, const std::string& message);

}  // namespace whet
