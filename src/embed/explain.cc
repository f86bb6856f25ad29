// What the library has no functions for: the program whet answers, in its own words.

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "embed/problem.h"
#include "embed/program.h"

namespace whet {
namespace {

/// A command line: an option without a value is left out.
class CommandLine {
 public:
  explicit CommandLine(std::vector<std::string> words) : words_(std::move(words)) {}

  void word(const std::string& word) { words_.push_back(word); }
  void option(const std::string& name, const std::string& value) {
    if (!value.empty()) words_.insert(words_.end(), {"--" + name, value});
  }
  void option(const std::string& name, const std::vector<std::string>& values) {
    for (const std::string& value : values) option(name, value);
  }
  void number(const std::string& name, std::uint64_t value) {
    if (value != 0) option(name, std::to_string(value));
  }
  void flag(const std::string& name, bool value) {
    if (value) words_.push_back("--" + name);
  }
  /// As a JSON object has it.
  Status option(const std::string& name, const Json& value) {
    if (value.is_bool()) return flag(name, value.boolean()), ok_status();
    if (value.is_string()) return option(name, value.string()), ok_status();
    if (value.is_number()) return option(name, dump(value)), ok_status();
    if (!value.is_array())
      return Error{fmt::format("explain: {} is {}; expected a text, a number, true or a list", name, dump(value))};
    for (const Json& item : value.items()) {
      if (item.is_array()) return Error{fmt::format("explain: {} is {}; expected a list of texts", name, dump(value))};
      WHET_RETURN_IF_ERROR(option(name, item));
    }
    return ok_status();
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

/// What a topic is told of the problem.
enum class Told { nothing, passes, sizes, machine, base };
struct Topic {
  const char* name;
  const char* argument;  ///< which is no option; "": none
  Told told;
};
constexpr Topic kTopics[] = {
    {"error", "error", Told::nothing}, {"progress", "", Told::nothing},           {"metrics", "", Told::nothing},
    {"task", "task", Told::base},      {"candidate", "candidate", Told::machine}, {"passes", "", Told::passes},
    {"layout", "node", Told::machine}, {"cover", "node", Told::machine},          {"sizes", "", Told::sizes}};

Result<Topic> find_topic(const std::string& name) {
  std::vector<std::string> names;
  for (const Topic& topic : kTopics) {
    if (name == topic.name) return topic;
    names.emplace_back(topic.name);
  }
  return Error{fmt::format("explain: there is no topic \"{}\"; the topics are {}{}", name, fmt::join(names, ", "),
                           did_you_mean(name, names))};
}

void tell_model(CommandLine& line, const ModelOptions& model) {
  line.option("model", model.model);
  line.option("shape", model.shapes);
  line.option("input", model.inputs);
  line.option("until", model.until);
  line.option("define", model.define);
  line.option("entry", model.entry);
  line.flag("native-types", model.native_types);
  line.number("seed", model.seed);
  line.number("batch", static_cast<std::uint64_t>(model.batch));
  line.number("image", static_cast<std::uint64_t>(model.image));
  line.option("layout", model.layout);
}

void tell_machine(CommandLine& line, const TuneSettings& settings) {
  const MeasuringOptions& where = settings.where;
  line.option("records", settings.records);
  line.flag("exact", settings.rounding.exact);
  line.option("target", where.place.target);
  line.number("threads", static_cast<std::uint64_t>(where.place.threads));
  line.option("cores", where.place.cores);
  if (!where.devices.empty()) line.option("device", where.devices.front());
  line.option("fleet", where.fleet.folder);
}

void tell_problem(CommandLine& line, Told told, const TuneSettings& settings, bool has_records) {
  if (told == Told::nothing) return;
  tell_model(line, settings.model);
  if (told == Told::sizes) line.option("sizes", settings.model.sizes);
  // Without records nothing was measured that a machine decides.
  const bool of_graph = told == Told::passes || told == Told::sizes;
  if (!of_graph && has_records) tell_machine(line, settings);
  if ((of_graph || has_records) && settings.rounding.precision != "f32")
    line.option("precision", settings.rounding.precision);
  if (told != Told::base) return;
  line.option("base", settings.base.files);
  line.flag("no-base", settings.base.none);
}

}  // namespace

Result<std::string> Problem::explain(const std::string& name, const std::string& options) {
  WHET_TRY(const Topic topic, find_topic(name));
  const Result<Json> own = options.empty() ? Result<Json>(Json::object()) : parse_json(options);
  if (!own.ok()) return own.error().at("explain: options are no JSON");
  if (!own->is_object()) return Error{"explain: options are " + dump(*own) + "; expected a JSON object"};
  CommandLine line({"explain", name});
  if (const Json& argument = (*own)[topic.argument]; !argument.is_null())
    line.word(argument.is_string() ? argument.string() : dump(argument));
  tell_problem(line, topic.told, settings_, has_records());
  for (const auto& [option, value] : own->members())
    if (option != topic.argument) WHET_RETURN_IF_ERROR(line.option(option, value));
  line.word("--json");
  WHET_TRY(const std::string program, shop_->program());
  return run_program(program, line.words());
}

Result<std::string> read_records_as_text(const Workshop& shop, const std::string& path, const std::string& query) {
  const std::vector<std::string> queries = {"best", "stats", "show"};
  if (std::ranges::find(queries, query) == queries.end())
    return Error{fmt::format("records: there is no query \"{}\"; expected {}{}", query, fmt::join(queries, ", "),
                             did_you_mean(query, queries))};
  CommandLine line({"records", query, path});
  line.flag("json", query != "show");
  WHET_TRY(const std::string program, shop.program());
  return run_program(program, line.words());
}

}  // namespace whet
