#include "device/protocol/messages.h"

#include "device/protocol/bounds.h"
#include "device/protocol/cpu/conditions.h"
#include "runner/wire.h"

namespace whet {
namespace {

/// Also the places in the variants.
enum class RequestKind : std::uint8_t { measure = 0, check = 1, spots = 2 };

std::string encode_request(const MeasureRequest& request) { return encode(request); }
std::string encode_request(const CheckRequest& request) { return encode(request); }
std::string encode_request(const SpotsRequest& request) {
  Packer p;
  p.text(encode(request.check));
  p.text(request.passed ? encode(*request.passed) : "");
  p.u64(request.outputs.size());
  for (const AskedOutput& asked : request.outputs) {
    p.u8(static_cast<std::uint8_t>(asked.dtype));
    p.u64(asked.row_bytes);
    p.u64(asked.used_bytes);
    p.u32(asked.passed);
    p.f64(asked.tolerance);
    p.u64(asked.spots.size());
    for (const std::uint32_t spot : asked.spots) p.u32(spot);
  }
  return p.take();
}
std::optional<SpotsRequest> decode_spots_request(std::string_view bytes) {
  Unpacker u(bytes);
  SpotsRequest request;
  auto check = decode_check_request(u.text());
  const std::string passed = u.text();
  if (!check) return std::nullopt;
  request.check = std::move(*check);
  if (!passed.empty()) {
    request.passed = decode_check_request(passed);
    if (!request.passed) return std::nullopt;
  }
  for (std::size_t n = u.count(37); n > 0 && u.ok(); --n) {
    AskedOutput asked;
    const std::uint8_t dtype = u.u8();
    if (dtype > static_cast<std::uint8_t>(DType::boolean)) return std::nullopt;
    asked.dtype = static_cast<DType>(dtype);
    asked.row_bytes = u.u64();
    asked.used_bytes = u.u64();
    asked.passed = u.u32();
    asked.tolerance = u.f64();
    for (std::size_t spots = u.count(4); spots > 0; --spots) asked.spots.push_back(u.u32());
    request.outputs.push_back(std::move(asked));
  }
  return u.done() && is_sane(request) ? std::optional(std::move(request)) : std::nullopt;
}

std::string encode_reply(const MeasureReply& reply) { return encode(reply); }
std::string encode_reply(const CheckReply& reply) { return encode(reply); }
std::string encode_reply(const SpotsReply& reply) {
  Packer p;
  p.u8(static_cast<std::uint8_t>(reply.code));
  p.text(reply.message);
  p.u8(reply.compared ? 1 : 0);
  p.u64(reply.outputs.size());
  for (const SeenOutput& seen : reply.outputs) {
    p.text(seen.spots);
    p.i64(seen.stray_row);
    p.f64(seen.max_abs);
    p.f64(seen.largest);
    p.i64(seen.where);
    p.i64(seen.mismatches);
  }
  return p.take();
}
std::optional<SpotsReply> decode_spots_reply(std::string_view bytes) {
  Unpacker u(bytes);
  SpotsReply reply;
  const std::optional<OutcomeCode> code = outcome_code(u.u8());
  reply.message = u.text();
  const std::uint8_t compared = u.u8();
  reply.compared = compared == 1;
  for (std::size_t n = u.count(48); n > 0 && u.ok(); --n) {
    SeenOutput seen;
    seen.spots = u.text();
    seen.stray_row = u.i64();
    seen.max_abs = u.f64();
    seen.largest = u.f64();
    seen.where = u.i64();
    seen.mismatches = u.i64();
    reply.outputs.push_back(std::move(seen));
  }
  if (!u.done() || !code || compared > 1) return std::nullopt;
  reply.code = *code;
  return reply;
}

/// Adds what was decoded to a variant's list, or assigns it. False where there is nothing.
template <typename Decoded, typename Place>
bool put(Decoded decoded, Place& place) {
  if (decoded) place = std::move(*decoded);
  return decoded.has_value();
}

}  // namespace

std::string encode(const SessionHello& hello) {
  Packer p;
  p.u32(hello.lowest);
  p.u32(hello.highest);
  p.text(hello.program);
  p.u32(hello.kernel_args);
  p.text(hello.details);
  return p.take();
}
/// Later versions may add to the end of a hello.
std::optional<SessionHello> decode_session_hello(std::string_view bytes) {
  Unpacker u(bytes);
  SessionHello hello;
  const std::uint32_t lowest = u.u32(), highest = u.u32();
  hello.program = u.text();
  hello.kernel_args = u.u32();
  hello.details = u.text();
  if (!u.ok() || lowest > highest || highest > 0xffff || !is_short_text(hello.program)) return std::nullopt;
  hello.lowest = static_cast<std::uint16_t>(lowest);
  hello.highest = static_cast<std::uint16_t>(highest);
  return hello;
}

std::string encode(const SessionOpen& open) {
  Packer p;
  p.text(open.user);
  p.f64(open.dead_seconds);
  return p.take();
}
std::optional<SessionOpen> decode_session_open(std::string_view bytes) {
  Unpacker u(bytes);
  SessionOpen open;
  open.user = u.text();
  open.dead_seconds = u.f64();
  if (!u.done() || !is_short_text(open.user) || !is_session_time(open.dead_seconds)) return std::nullopt;
  return open;
}

/// An answer by spots may run two kernels.
double SessionJob::most_seconds() const {
  double seconds = 0;
  for (std::size_t i = 0; i < items(); ++i)
    seconds += std::holds_alternative<SpotsRequest>(request(i)) ? 2 * kernel_seconds : kernel_seconds;
  return seconds;
}

std::string encode(const SessionJob& job) {
  Packer p;
  p.f64(job.kernel_seconds);
  p.u64(job.requests.size());
  for (const SessionRequest& request : job.requests) {
    p.u8(static_cast<std::uint8_t>(request.index()));
    p.text(std::visit([](const auto& r) { return encode_request(r); }, request));
  }
  p.u8(job.champion ? 1 : 0);
  return p.take();
}
std::optional<SessionJob> decode_session_job(std::string_view bytes, std::uint32_t most_requests) {
  Unpacker u(bytes);
  SessionJob job;
  job.kernel_seconds = u.f64();
  const std::size_t count = u.count(9);
  if (!u.ok() || count == 0 || count > most_requests || !is_session_time(job.kernel_seconds)) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<RequestKind>(u.u8());
    const std::string payload = u.text();
    SessionRequest request;
    const bool fits = kind == RequestKind::measure ? put(decode_measure_request(payload), request)
                      : kind == RequestKind::check ? put(decode_check_request(payload), request)
                      : kind == RequestKind::spots ? put(decode_spots_request(payload), request)
                                                   : false;
    if (!fits) return std::nullopt;
    job.requests.push_back(std::move(request));
  }
  const std::uint8_t champion = u.u8();
  job.champion = champion == 1;
  if (!u.done() || champion > 1 || (job.champion && !std::holds_alternative<MeasureRequest>(job.requests.front())))
    return std::nullopt;
  return job;
}

