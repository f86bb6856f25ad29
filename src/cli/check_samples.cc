#include "cli/check_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "workflow/samples.h"

namespace whet {
namespace {

using Named = OpenedModel::Named;

std::string list_of_values(const std::vector<Named>& values) {
  std::string list;
  for (const Named& value : values) list += (list.empty() ? "" : ", ") + value.name + " " + to_string(value.type);
  return list.empty() ? "none" : list;
}

/// The places among `have` of each of `wanted`: by their names where these are the same, else in their order. Empty where their number
/// differs, or a shape.
std::vector<std::size_t> places_of(const std::vector<Named>& wanted, const std::vector<Named>& have) {
  if (wanted.size() != have.size()) return {};
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < have.size(); ++i) by_name[have[i].name] = i;
  const bool named = by_name.size() == wanted.size() &&
                     std::ranges::all_of(wanted, [&](const Named& w) { return by_name.contains(w.name); });
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    places.push_back(named ? by_name.at(wanted[i].name) : i);
    if (have[places.back()].type.shape != wanted[i].type.shape) return {};
  }
  return places;
}

/// A compiled model takes no other option.
ModelOptions named_alone(const std::string& library) {
  ModelOptions options;
  options.model = library;
  return options;
}

/// The f32 network: no algorithm that rounds otherwise, and no records, which may have such.
RunnableOptions reference_options(const SampleCheck& check) {
  RunnableOptions options = check.runnable;
  options.model.model = check.against;
  options.records = {};
  options.records.rounding.exact = !options.model.is_compiled();
  options.records.base.none = !options.model.is_compiled();
  options.records.tell = check.runnable.records.tell;
  options.weights_file.clear();
  if (options.model.is_compiled()) {
    options.model = named_alone(check.against);
    options.place.target.clear();
  }
  return options;
}

Error differs(const SampleCheck& check, const std::string& what, const std::vector<Named>& is,
              const std::vector<Named>& should) {
  return {fmt::format("check: {} {} {}, and {} {}; answers compare where these are the same",
                      check.runnable.model.model, what, list_of_values(is), check.against, list_of_values(should))};
}

/// Answers of one model and of the other.
struct AnswerPair {
  std::vector<std::vector<Tensor>> got, want;
};

Result<AnswerPair> answers_on(const Samples& samples, const SampleCheck& check, OpenedModel& model,
                              OpenedModel& reference) {
  const std::vector<std::size_t> inputs = places_of(reference.inputs(), model.inputs());
  const std::vector<std::size_t> outputs = places_of(model.outputs(), reference.outputs());
  if (inputs.empty()) return differs(check, "takes", model.inputs(), reference.inputs());
  if (outputs.empty()) return differs(check, "gives", model.outputs(), reference.outputs());
  AnswerPair answers;
  for (const Sample& sample : samples.all) {
    std::vector<Tensor> taken;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      taken.push_back(held_as(sample.inputs[inputs[i]], reference.inputs()[i].type.dtype));
    WHET_TRY(const std::vector<Tensor> want, reference.run(std::move(taken)));
    WHET_TRY(std::vector<Tensor> got, model.run(sample.inputs));
    std::vector<Tensor> ordered;
    for (std::size_t place : outputs) ordered.push_back(want[place]);
    answers.got.push_back(std::move(got)), answers.want.push_back(std::move(ordered));
  }
  return answers;
}

std::string amount(const JudgedLimit& limit) { return fmt::format("{:.4g}", limit.measured); }

void print_judged(const Judged& judged, const Samples& samples, bool json) {
  Json limits = Json::array();
  Table table(
      {{"Output", false}, {"Measure", false}, {"Worst"}, {"Limit", false}, {"Of the limit"}, {"Sample", false}});
  for (const JudgedLimit& limit : judged.limits) {
    const bool of_all = limit.allowed.measure == Measure::top1;
    const std::string sample = of_all ? "all" : samples.all[limit.sample].name;
    Allowed alone = limit.allowed;
    alone.output.clear();
    limits.add(Json::object()
                   .set("output", limit.output)
                   .set("measure", std::string(name_of(limit.allowed.measure)))
                   .set("limit", limit.allowed.limit)
                   .set("measured", limit.measured)
                   .set("share", limit.share)
                   .set("sample", sample)
                   .set("kept", limit.share <= 1));
    table.add({limit.output, std::string(name_of(limit.allowed.measure)), amount(limit), to_text(alone),
               fmt::format("{:.2f}", limit.share), sample});
  }
  if (json)
    fmt::print("{}\n", dump(Json::object()
                                .set("kept", judged.kept())
                                .set("samples", static_cast<std::int64_t>(samples.all.size()))
                                .set("limits", limits),
                            2));
  else
    print(table);
}

}  // namespace

Result<int> check_samples(const SampleCheck& check) {
  RunnableOptions own = check.runnable;
  if (own.model.is_compiled()) own.model = named_alone(own.model.model);  // the other options are for --against
  WHET_TRY(Runnable model, open_runnable(own, {}));
  if (!model.model.sizes().empty())
    return Error{"check: " + check.runnable.model.model + " is for several sizes; --samples is for models of one size",
                 ErrorKind::wrong_use};
  std::vector<InputSlot> slots;
  for (const Named& input : model.model.inputs()) slots.push_back({input.name, input.type});
  WHET_TRY(const Samples samples, read_samples(check.samples, slots));
  if (!check.json)
    for (const std::string& line : sample_lines(samples, slots))
      fmt::print("{} of {}: {}\n", counted(std::ssize(samples.all), "sample"), samples.from, line);
  WHET_TRY(Runnable reference, open_runnable(reference_options(check), {}));
  WHET_TRY(const AnswerPair answers, answers_on(samples, check, model.model, reference.model));
  std::vector<std::string> outputs;
  for (const Named& output : model.model.outputs()) outputs.push_back(output.name);
  WHET_TRY(const Judged judged, judge(check.accuracy, outputs, answers.got, answers.want));
  print_judged(judged, samples, check.json);
  if (!check.json)
    fmt::print("{}: {} against {} in f32, by {}: {}\n", check.runnable.model.model,
               judged.kept() ? "within the limits" : to_text(judged.worst()), check.against,
               counted(std::ssize(samples.all), "sample"), judged.kept() ? "yes" : "no");
  return judged.kept() ? kDone : kFailed;
}

}  // namespace whet
