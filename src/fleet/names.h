#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace whet {

// The subjects of a fleet's broker (docs/formats/fleet.md). A subject is words with dots between.

/// The stream of the units' entries.
constexpr const char* kDeviceStream = "KV_whet_devices";
/// The streams of one user's jobs, answers, files and runs: nothing of others takes room in them.
std::string job_stream(std::string_view user);
std::string answer_stream(std::string_view user);
std::string file_stream(std::string_view user);
std::string tuner_stream(std::string_view user);
/// Whose jobs a stream has; nothing where it has none.
std::optional<std::string> user_of_job_stream(std::string_view);
/// What tuners know the broker's "$JS.API" by: that of their own account has no streams.
constexpr const char* kTunerApi = "FLEET.API";

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
/// All jobs of a user and a key.
std::string key_subject(std::string_view user, std::string_view key);
/// The key of such a subject; nothing where it is none.
std::optional<std::string> key_of_subject(std::string_view);
/// Those of a priority: what one queue hands out.
std::string queue_subject(std::string_view user, std::string_view key, Priority);
/// "pi5_hi": the queue's name, in the stream of each user.
std::string queue_name(std::string_view key, Priority);
/// The key of a queue's name; nothing where it is none.
std::optional<std::string> key_of_queue(std::string_view);

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
