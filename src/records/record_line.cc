#include "records/record_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>

#include "json/json.h"
#include "records/base_line.h"
#include "records/cpu/conditions.h"
#include "records/error_line.h"
#include "records/plan_line.h"
#include "records/ranged_line.h"
#include "schedule/steps.h"

namespace whet {
namespace {

Json choices_json(const Candidate& candidate) {
  Json out = Json::object();
  for (const auto& [name, values] : candidate.choices)
    out.set(name, values.size() == 1 ? Json(values[0]) : Json::array_of(values));
  return out;
}

/// The key is JSON itself (an array) when it comes from `workload_key`; any other text is kept as a string.
Json key_json(const std::string& key) {
  if (auto value = parse_json(key); value.ok() && value->is_array()) return std::move(*value);
  return key;
}

/// JSON numbers are exact to 2^63 here; a greater seed is written as decimal text.
Json seed_json(std::uint64_t seed) {
  if (seed <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return seed;
  return std::to_string(seed);
}

std::optional<std::uint64_t> seed_of(JsonView value) {
  if (value.is_integer() && value.integer() >= 0) return static_cast<std::uint64_t>(value.integer());
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.string();
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return seed;
}

/// "0 s, where a kernel takes 2e-09 s at least"
std::string why_no_time(double seconds) {
  const bool is_long = seconds > kMostKernelSeconds;
  char text[96];
  std::snprintf(text, sizeof text, "%g s, where a kernel takes %g s at %s", seconds,
                is_long ? kMostKernelSeconds : kLeastKernelSeconds, is_long ? "most" : "least");
  return text;
}
/// Of a step, which may take no time.
bool is_wall_time(double seconds) { return seconds >= 0 && seconds <= kMostKernelSeconds; }

/// Of a cache line [ns], or 0: it is not known.
bool is_round_trip(double ns) {
  constexpr double kMost = 1e9;
  return ns >= 0 && ns <= kMost;
}

/// The members of a record's line, in the order in which they are written.
constexpr std::string_view kMembers[] = {"v",      "task",      "target",      "sketch",    "choices",       "steps",
                                         "tree",   "codegen",   "seconds",     "outcome",   "pace",          "message",
                                         "phases", "registers", "spill_bytes", "truncated", "round_trip_ns", "cache",
                                         "seed",   "round",     "predicted",   "ranks_as",  "device",        "whet",
                                         "host",   "at"};

/// One of them. Another name does not compile.
struct MemberName {
  consteval MemberName(const char* text) {
    while (kMembers[index] != text) ++index;
  }
  std::string_view text() const { return kMembers[index]; }
  std::size_t index = 0;
};

/// A line's members, found in one pass: a file may have 100,000 lines. Of several of one name the first that is no null counts.
class Members {
 public:
  explicit Members(JsonView line) {
    std::size_t expected = 0;
    for (const auto& [name, value] : line.members())
      for (std::size_t tried = 0; tried < std::size(kMembers); ++tried) {
        const std::size_t at = expected;
        expected = (expected + 1) % std::size(kMembers);
        if (kMembers[at] != name) continue;
        if (found_[at].value.is_null()) found_[at].value = value;
        break;
      }
  }
  JsonView operator[](MemberName name) const { return found_[name.index].value; }

 private:
  static constexpr JsonNode kNull{};
  struct Member {
    JsonView value{&kNull};
  };
  std::array<Member, std::size(kMembers)> found_;
};

/// Fills one Record from a line's members; the first thing that is wrong is in `why`.
class Reader {
 public:
  Reader(JsonView line, SharedTexts& texts) : line_(line), texts_(texts) {}
  std::string why;

  bool read(Record& r) {
    r.version = static_cast<int>(line_["v"].integer());
    return key(r) && shared("target", r.target, true) && candidate(r.candidate) && text("steps", r.steps, false) &&
           text("tree", r.tree_hash, false) && outcome(r.outcome) && rest(r) &&
           (r.numerics = numerics_of(r.steps), true);
  }

 private:
  bool fail(std::string reason) { return why = std::move(reason), false; }

  bool text(MemberName name, std::string& out, bool required) {
    return text(name, required, [&](std::string_view value) { out = value; });
  }
  bool shared(MemberName name, SharedText& out, bool required) {
    return text(name, required, [&](std::string_view value) { out = texts_.of(value); });
  }
  template <typename Keep>
  bool text(MemberName name, bool required, const Keep& keep) {
    const JsonView value = line_[name];
    if (value.is_null() && !required) return true;
    if (!value.is_string())
      return fail('"' + std::string(name.text()) + "\" is " + (value.is_null() ? "missing" : "no text"));
    keep(value.string());
    return true;
  }
  bool key(Record& r) {
    const JsonView task = line_["task"], key = task["key"];
    if (key.is_array())
      r.key = texts_.of(dump(key));
    else if (key.is_string())
      r.key = texts_.of(key.string());
    else
      return fail("\"task\" has no \"key\"");
    r.task = texts_.of(task["name"].string_or(""));
    r.inputs = texts_.of(task["inputs"].string_or(""));
    return within(task["within"], r.within);
  }
  bool within(JsonView shape, Shape& out) {
    if (shape.is_null()) return true;
    if (!shape.is_array()) return fail("\"within\" is no shape");
    for (const JsonView extent : shape.items()) {
      if (!extent.is_integer() || extent.integer() < 1) return fail("\"within\" has an element that is no extent");
      out.push_back(extent.integer());
    }
    return true;
  }
  bool candidate(Candidate& out) {
    if (!text("sketch", out.sketch, false)) return false;
    const JsonView choices = line_["choices"];
    if (choices.is_null()) return true;
    if (!choices.is_object()) return fail("\"choices\" is no object");
    for (const auto& [name, value] : choices.members()) {
      auto& list = out.choices[std::string(name)];
      if (value.is_integer()) {
        list.push_back(value.integer());
        continue;
      }
      if (!value.is_array()) return fail("choice " + dump(Json(name)) + " is neither a number nor a list of numbers");
      for (const JsonView item : value.items()) {
        if (!item.is_integer()) return fail("choice " + dump(Json(name)) + " has an element that is no integer");
        list.push_back(item.integer());
      }
    }
    return true;
  }
  bool outcome(Outcome& out) {
    const JsonView code = line_["outcome"];
    const std::optional<OutcomeCode> known = code.is_integer() ? outcome_code(code.integer()) : std::nullopt;
    if (!known) return fail("\"outcome\" is no number from 0 to " + std::to_string(kOutcomeCodes - 1));
    out.code = *known;
    if (!text("message", out.message, false)) return false;
    const JsonView seconds = line_["seconds"];
    if (seconds.is_array()) {
      for (const JsonView item : seconds.items()) {
        if (!item.is_number()) return fail("\"seconds\" has an element that is no number");
        if (!is_kernel_time(item.number())) return fail("\"seconds\" has " + why_no_time(item.number()));
        out.seconds.push_back(item.number());
      }
    }
    if (out.ok() && out.seconds.empty()) return fail("\"outcome\" is 0 but \"seconds\" is empty");
    out.pace = line_["pace"].number_or(1);
    if (!(out.pace > 0) || !std::isfinite(out.pace)) return fail("\"pace\" is no positive number");
    if (out.ok() && !std::isfinite(out.best_seconds()))
      return fail("\"seconds\" divided by \"pace\" is no time of a kernel");
    out.truncated = line_["truncated"].bool_or(false);
    out.build_seconds = line_["phases"]["build"].number_or(0);
    out.run_seconds = line_["phases"]["run"].number_or(0);
    if (!is_wall_time(out.build_seconds) || !is_wall_time(out.run_seconds))
      return fail("\"phases\" has what is no time");
    const std::int64_t registers = line_["registers"].integer_or(0);
    if (registers < 0 || registers > std::numeric_limits<int>::max()) return fail("\"registers\" is out of range");
    out.registers = static_cast<int>(registers);
    out.spill_bytes = line_["spill_bytes"].integer_or(0);
    if (out.spill_bytes < 0) return fail("\"spill_bytes\" is negative");
    out.placement.round_trip_ns = line_["round_trip_ns"].number_or(0);
    if (!is_round_trip(out.placement.round_trip_ns)) return fail("\"round_trip_ns\" is no time of a cache line");
    const std::string wrong = read_conditions(line_["device"], out.conditions);
    return wrong.empty() || fail(wrong);
  }
  bool rest(Record& r) {
    const std::int64_t codegen = line_["codegen"].integer_or(0);
    if (codegen < 0 || codegen > std::numeric_limits<int>::max()) return fail("\"codegen\" is out of range");
    r.codegen = static_cast<int>(codegen);
    if (const JsonView seed = line_["seed"]; !seed.is_null()) {
      const auto value = seed_of(seed);
      if (!value) return fail("\"seed\" is no number from 0 to 2^64-1");
      r.seed = *value;
    }
    const std::int64_t round = line_["round"].integer_or(0);
    if (round < 0 || round > std::numeric_limits<int>::max()) return fail("\"round\" is out of range");
    r.round = static_cast<int>(round);
    r.predicted = line_["predicted"].number_or(0);
    r.ranks_as = line_["ranks_as"].number_or(0);
    if (r.ranks_as != 0 && !is_kernel_time(r.ranks_as)) return fail("\"ranks_as\" is " + why_no_time(r.ranks_as));
    return text("cache", r.outcome.cache, false) && shared("whet", r.whet, false) &&
           text("host", r.outcome.device, false) && shared("at", r.at, false);
  }

  Members line_;
  SharedTexts& texts_;
};

Json json_of(const Record& r) {
  Json out = Json::object();
  out.set("v", r.version);
  Json task = Json::object().set("key", key_json(r.key)).set("name", r.task.text());
  if (!r.within.empty()) task.set("within", Json::array_of(r.within));
  if (!r.inputs.empty()) task.set("inputs", r.inputs.text());
  out.set("task", std::move(task));
  out.set("target", r.target.text());
  out.set("sketch", r.candidate.sketch).set("choices", choices_json(r.candidate));
  out.set("steps", r.steps).set("tree", r.tree_hash).set("codegen", r.codegen);
  out.set("seconds", Json::array_of(r.outcome.seconds)).set("outcome", static_cast<int>(r.outcome.code));
  if (r.outcome.pace != 1) out.set("pace", r.outcome.pace);
  if (!r.outcome.message.empty()) out.set("message", r.outcome.message);
  out.set("phases", Json::object().set("build", r.outcome.build_seconds).set("run", r.outcome.run_seconds));
  if (r.outcome.registers > 0) out.set("registers", r.outcome.registers);
  if (r.outcome.spill_bytes > 0) out.set("spill_bytes", r.outcome.spill_bytes);
  out.set("truncated", r.outcome.truncated);
  if (r.outcome.placement.is_known()) out.set("round_trip_ns", r.outcome.placement.round_trip_ns);
  out.set("cache", r.outcome.cache).set("seed", seed_json(r.seed));
  if (r.round > 0) out.set("round", r.round);
  if (r.predicted != 0) out.set("predicted", r.predicted);
  if (r.ranks_as != 0) out.set("ranks_as", r.ranks_as);
  if (!r.outcome.conditions.unit.empty()) out.set("device", to_json(r.outcome.conditions));
  out.set("whet", r.whet.text()).set("host", r.outcome.device).set("at", r.at.text());
  return out;
}

/// A time of a kernel for ranges, or the reason why it is none.
ParsedLine ranged_of(JsonView json, SharedTexts& texts) {
  ParsedLine parsed(std::in_place_type<RangedRecord>);
  RangedRecord& ranged = std::get<RangedRecord>(parsed);
  Reader reader(json, texts);
  if (!reader.read(ranged.record)) return BadLine{std::move(reader.why)};
  if (std::string why = read_range(json, ranged); !why.empty()) return BadLine{std::move(why)};
  return parsed;
}

}  // namespace

std::string to_line(const Record& r) { return dump(json_of(r)); }

std::string to_line(const RangedRecord& r) { return dump(json_of(r.record).set("range", range_json(r))); }

ParsedLine parse_line(std::string_view line, LineRoom& room) {
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);  // of a file that an editor wrote
  if (Status read = room.json.parse(line); !read.ok()) return BadLine{read.error().message};
  const JsonView json = room.json.root();
  if (!json.is_object()) return BadLine{"it is no JSON object"};
  const JsonView version = json["v"];
  if (!version.is_integer() || version.integer() < 1) return BadLine{"\"v\" is no version number"};
  if (version.integer() > kRecordVersion) return NewerRecord{version.integer()};
  if (is_of_base(json)) return BaseLine{};
  if (json.has("plan")) {
    auto plan = plan_of(json);
    if (auto* why = std::get_if<std::string>(&plan)) return BadLine{std::move(*why)};
    return std::get<Plan>(std::move(plan));
  }
  const bool of_new_kinds = version.integer() >= 4;  // older lines may have such members, which say nothing
  if (of_new_kinds && json.has("error")) {
    auto error = layer_error_of(json);
    if (auto* why = std::get_if<std::string>(&error)) return BadLine{std::move(*why)};
    return std::get<LayerError>(std::move(error));
  }
  if (version.integer() >= 5 && json.has("values")) {
    auto ranges = ranges_on_samples_of(json);
    if (auto* why = std::get_if<std::string>(&ranges)) return BadLine{std::move(*why)};
    return std::get<RangesOnSamples>(std::move(ranges));
  }
  if (of_new_kinds && json.has("network")) {
    auto network = network_of(json);
    if (auto* why = std::get_if<std::string>(&network)) return BadLine{std::move(*why)};
    return std::get<NetworkAtSizes>(std::move(network));
  }
  if (json.has("range")) return ranged_of(json, room.texts);  // never an exact time, whatever else it holds
  if (of_new_kinds)
    return BadLine{"a line of version " + std::to_string(version.integer()) +
                   " has none of \"range\", \"network\", \"error\"" + (version.integer() >= 5 ? ", \"values\"" : "") +
                   " and \"plan\""};
  ParsedLine parsed(std::in_place_type<Record>);
  Reader reader(json, room.texts);
  if (!reader.read(std::get<Record>(parsed))) return BadLine{std::move(reader.why)};
  return parsed;
}
ParsedLine parse_line(std::string_view line) {
  LineRoom room;
  return parse_line(line, room);
}

std::string canonical_key(std::string_view key) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  if (std::none_of(key.begin(), key.end(), is_space)) return std::string(key);
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    if (!quoted && is_space(c)) continue;
    out += c;
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\' && i + 1 < key.size()) out += key[++i];
  }
  return out;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace whet
