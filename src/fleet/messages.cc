#include "fleet/messages.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "artifact/made_weights.h"
#include "device/protocol/bounds.h"

namespace whet {
namespace {

/// Items of an answer: many times what a session's job has requests, or compiled models have answers in an hour.
constexpr std::size_t kMostItems = 65536;
static_assert(kFilePieceBytes % kMadePage == 0, "a piece begins at a page's beginning");

/// Of a message of another version the other fields are not read.
struct OfThisVersion {
  template <typename M>
  static void write(Packer& p, const M&) {
    p.put(kFleetVersion);
  }
  template <typename M>
  static void read(Unpacker& u, const M&) {
    u.require(u.get<std::uint32_t>() == kFleetVersion);
  }
};
struct ShortEnough {
  static void write(Packer&, const FleetJob&) {}
  static void read(Unpacker& u, FleetJob&) { u.require(u.left() <= kMostJobBytes); }
};
/// Which item the device began with last, from 1.
struct LastItem {
  static void write(Packer& p, const FleetAnswer& answer) { p.put(answer.started + 1); }
  static void read(Unpacker& u, FleetAnswer& answer) {
    const auto started = u.get<std::uint32_t>();
    u.require(started <= kMostItems);
    answer.started = static_cast<int>(started) - 1;
  }
};
bool is_part(const FleetPart& part) {
  return part.parts != 0 && part.parts <= kMostAnswerParts && part.bytes.size() <= kAnswerPartBytes;
}

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

template <>
constexpr auto kLast<FleetJob::Kind> = FleetJob::Kind::models;
template <>
constexpr auto kLast<FleetAnswer::Kind> = FleetAnswer::Kind::lacks;
template <>
constexpr auto kLast<Presence::State> = Presence::State::lost;

template <>
constexpr auto kRow<FleetJob> = row<ShortEnough{}, OfThisVersion{}, &FleetJob::session,
                                    where<is_short_text, &FleetJob::owner>, &FleetJob::job, &FleetJob::kind>;
template <>
constexpr auto kRow<FleetAnswer> =
    row<OfThisVersion{}, &FleetAnswer::kind, where<is_short_text, &FleetAnswer::unit, &FleetAnswer::message>,
        LastItem{}, at_most<kMostItems, &FleetAnswer::items>, where<is_short_text, &FleetAnswer::device>>;
template <>
constexpr auto kRow<FleetPart> = row<OfThisVersion{}, &FleetPart::run, &FleetPart::parts, &FleetPart::bytes, is_part>;
template <>
constexpr auto kRow<Presence> =
    row<OfThisVersion{}, &Presence::state, where<is_short_text, &Presence::agent, &Presence::owner, &Presence::why>,
        &Presence::jobs, as_text<&Presence::device>, where<is_session_time, &Presence::ghz, &Presence::celsius>,
        &Presence::throttled>;

template struct Codec<FleetJob>;
template struct Codec<FleetAnswer>;
template struct Codec<FleetPart>;
template struct Codec<Presence>;

std::string encode_file_piece(std::string_view bytes) {
  static const std::array<char, 2 * kMadePage> made = made_weights();
  const auto is_made = [&](std::size_t at) {
    return at + kMadePage <= bytes.size() && std::memcmp(bytes.data() + at, made.data(), kMadePage) == 0;
  };
  Packer p;
  p.put(kFleetVersion);
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at, pages = 0;
    while (end < bytes.size() && !is_made(end)) end = std::min(bytes.size(), end + kMadePage);
    while (is_made(end + pages * kMadePage)) ++pages;
    p.put(bytes.substr(at, end - at));
    p.put(static_cast<std::uint32_t>(pages));
    at = end + pages * kMadePage;
  }
  return p.take();
}
std::optional<std::string> decode_file_piece(std::string_view message, std::size_t bytes) {
  static const std::array<char, 2 * kMadePage> made = made_weights();
  Unpacker u(message);
  if (bytes > kFilePieceBytes || u.get<std::uint32_t>() != kFleetVersion) return std::nullopt;
  std::string piece;
  while (u.ok() && piece.size() < bytes) {
    piece += u.get<std::string_view>();
    const std::size_t pages = u.get<std::uint32_t>();
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
  auto part = decode<FleetPart>(encoded);
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
  return decode<FleetAnswer>(whole);
}

}  // namespace whet
