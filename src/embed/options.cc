#include "embed/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "search/strategy.h"
#include "target/target.h"

namespace whet {
namespace {

bool is_within(const Json& json, double low, double high) {
  return json.is_number() && json.number() >= low && json.number() <= high;
}

void add_model(OptionTable& table, ModelOptions& model) {
  table.texts("shape", model.shapes);
  table.texts("input", model.inputs);
  table.texts("until", model.until);
  table.texts("define", model.define);
  table.text("entry", model.entry);
  table.flag("native-types", model.native_types);
  table.seed("seed", model.seed);
  table.integer("batch", model.batch, 1, 65536);
  table.integer("image", model.image, 1, 65536);
  table.choice("layout", model.layout, {"nchw", "nhwc"});
}

void add_target(OptionTable& table, TargetOptions& place) {
  table.text("target", place.target);
  table.integer("threads", place.threads, 1, kMaxThreads);
  table.text("cores", place.cores);
}

void add_sizes(OptionTable& table, ModelOptions& model, TuningSizeOptions& tuning) {
  table.texts("sizes", model.sizes);
  table.texts("tuning-sizes", tuning.listed);
  table.text("lengths", tuning.lengths);
  table.choice("hot-sizes", tuning.hot, {"on", "off"});
}

void add_rounding(OptionTable& table, RoundingOptions& rounding) {
  table.flag("exact", rounding.exact);
  table.choice("precision", rounding.precision, {"f32", "tf32", "f16", "bf16", "int8", "auto"});
}

void add_base(OptionTable& table, BaseOptions& base) {
  table.texts("base", base.files);
  table.flag("no-base", base.none);
}

void add_measuring(OptionTable& table, TuneSettings& settings) {
  MeasuringOptions& where = settings.where;
  add_target(table, where.place);
  table.texts("device", where.devices);
  table.text("finals", where.deciding);
  table.text("fleet", where.fleet.folder);
  table.choice("priority", where.priority, {"high", "low"});
  table.flag("allow-emulated", where.allow_emulated);
  table.choice("cache", settings.cache, {"network", "warm", "cold"});
  table.integer("repeat", settings.repeat, 1, 1000);
  table.integer("number", settings.number, 1, 1000000);
  table.number("min-repeat-ms", settings.min_repeat_ms, 0, 1e6);
  table.integer("builders", settings.builders, 1, 1024);
  table.number("build-timeout", settings.build_timeout, 0.01, 86400);
  table.number("run-timeout", where.run_timeout, 0.01, 86400);
  table.flag("no-pin", settings.no_pin);
}

}  // namespace

void OptionTable::add(const std::string& name, std::string expected, std::function<bool(const Json&)> take) {
  rows_.push_back({name, std::move(expected), std::move(take)});
}

void OptionTable::text(const std::string& name, std::string& value) {
  add(name, "a text", [&value](const Json& json) {
    if (!json.is_string() && !json.is_integer()) return false;
    value = json.is_string() ? json.string() : dump(json);
    return true;
  });
}

void OptionTable::texts(const std::string& name, std::vector<std::string>& values) {
  add(name, "a text or a list of texts", [&values](const Json& json) {
    const Json::Array list = json.is_array() ? json.items() : Json::Array{json};
    if (!std::ranges::all_of(list, &Json::is_string)) return false;
    values.clear();
    for (const Json& item : list) values.push_back(item.string());
    return true;
  });
}

void OptionTable::words(const std::string& name, std::vector<std::string>& values) {
  add(name, "a text, a number or a list of them", [&values](const Json& json) {
    const Json::Array list = json.is_array() ? json.items() : Json::Array{json};
    if (!std::ranges::all_of(list, [](const Json& item) { return item.is_string() || item.is_number(); })) return false;
    values.clear();
    for (const Json& item : list) values.push_back(item.is_string() ? item.string() : dump(item));
    return true;
  });
}

void OptionTable::integer(const std::string& name, int& value, int low, int high) {
  add(name, fmt::format("an integer from {} to {}", low, high), [&value, low, high](const Json& json) {
    if (!json.is_integer() || !is_within(json, low, high)) return false;
    value = static_cast<int>(json.integer());
    return true;
  });
}

void OptionTable::seed(const std::string& name, std::uint64_t& value) {
  add(name, "an integer from 0 on", [&value](const Json& json) {
    if (!json.is_integer() || json.integer() < 0) return false;
    value = static_cast<std::uint64_t>(json.integer());
    return true;
  });
}

void OptionTable::number(const std::string& name, double& value, double low, double high) {
  add(name, fmt::format("a number from {} to {}", low, high), [&value, low, high](const Json& json) {
    if (!is_within(json, low, high)) return false;
    value = json.number();
    return true;
  });
}

void OptionTable::number_or_true(const std::string& name, double& value, double usual, double low, double high) {
  add(name, fmt::format("true, or a number from {} to {}", low, high), [&value, usual, low, high](const Json& json) {
    if (!json.is_bool() && !is_within(json, low, high)) return false;
    value = json.is_number() ? json.number() : json.boolean() ? usual : 0;
    return true;
  });
}

void OptionTable::flag(const std::string& name, bool& value) {
  add(name, "true or false", [&value](const Json& json) {
    if (json.is_bool()) value = json.boolean();
    return json.is_bool();
  });
}

void OptionTable::choice(const std::string& name, std::string& value, std::vector<std::string> words) {
  std::string expected = fmt::format("one of {}", fmt::join(words, ", "));
  add(name, std::move(expected), [&value, words = std::move(words)](const Json& json) {
    if (!json.is_string() || std::ranges::find(words, json.string()) == words.end()) return false;
    value = json.string();
    return true;
  });
}

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> names;
  for (const Row& row : rows_) names.push_back(row.name);
  return names;
}