std::string encode(const SessionItem& item) {
  Packer p;
  p.u32(item.number);
  p.u8(static_cast<std::uint8_t>(item.reply.index()));
  p.text(std::visit([](const auto& r) { return encode_reply(r); }, item.reply));
  if (const auto* reply = std::get_if<MeasureReply>(&item.reply)) pack(p, reply->conditions);
  return p.take();
}
std::optional<SessionItem> decode_session_item(std::string_view bytes) {
  Unpacker u(bytes);
  SessionItem item;
  item.number = u.u32();
  const auto kind = static_cast<RequestKind>(u.u8());
  const std::string payload = u.text();
  if (kind == RequestKind::measure) {
    auto reply = decode_measure_reply(payload);
    auto conditions = unpack_conditions(u);
    if (!reply || !conditions || !u.done()) return std::nullopt;
    reply->conditions = std::move(*conditions);
    item.reply = std::move(*reply);
    return item;
  }
  const bool fits = kind == RequestKind::check   ? put(decode_check_reply(payload), item.reply)
                    : kind == RequestKind::spots ? put(decode_spots_reply(payload), item.reply)
                                                 : false;
  return fits && u.done() ? std::optional(std::move(item)) : std::nullopt;
}

std::string encode(const SessionWaiting& waiting) {
  Packer p;
  p.f64(waiting.seconds);
  p.text(waiting.why);
  return p.take();
}
std::optional<SessionWaiting> decode_session_waiting(std::string_view bytes) {
  Unpacker u(bytes);
  SessionWaiting waiting;
  waiting.seconds = u.f64();
  waiting.why = u.text();
  if (!u.done() || !is_session_time(waiting.seconds) || !is_short_text(waiting.why)) return std::nullopt;
  return waiting;
}

std::string encode_number(std::uint64_t number) {
  Packer p;
  p.u64(number);
  return p.take();
}
std::optional<std::uint64_t> decode_number(std::string_view bytes) {
  Unpacker u(bytes);
  const std::uint64_t number = u.u64();
  return u.done() ? std::optional(number) : std::nullopt;
}

}  // namespace whet
