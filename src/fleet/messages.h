#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/protocol/cpu/description.h"

namespace whet {

// What lies in the messages of a fleet's broker (docs/formats/fleet.md). Both ends may be of other versions and count as hostile:
// decoders are bounded, and give nothing where the bytes are no such message.

/// Of jobs, answers, presence and pieces of files.
constexpr std::uint32_t kFleetVersion = 4;
/// The most bytes of a job, of a part of an answer, of an answer, and of its parts.
constexpr std::size_t kMostJobBytes = std::size_t{4} << 20;
/// The most jobs of one user that the broker keeps: several times what a tuner has out with a hundred units.
constexpr int kMostJobsOfUser = 2048;
constexpr std::size_t kAnswerPartBytes = std::size_t{1} << 20;
constexpr std::size_t kMostAnswerBytes = std::size_t{256} << 20;
constexpr std::uint32_t kMostAnswerParts = kMostAnswerBytes / kAnswerPartBytes;
/// Of a file that compiled models need: the bytes that a piece stands for, the most of a file, and the most of its pieces' messages
/// together.
constexpr std::size_t kFilePieceBytes = std::size_t{512} << 10;
constexpr std::uint64_t kMostCarriedBytes = std::uint64_t{1} << 30, kMostCarriedMessages = std::uint64_t{256} << 20;

struct FleetJob {
  enum class Kind : std::uint8_t {
    kernels = 0,  ///< `job` is an encoded SessionJob
    models = 1,   ///< an encoded ModelOrder, whose files are the broker's where the unit does not have them
  };
  std::uint32_t session = 0;  ///< version of the device session whose job this is
  std::string owner;          ///< for people: "ann@laptop"
  std::string job;
  Kind kind = Kind::kernels;
};

/// What a unit made of a job.
struct FleetAnswer {
  enum class Kind : std::uint8_t {
    done = 0,     ///< requests without an item were given back
    lost = 1,     ///< several units were lost while they ran it
    refused = 2,  ///< the agent does not take it
    lacks = 3,    ///< neither the unit nor the broker has these files whole
  } kind = Kind::done;
  std::string unit;                ///< which unit answers
  std::string message;             ///< why it is lost or refused
  int started = -1;                ///< the last item that the device began with; -1: none
  std::vector<std::string> items;  ///< encoded SessionItems; of models ModelAnswers; of `lacks` the files' hashes
  std::string device;              ///< DeviceDescription::unit of the unit: records tell machines by it
};

/// A part of an encoded answer.
struct FleetPart {
  std::uint64_t run = 0;    ///< equal in all parts of one answer, another in every other
  std::uint32_t parts = 1;  ///< of the answer
  std::string bytes;
};

/// A unit's entry in the bucket of devices.
struct Presence {
  enum class State : std::uint8_t { idle = 0, busy = 1, lost = 2 } state = State::idle;
  std::string agent;         ///< its version
  std::string owner;         ///< of the job at hand; "" while idle
  std::string why;           ///< it is lost
  std::uint64_t jobs = 0;    ///< answered since its agent started
  DeviceDescription device;  ///< as the device's hello says
  // just after the last kernel that the unit timed; 0: unknown
  double ghz = 0, celsius = 0;
  bool throttled = false;  ///< it was hot then
};
const char* name_of(Presence::State);

extern template struct Codec<FleetJob>;
extern template struct Codec<FleetAnswer>;
extern template struct Codec<FleetPart>;
extern template struct Codec<Presence>;

/// A piece of a file. It begins at a multiple of kFilePieceBytes, and whole pages of made weights are only counted.
std::string encode_file_piece(std::string_view bytes);
/// The inverse; nothing where the piece does not have `bytes` bytes.
std::optional<std::string> decode_file_piece(std::string_view, std::size_t bytes);
/// How many pieces a file has.
constexpr std::uint32_t file_pieces(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + kFilePieceBytes - 1) / kFilePieceBytes);
}

/// The parts of an answer, encoded, in order.
std::vector<std::string> parts_of(const FleetAnswer&, std::uint64_t run);

/// Puts answers together from their parts, in any order, of several runs at once.
class AnswerParts {
 public:
  /// An answer as soon as one is whole. Parts that make no sense, or are too large together, are dropped.
  std::optional<FleetAnswer> add(std::uint32_t part, std::string_view encoded);
  /// How many parts the answer has that the last accepted part is of; 0 before one came.
  std::uint32_t parts() const { return static_cast<std::uint32_t>(pieces_.size()); }

 private:
  std::uint64_t run_ = 0;
  std::vector<std::optional<std::string>> pieces_;
};

}  // namespace whet
