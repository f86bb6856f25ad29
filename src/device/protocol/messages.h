#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "artifact/kernel_args.h"
#include "device/protocol/cpu/description.h"
#include "device/protocol/frames.h"
#include "device/spots.h"
#include "runner/messages.h"

namespace whet {

/// The first message of both ends.
struct SessionHello {
  std::uint16_t lowest = kSessionLowest, highest = kSessionHighest;
  std::string program;  ///< version of whet
  std::uint32_t kernel_args = WHET_KERNEL_ARGS_VERSION;
  std::string details;  ///< an encoded DeviceDescription, read where a version is shared; "" from a host
};

struct SessionOpen {
  std::string user;          ///< for those who wait for the slot
  double dead_seconds = 10;  ///< without a byte after which the device ends
};

/// One request of a job.
using SessionRequest = std::variant<MeasureRequest, CheckRequest, SpotsRequest>;
struct SessionJob {
  double kernel_seconds = 10;  ///< limit of each request
  std::vector<SessionRequest> requests;
  bool champion = false;  ///< the first request is a champion's (device/job.h): it has a second item, after all others

  /// How many items answer it.
  std::size_t items() const { return requests.size() + (champion ? 1 : 0); }
  /// The most that all of it may take, for limits.
  double most_seconds() const;
  /// The request that item `number` answers.
  const SessionRequest& request(std::size_t number) const { return requests[number % requests.size()]; }
};
struct SessionItem {
  std::uint32_t number = 0;  ///< of the request in its job, from 0; their count for the champion's second
  std::variant<MeasureReply, CheckReply, SpotsReply> reply;
};
struct SessionWaiting {
  double seconds = 0;
  std::string why;
};

// Texts that people will read are short and printable.
extern template struct Codec<SessionHello>;
extern template struct Codec<SessionOpen>;
extern template struct Codec<SessionJob>;
extern template struct Codec<SessionItem>;
extern template struct Codec<SessionWaiting>;
/// `most_requests`: a longer job is none.
std::optional<SessionJob> decode_session_job(std::string_view, std::uint32_t most_requests);
/// The number of a `starting`, or what a ping and its pong repeat.
extern template struct Codec<std::uint64_t>;

}  // namespace whet
