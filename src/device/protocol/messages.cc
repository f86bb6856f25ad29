#include "device/protocol/messages.h"

#include "device/protocol/bounds.h"
#include "device/protocol/cpu/conditions.h"

namespace whet {
namespace {

/// Later versions may add to the end of a hello.
struct MayBeLonger {
  static void write(Packer&, const SessionHello&) {}
  static void read(Unpacker& u, SessionHello&) { u.take(u.left()); }
};
bool are_versions(const SessionHello& hello) { return hello.lowest <= hello.highest; }

bool are_spots(const SpotsRequest& request) { return is_sane(request); }
bool is_job(const SessionJob& job) {
  return !job.requests.empty() && (!job.champion || std::holds_alternative<MeasureRequest>(job.requests.front()));
}

/// What the machine was like, behind the answer to a measurement.
struct Conditions {
  static void write(Packer& p, const SessionItem& item) {
    if (const auto* reply = std::get_if<MeasureReply>(&item.reply)) p.put(reply->conditions);
  }
  static void read(Unpacker& u, SessionItem& item) {
    if (auto* reply = std::get_if<MeasureReply>(&item.reply)) u.get(reply->conditions);
  }
};

}  // namespace

/// An answer by spots may run two kernels.
double SessionJob::most_seconds() const {
  double seconds = 0;
  for (std::size_t i = 0; i < items(); ++i)
    seconds += std::holds_alternative<SpotsRequest>(request(i)) ? 2 * kernel_seconds : kernel_seconds;
  return seconds;
}

template <>
constexpr auto kRow<AskedOutput> = row<&AskedOutput::dtype, &AskedOutput::row_bytes, &AskedOutput::used_bytes,
                                       &AskedOutput::passed, &AskedOutput::tolerance, &AskedOutput::spots>;
template <>
constexpr auto kRow<SpotsRequest> =
    row<as_text<&SpotsRequest::check>, as_text<&SpotsRequest::passed>, &SpotsRequest::outputs, are_spots>;
template <>
constexpr auto kRow<SeenOutput> = row<&SeenOutput::spots, &SeenOutput::stray_row, &SeenOutput::max_abs,
                                      &SeenOutput::largest, &SeenOutput::where, &SeenOutput::mismatches>;
template <>
constexpr auto kRow<SpotsReply> =
    row<&SpotsReply::code, &SpotsReply::message, &SpotsReply::compared, &SpotsReply::outputs>;
template <>
constexpr auto kRow<SessionHello> = row<widened<std::uint32_t, &SessionHello::lowest, &SessionHello::highest>,
                                        are_versions, where<is_short_text, &SessionHello::program>,
                                        &SessionHello::kernel_args, &SessionHello::details, MayBeLonger{}>;
template <>
constexpr auto kRow<SessionOpen> =
    row<where<is_short_text, &SessionOpen::user>, where<is_session_time, &SessionOpen::dead_seconds>>;
template <>
constexpr auto kRow<SessionJob> =
    row<where<is_session_time, &SessionJob::kernel_seconds>, &SessionJob::requests, &SessionJob::champion, is_job>;
template <>
constexpr auto kRow<SessionItem> = row<&SessionItem::number, &SessionItem::reply, Conditions{}>;
template <>
constexpr auto kRow<SessionWaiting> =
    row<where<is_session_time, &SessionWaiting::seconds>, where<is_short_text, &SessionWaiting::why>>;

template struct Codec<SpotsRequest>;
template struct Codec<SpotsReply>;
template struct Codec<SessionHello>;
template struct Codec<SessionOpen>;
template struct Codec<SessionJob>;
template struct Codec<SessionItem>;
template struct Codec<SessionWaiting>;
template struct Codec<std::uint64_t>;

std::optional<SessionJob> decode_session_job(std::string_view bytes, std::uint32_t most_requests) {
  std::optional<SessionJob> job = decode<SessionJob>(bytes);
  return job && job->requests.size() <= most_requests ? std::move(job) : std::nullopt;
}

}  // namespace whet
