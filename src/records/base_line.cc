#include "records/base_line.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/shown.h"
#include "json/json.h"

namespace whet {
namespace {

// More than any base has: a damaged or hostile file must not cost more than it is worth.
constexpr std::size_t kMostText = 1024, kMostOrigins = 10000, kMostEntries = 10000, kMostNumbers = 64;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;
constexpr double kMostRatio = 1000;  ///< between the times of two schedules of a task that anyone would keep
constexpr std::size_t kHashDigits = 16;

std::string hash_text(std::uint64_t hash) {
  char digits[kHashDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

/// A choice with the extent of the axis that it cut behind it: `[2, 64]`, 0 where it cut none.
Json choices_json(const BaseEntry& entry) {
  Json out = Json::object();
  for (const auto& [name, values] : entry.candidate.choices) {
    Json choice = Json::array_of(values);
    const auto extent = entry.extents.find(name);
    out.set(name, choice.add(extent == entry.extents.end() ? 0 : extent->second));
  }
  return out;
}

bool is_ratio(double value) { return value >= 1 / kMostRatio && value <= kMostRatio; }

/// Reads a line; the first thing that is wrong is in `why`.
class BaseReader {
 public:
  std::string why;

  bool read(JsonView base, BaseHead& head) {
    if (!text(base, "name", head.name) || !text(base, "made", head.made)) return false;
    const JsonView origins = base["origins"];
    if (!origins.is_array() || origins.items().size() > kMostOrigins) return fail("has no list of origins");
    for (const JsonView each : origins.items()) {
      BaseOrigin origin;
      if (!text(each, "network", origin.network) || !text(each, "target", origin.target) ||
          !text(each, "machine", origin.machine) || !text(each, "whet", origin.whet) || !text(each, "at", origin.at))
        return false;
      std::int64_t codegen = 0;
      if (!integer(each["codegen"], 0, 1 << 20, "codegen", codegen)) return false;
      origin.codegen = static_cast<int>(codegen);
      origin.foreign = each["foreign"].bool_or(false);
      head.origins.push_back(std::move(origin));
    }
    return true;
  }

  bool read(JsonView line, BaseTask& task) {
    if (!anchor(line, task.anchor)) return false;
    if (const JsonView over = line["over_parts"]; !over.is_null()) {
      if (!over.is_number() || !is_ratio(over.number())) return fail("has an \"over_parts\" that is no ratio of times");
      task.over_parts = over.number();
    }
    const JsonView entries = line["as"];
    if (!entries.is_array() || entries.items().empty() || entries.items().size() > kMostEntries)
      return fail("has no list of schedules");
    for (const JsonView each : entries.items())
      if (!entry(each, task.entries.emplace_back())) return false;
    return true;
  }

 private:
  bool fail(std::string reason) { return why = std::move(reason), false; }

  bool text(JsonView from, const char* name, std::string& out) {
    const JsonView value = from[name];
    if (!value.is_string() || value.string().size() > kMostText || value.string() != shown(value.string()))
      return fail("names no " + std::string(name));
    out = value.string();
    return true;
  }
  bool integer(JsonView value, std::int64_t least, std::int64_t most, const char* what, std::int64_t& out) {
    if (!value.is_integer() || value.integer() < least || value.integer() > most)
      return fail("has a \"" + std::string(what) + "\" that is no number from " + std::to_string(least) + " to " +
                  std::to_string(most));
    out = value.integer();
    return true;
  }
  bool integers(JsonView list, std::int64_t least, const char* what, std::vector<std::int64_t>& out) {
    if (!list.is_array() || list.items().size() > kMostNumbers)
      return fail("has a \"" + std::string(what) + "\" that is no list of numbers");
    for (const JsonView each : list.items())
      if (!integer(each, least, kMostExtent, what, out.emplace_back())) return false;
    return true;
  }

  bool anchor(JsonView line, Anchor& anchor) {
    if (!text(line, "anchor", anchor.kind) || !integers(line["x"], 1, "x", anchor.extents)) return false;
    if (const JsonView stride = line["stride"]; !stride.is_null())
      if (!integer(stride, 1, kMostExtent, "stride", anchor.stride)) return false;
    anchor.padded = line["padded"].bool_or(false);
    const std::string_view digits = line["structure"].string_or("");
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), anchor.structure, 16);
    if (digits.size() != kHashDigits || error != std::errc() || end != digits.data() + digits.size())
      return fail("has a \"structure\" that is not 16 hexadecimal digits");
    return true;
  }

  bool entry(JsonView from, BaseEntry& entry) {
    std::int64_t origin = 0;
    if (!integer(from["of"], 0, kMostOrigins - 1, "of", origin)) return false;
    entry.origin = static_cast<std::size_t>(origin);
    if (!text(from, "sketch", entry.candidate.sketch)) return false;
    const JsonView gain = from["gain"];
    if (!gain.is_number() || !is_ratio(gain.number())) return fail("has a \"gain\" that is no ratio of times");
    entry.gain = gain.number();
    const JsonView choices = from["choices"];
    if (!choices.is_object() || choices.members().size() > kMostNumbers) return fail("has no choices of decisions");
    for (const auto& [name, value] : choices.members())
      if (!choice(std::string(name), value, entry)) return false;
    return true;
  }
  bool choice(const std::string& name, JsonView value, BaseEntry& entry) {
    std::vector<std::int64_t> values;
    if (!integers(value, 0, shown(name).c_str(), values)) return false;
    if (values.empty()) return fail("has a choice \"" + shown(name) + "\" that does not say what was cut");
    if (values.back() > 0) entry.extents[name] = values.back();
    values.pop_back();
    entry.candidate.choices[name] = std::move(values);
    return true;
  }
};

}  // namespace

std::string to_line(const BaseHead& head) {
  Json origins = Json::array();
  for (const BaseOrigin& origin : head.origins) {
    Json each = Json::object()
                    .set("network", origin.network)
                    .set("target", origin.target)
                    .set("machine", origin.machine)
                    .set("codegen", origin.codegen)
                    .set("whet", origin.whet)
                    .set("at", origin.at);
    if (origin.foreign) each.set("foreign", true);
    origins.add(std::move(each));
  }
  Json base = Json::object().set("name", head.name).set("made", head.made).set("origins", std::move(origins));
  return dump(Json::object().set("v", kBaseVersion).set("base", std::move(base)));
}

std::string to_line(const BaseTask& task) {
  const Anchor& anchor = task.anchor;
  Json line = Json::object().set("v", kBaseVersion).set("anchor", anchor.kind).set("x", Json::array_of(anchor.extents));
  if (anchor.stride != 1) line.set("stride", anchor.stride);
  if (anchor.padded) line.set("padded", true);
  line.set("structure", hash_text(anchor.structure));
  if (task.over_parts > 0) line.set("over_parts", task.over_parts);
  Json entries = Json::array();
  for (const BaseEntry& entry : task.entries)
    entries.add(Json::object()
                    .set("of", static_cast<std::int64_t>(entry.origin))
                    .set("sketch", entry.candidate.sketch)
                    .set("choices", choices_json(entry))
                    .set("gain", entry.gain));
  return dump(line.set("as", std::move(entries)));
}

bool is_of_base(JsonView line) { return line.has("base") || line.has("anchor"); }

std::variant<BaseHead, BaseTask, std::string> base_line_of(JsonView line) {
  BaseReader reader;
  if (line.has("base")) {
    BaseHead head;
    if (!reader.read(line["base"], head)) return std::move(reader.why);
    return head;
  }
  BaseTask task;
  if (!reader.read(line, task)) return std::move(reader.why);
  return task;
}

}  // namespace whet
