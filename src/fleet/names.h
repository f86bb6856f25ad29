#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace whet {

// The subjects of a fleet's broker (docs/formats/fleet.md). A subject is words with dots between.

/// The streams and the buckets of a fleet.
constexpr const char* kJobStream = "WHET_JOBS";
constexpr const char* kAnswerStream = "WHET_DONE";
constexpr const char* kFileStream = "WHET_FILES";
constexpr const char* kDeviceBucket = "whet_devices";
constexpr const char* kTunerBucket = "whet_tuners";
/// The stream that holds a bucket's values.
std::string bucket_stream(std::string_view bucket);

/// Whether a text may be a word of a subject: 1 to 48 letters, digits, "-" and "_".
bool is_fleet_word(std::string_view);

/// Units take urgent jobs first.
enum class Priority : std::uint8_t { high, low };
const char* name_of(Priority);  ///< "hi", "lo"

/// A tuner's run at a broker: jobs and answers carry it.
struct FleetSession {
  std::string user, session;
  friend bool operator==(const FleetSession&, const FleetSession&) = default;
};

/// A job as its subject names it.
struct JobName {
  std::string key;  ///< which units may take it
  Priority priority = Priority::high;
  FleetSession from;
  std::uint32_t number = 0;  ///< in its session
  friend bool operator==(const JobName&, const JobName&) = default;
};
/// whet.job.KEY.hi.USER.SESSION.NUMBER
std::string job_subject(const JobName&);
/// The inverse; nothing where the subject is no job's.
std::optional<JobName> parse_job_subject(std::string_view);
/// All jobs of a key and a priority: what one queue hands out.
std::string queue_subject(std::string_view key, Priority);
/// "pi5_hi": the queue's name.
std::string queue_name(std::string_view key, Priority);

/// whet.done.USER.SESSION.NUMBER.PART: a part of an answer.
std::string answer_subject(const FleetSession&, std::uint32_t number, std::uint32_t part);
/// A number and a part of a session's answers; nothing where the subject is none.
struct AnswerPart {
  std::uint32_t number = 0, part = 0;
};
std::optional<AnswerPart> parse_answer_subject(std::string_view, const FleetSession&);

/// whet.note.USER.SESSION.NUMBER: that a unit works on a job.
std::string note_subject(const FleetSession&, std::uint32_t number);
std::optional<std::uint32_t> parse_note_subject(std::string_view, const FleetSession&);

/// whet.file.USER.HASH.PIECE: a piece of a file that a user's models need.
std::string file_subject(std::string_view user, std::string_view hash, std::uint32_t piece);

/// $KV.whet_tuners.USER.SESSION
std::string tuner_subject(const FleetSession&);

/// A unit as its subject in the bucket of devices names it.
struct UnitName {
  std::string key, agent, unit;
  friend bool operator==(const UnitName&, const UnitName&) = default;
};
/// $KV.whet_devices.KEY.AGENT.UNIT
std::string unit_subject(const UnitName&);
std::optional<UnitName> parse_unit_subject(std::string_view);

}  // namespace whet
