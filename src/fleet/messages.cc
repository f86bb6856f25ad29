#include "fleet/messages.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "artifact/made_weights.h"
#include "device/protocol/bounds.h"
#include "runner/wire.h"

namespace whet {
namespace {

/// Items of an answer: many times what a session's job has requests, or compiled models have answers in an hour.
constexpr std::size_t kMostItems = 65536;
static_assert(kFilePieceBytes % kMadePage == 0, "a piece begins at a page's beginning");

/// False for another version, whose other fields are not read.
bool is_of_this_version(Unpacker& u) { return u.u32() == kFleetVersion; }

}  // namespace

const char* name_of(Presence::State state) {
  switch (state) {
    case Presence::State::idle:
      return "idle";
    case Presence::State::busy:
      return "busy";
    case Presence::State::lost:
      break;
  }
  return "lost";
}

std::string encode(const FleetJob& job) {
  Packer p;
  p.u32(kFleetVersion);
  p.u32(job.session);
  p.text(job.owner);
  p.text(job.job);
  p.u8(static_cast<std::uint8_t>(job.kind));
  return p.take();
}
std::optional<FleetJob> decode_fleet_job(std::string_view bytes) {
  if (bytes.size() > kMostJobBytes) return std::nullopt;
  Unpacker u(bytes);
  FleetJob job;
  if (!is_of_this_version(u)) return std::nullopt;
  job.session = u.u32();
  job.owner = u.text();
  job.job = u.text();
  const std::uint8_t kind = u.u8();
  if (!u.done() || !is_short_text(job.owner) || kind > static_cast<std::uint8_t>(FleetJob::Kind::models))
    return std::nullopt;
  job.kind = static_cast<FleetJob::Kind>(kind);
  return job;
}

std::string encode(const FleetAnswer& answer) {
  Packer p;
  p.u32(kFleetVersion);
  p.u8(static_cast<std::uint8_t>(answer.kind));
  p.text(answer.unit);
  p.text(answer.message);
  p.u32(static_cast<std::uint32_t>(answer.started + 1));
  p.u64(answer.items.size());
  for (const std::string& item : answer.items) p.text(item);
  p.text(answer.device);
  return p.take();
}
std::optional<FleetAnswer> decode_fleet_answer(std::string_view bytes) {
  Unpacker u(bytes);
  FleetAnswer answer;
  if (!is_of_this_version(u)) return std::nullopt;
  const std::uint8_t kind = u.u8();
  answer.unit = u.text();
  answer.message = u.text();
  const std::uint32_t started = u.u32();
  const std::size_t count = u.count(sizeof(std::uint64_t));
  if (!u.ok() || kind > static_cast<std::uint8_t>(FleetAnswer::Kind::lacks) || count > kMostItems ||
      started > kMostItems || !is_short_text(answer.unit) || !is_short_text(answer.message))
    return std::nullopt;
  answer.kind = static_cast<FleetAnswer::Kind>(kind);
  answer.started = static_cast<int>(started) - 1;
  for (std::size_t i = 0; i < count; ++i) answer.items.push_back(u.text());
  answer.device = u.text();
  if (!u.done() || !is_short_text(answer.device)) return std::nullopt;
  return answer;
}

std::string encode(const FleetPart& part) {
  Packer p;
  p.u32(kFleetVersion);
  p.u64(part.run);
  p.u32(part.parts);
  p.text(part.bytes);
  return p.take();
}
std::optional<FleetPart> decode_fleet_part(std::string_view bytes) {
  Unpacker u(bytes);
  FleetPart part;
  if (!is_of_this_version(u)) return std::nullopt;
  part.run = u.u64();
  part.parts = u.u32();
  part.bytes = u.text();
  if (!u.done() || part.parts == 0 || part.parts > kMostAnswerParts || part.bytes.size() > kAnswerPartBytes)
    return std::nullopt;
  return part;
}

std::string encode(const Presence& presence) {
  Packer p;
  p.u32(kFleetVersion);
  p.u8(static_cast<std::uint8_t>(presence.state));
  p.text(presence.agent);
  p.text(presence.owner);
  p.text(presence.why);
  p.u64(presence.jobs);
  p.text(encode(presence.device));
  p.f64(presence.ghz);
  p.f64(presence.celsius);
  p.u8(presence.throttled ? 1 : 0);
  return p.take();
}
std::optional<Presence> decode_presence(std::string_view bytes) {
  Unpacker u(bytes);
  Presence presence;
  if (!is_of_this_version(u)) return std::nullopt;
  const std::uint8_t state = u.u8();
  presence.agent = u.text();
  presence.owner = u.text();
  presence.why = u.text();
  presence.jobs = u.u64();
  auto device = decode_device_description(u.text());
  presence.ghz = u.f64();
  presence.celsius = u.f64();
  const std::uint8_t throttled = u.u8();
  presence.throttled = throttled == 1;
  if (!u.done() || throttled > 1 || !is_session_time(presence.ghz) || !is_session_time(presence.celsius) || !device ||
      state > static_cast<std::uint8_t>(Presence::State::lost) || !is_short_text(presence.agent) ||
      !is_short_text(presence.owner) || !is_short_text(presence.why))
    return std::nullopt;
  presence.state = static_cast<Presence::State>(state);
  presence.device = std::move(*device);
  return presence;
}

std::string encode_file_piece(std::string_view bytes) {
  static const std::array<char, 2 * kMadePage> made = made_weights();
  const auto is_made = [&](std::size_t at) {
    return at + kMadePage <= bytes.size() && std::memcmp(bytes.data() + at, made.data(), kMadePage) == 0;
  };
  Packer p;
  p.u32(kFleetVersion);
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at, pages = 0;
    while (end < bytes.size() && !is_made(end)) end = std::min(bytes.size(), end + kMadePage);
    while (is_made(end + pages * kMadePage)) ++pages;
    p.text(bytes.substr(at, end - at));
    p.u32(static_cast<std::uint32_t>(pages));
    at = end + pages * kMadePage;
  }
  return p.take();
}
std::optional<std::string> decode_file_piece(std::string_view message, std::size_t bytes) {
  static const std::array<char, 2 * kMadePage> made = made_weights();
  Unpacker u(message);
  if (bytes > kFilePieceBytes || !is_of_this_version(u)) return std::nullopt;
  std::string piece;
  while (u.ok() && piece.size() < bytes) {
    piece += u.text();
    const std::size_t pages = u.u32();
    if (piece.size() > bytes || pages > (bytes - piece.size()) / kMadePage) return std::nullopt;
    if (pages > 0 && piece.size() % kMadePage != 0) return std::nullopt;
    for (std::size_t i = 0; i < pages; ++i) piece.append(made.data(), kMadePage);
  }
  if (!u.done() || piece.size() != bytes) return std::nullopt;
  return piece;
}

std::vector<std::string> parts_of(const FleetAnswer& answer, std::uint64_t run) {
  const std::string whole = encode(answer);
  const auto parts = static_cast<std::uint32_t>((whole.size() + kAnswerPartBytes - 1) / kAnswerPartBytes);
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < parts; ++i)
    out.push_back(encode(FleetPart{run, parts, whole.substr(i * kAnswerPartBytes, kAnswerPartBytes)}));
  return out;
}

std::optional<FleetAnswer> AnswerParts::add(std::uint32_t number, std::string_view encoded) {
  auto part = decode_fleet_part(encoded);
  if (!part || number >= part->parts) return std::nullopt;
  if (pieces_.empty() || part->run != run_) {
    // Another run's answer is as good; what came of the earlier one may never be whole.
    run_ = part->run;
    pieces_.clear();
  }
  if (pieces_.empty()) pieces_.resize(part->parts);
  if (pieces_.size() != part->parts) return std::nullopt;
  pieces_[number] = std::move(part->bytes);
  std::string whole;
  for (const auto& piece : pieces_) {
    if (!piece) return std::nullopt;
    whole += *piece;
  }
  return decode_fleet_answer(whole);
}

}  // namespace whet
