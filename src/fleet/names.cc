#include "fleet/names.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace whet {
namespace {

constexpr std::size_t kLongestWord = 48;

std::vector<std::string_view> words_of(std::string_view subject) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t dot = subject.find('.');
    words.push_back(subject.substr(0, dot));
    if (dot == subject.npos) return words;
    subject.remove_prefix(dot + 1);
  }
}

std::optional<std::uint32_t> number_of(std::string_view word) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  // As to_string writes it, so that a subject has one name.
  if (!whole || (word.size() > 1 && word.front() == '0')) return std::nullopt;
  return number;
}

std::string dotted(const FleetSession& from) { return from.user + "." + from.session; }

/// The words after the prefix and the session; nothing where others are there.
std::optional<std::vector<std::string_view>> words_after(std::string_view subject, std::string_view prefix,
                                                         const FleetSession& from) {
  const std::string start = std::string(prefix) + dotted(from) + ".";
  if (!subject.starts_with(start)) return std::nullopt;
  return words_of(subject.substr(start.size()));
}

constexpr std::string_view kDone = "whet.done.", kNote = "whet.note.", kJobs = "WHET_JOBS_";
constexpr const char* kDeviceBucket = "whet_devices";

}  // namespace

std::string job_stream(std::string_view user) { return std::string(kJobs) + std::string(user); }
std::string answer_stream(std::string_view user) { return "WHET_DONE_" + std::string(user); }
std::string file_stream(std::string_view user) { return "WHET_FILES_" + std::string(user); }
std::string tuner_stream(std::string_view user) { return "WHET_TUNERS_" + std::string(user); }
std::optional<std::string> user_of_job_stream(std::string_view stream) {
  if (!stream.starts_with(kJobs) || !is_fleet_word(stream.substr(kJobs.size()))) return std::nullopt;
  return std::string(stream.substr(kJobs.size()));
}

bool is_fleet_word(std::string_view text) {
  return !text.empty() && text.size() <= kLongestWord && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

const char* name_of(Priority priority) { return priority == Priority::high ? "hi" : "lo"; }

std::string key_subject(std::string_view user, std::string_view key) {
  return "whet.job." + std::string(key) + ".*." + std::string(user) + ".*.*";
}
std::optional<std::string> key_of_subject(std::string_view subject) {
  const std::vector<std::string_view> words = words_of(subject);
  const bool is_one = words.size() == 7 && is_fleet_word(words[2]) && subject == key_subject(words[4], words[2]);
  return is_one ? std::optional<std::string>(words[2]) : std::nullopt;
}

std::string queue_subject(std::string_view user, std::string_view key, Priority priority) {
  return "whet.job." + std::string(key) + "." + name_of(priority) + "." + std::string(user) + ".*.*";
}
std::string queue_name(std::string_view key, Priority priority) { return std::string(key) + "_" + name_of(priority); }
std::optional<std::string> key_of_queue(std::string_view queue) {
  const std::string_view key = queue.substr(0, queue.rfind('_'));
  for (const Priority priority : {Priority::high, Priority::low})
    if (is_fleet_word(key) && queue == queue_name(key, priority)) return std::string(key);
  return std::nullopt;
}

std::string job_subject(const JobName& job) {
  return "whet.job." + job.key + "." + name_of(job.priority) + "." + dotted(job.from) + "." +
         std::to_string(job.number);
}
std::optional<JobName> parse_job_subject(std::string_view subject) {
  const std::vector<std::string_view> words = words_of(subject);
  if (words.size() != 7 || words[0] != "whet" || words[1] != "job") return std::nullopt;
  const auto number = number_of(words[6]);
  const bool high = words[3] == name_of(Priority::high);
  if (!number || !(high || words[3] == name_of(Priority::low))) return std::nullopt;
  for (const std::size_t i : {2, 4, 5})
    if (!is_fleet_word(words[i])) return std::nullopt;
  return JobName{std::string(words[2]),
                 high ? Priority::high : Priority::low,
                 {std::string(words[4]), std::string(words[5])},
                 *number};
}

std::string answer_subject(const FleetSession& to, std::uint32_t number, std::uint32_t part) {
  return std::string(kDone) + dotted(to) + "." + std::to_string(number) + "." + std::to_string(part);
}
std::optional<AnswerPart> parse_answer_subject(std::string_view subject, const FleetSession& to) {
  const auto words = words_after(subject, kDone, to);
  if (!words || words->size() != 2) return std::nullopt;
  const auto number = number_of((*words)[0]), part = number_of((*words)[1]);
  if (!number || !part) return std::nullopt;
  return AnswerPart{*number, *part};
}

std::string note_subject(const FleetSession& to, std::uint32_t number) {
  return std::string(kNote) + dotted(to) + "." + std::to_string(number);
}
std::optional<std::uint32_t> parse_note_subject(std::string_view subject, const FleetSession& to) {
  const auto words = words_after(subject, kNote, to);
  if (!words || words->size() != 1) return std::nullopt;
  return number_of(words->front());
}

std::string file_subject(std::string_view user, std::string_view hash, std::uint32_t piece) {
  return "whet.file." + std::string(user) + "." + std::string(hash) + "." + std::to_string(piece);
}

std::string tuner_subject(const FleetSession& tuner) { return "$KV.whet_tuners." + dotted(tuner); }

std::string unit_subject(const UnitName& name) {
  return "$KV." + std::string(kDeviceBucket) + "." + name.key + "." + name.agent + "." + name.unit;
}
std::optional<UnitName> parse_unit_subject(std::string_view subject) {
  const std::vector<std::string_view> words = words_of(subject);
  if (words.size() != 5 || words[0] != "$KV" || words[1] != kDeviceBucket) return std::nullopt;
  for (const std::size_t i : {2, 3, 4})
    if (!is_fleet_word(words[i])) return std::nullopt;
  return UnitName{std::string(words[2]), std::string(words[3]), std::string(words[4])};
}

}  // namespace whet