Status OptionTable::read(std::string_view json, const std::string& call) const {
  if (json.empty()) return ok_status();
  const Result<Json> object = parse_json(json);
  if (!object.ok()) return object.error().at(call + ": options are no JSON");
  if (!object->is_object())
    return Error{fmt::format("{}: options are {}; expected a JSON object", call, dump(*object))};
  for (const auto& [name, value] : object->members()) {
    const auto row = std::ranges::find(rows_, name, &Row::name);
    if (row == rows_.end())
      return Error{fmt::format("{}: there is no option {}{}", call, dump(Json(name)), did_you_mean(name, names()))};
    if (!row->take(value))
      return Error{fmt::format("{}: {} is {}; expected {}", call, name, dump(value), row->expected)};
  }
  return ok_status();
}

OptionTable load_options(TuneSettings& settings) {
  OptionTable table;
  add_model(table, settings.model);
  add_measuring(table, settings);
  add_rounding(table, settings.rounding);
  add_base(table, settings.base);
  table.text("output", settings.records);
  return table;
}

OptionTable tune_options(TuneRequest& request) {
  TuneSettings& settings = request.settings;
  OptionTable table = load_options(settings);
  add_sizes(table, settings.model, settings.tuning_sizes);
  table.integer("trials", settings.trials, 1, 1000000000);
  table.number("seconds", request.seconds, 0, 1e8);
  table.number("minutes", request.minutes, 0, 1e6);
  table.integer("early-stop", settings.early_stop, 0, 1000000000);
  table.words("until-ms", settings.until_ms);
  table.number("least-gain", settings.least_gain, 0, 100);
  table.integer("round", settings.round, 1, 100000);
  table.choice("strategy", settings.strategy, known_strategies());
  table.choice("scheduler", settings.scheduler, {"gradient", "round-robin"});
  table.flag("per-task", settings.per_task);
  table.text("tasks", settings.only);
  table.flag("no-seeds", settings.no_seeds);
  table.flag("no-network", settings.no_network);
  table.text("layouts", request.layouts);
  table.choice("covers", request.covers, {"search", "off"});
  table.text("templates", settings.templates);
  table.text("samples", settings.samples);
  table.texts("max-error", settings.max_error);
  table.text("write-quantized", settings.write_quantized);
  table.text("report", request.report);
  table.text("events", request.events);
  return table;
}

OptionTable compile_options(CompileRequest& request) {
  CompileSettings& settings = request.settings;
  OptionTable table;
  add_model(table, settings.model);
  add_sizes(table, settings.model, settings.records.tuning_sizes);
  add_target(table, settings.where.place);
  table.text("records", settings.records.file);
  table.flag("any-inputs", settings.records.any_inputs);
  add_base(table, settings.records.base);
  add_rounding(table, settings.records.rounding);
  table.number_or_true("quick", settings.quick, 2, 0.01, 86400);
  table.texts("device", settings.where.devices);
  table.text("fleet", settings.where.fleet.folder);
  table.text("output", settings.output);
  table.choice("weights", settings.weights, {"model", "seed"});
  table.text("weights-file", settings.weights_file);
  table.flag("weights-only", settings.weights_only);
  table.text("like", settings.like);
  table.text("samples", settings.samples);
  table.texts("max-error", settings.max_error);
  table.text("name", settings.name);
  table.text("header", settings.header);
  table.text("dump-code", settings.listing);
  table.text("ptx", settings.ptx);
  table.flag("cubin", settings.cubin);
  table.flag("allow-emulated", settings.where.allow_emulated);
  table.text("events", request.events);
  return table;
}

}  // namespace whet
