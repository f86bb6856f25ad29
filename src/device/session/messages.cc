#include "device/session/messages.h"

#include "device/session/bounds.h"
#include "device/session/cpu/conditions.h"
#include "runner/wire.h"

namespace whet {
namespace {

enum class RequestKind : std::uint8_t { measure = 0, check = 1 };

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

std::string encode(const SessionJob& job) {
  Packer p;
  p.f64(job.kernel_seconds);
  p.u64(job.requests.size());
  for (const SessionRequest& request : job.requests) {
    const bool measures = std::holds_alternative<MeasureRequest>(request);
    p.u8(static_cast<std::uint8_t>(measures ? RequestKind::measure : RequestKind::check));
    p.text(std::visit([](const auto& r) { return encode(r); }, request));
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
    if (kind == RequestKind::measure) {
      auto request = decode_measure_request(payload);
      if (!request) return std::nullopt;
      job.requests.emplace_back(std::move(*request));
    } else {
      auto request = decode_check_request(payload);
      if (kind != RequestKind::check || !request) return std::nullopt;
      job.requests.emplace_back(std::move(*request));
    }
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
  p.text(std::visit([](const auto& r) { return encode(r); }, item.reply));
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
  auto reply = decode_check_reply(payload);
  if (kind != RequestKind::check || !reply || !u.done()) return std::nullopt;
  item.reply = std::move(*reply);
  return item;
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
