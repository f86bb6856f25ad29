#include "workflow/sample_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

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
RunnableOptions reference_options(const RunnableOptions& of, const std::string& against) {
  RunnableOptions options = of;
  options.model.model = against;
  options.records = {};
  options.records.rounding.exact = !options.model.is_compiled();
  options.records.base.none = !options.model.is_compiled();
  options.records.tell = of.records.tell;
  options.weights_file.clear();
  if (options.model.is_compiled()) {
    options.model = named_alone(against);
    options.place.target.clear();
  }
  return options;
}

/// Two models, by their names.
struct Compared {
  const std::string &model, &against;
};

Error differs(const Compared& names, const std::string& what, const std::vector<Named>& is,
              const std::vector<Named>& should) {
  return {fmt::format("{} {} {}, and {} {}; answers compare where these are the same", names.model, what,
                      list_of_values(is), names.against, list_of_values(should))};
}

/// Answers of one model and of the other.
struct AnswerPair {
  std::vector<std::vector<Tensor>> got, want;
};

Result<AnswerPair> answers_on(const Samples& samples, const Compared& names, OpenedModel& model,
                              OpenedModel& reference) {
  const std::vector<std::size_t> inputs = places_of(reference.inputs(), model.inputs());
  const std::vector<std::size_t> outputs = places_of(model.outputs(), reference.outputs());
  if (inputs.empty()) return differs(names, "takes", model.inputs(), reference.inputs());
  if (outputs.empty()) return differs(names, "gives", model.outputs(), reference.outputs());
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

}  // namespace

Result<SampleJudgement> judge_on_samples(const RunnableOptions& options, const std::string& against,
                                         const std::string& path, const Accuracy& accuracy) {
  RunnableOptions own = options;
  if (own.model.is_compiled()) own.model = named_alone(own.model.model);  // the other options are for `against`
  WHET_TRY(Runnable model, open_runnable(own, {}));
  if (!model.model.sizes().empty())
    return Error{options.model.model + " is for several sizes; --samples is for models of one size",
                 ErrorKind::wrong_use};
  SampleJudgement found;
  for (const Named& input : model.model.inputs()) found.slots.push_back({input.name, input.type});
  WHET_TRY(found.samples, read_samples(path, found.slots));
  WHET_TRY(Runnable reference, open_runnable(reference_options(options, against), {}));
  WHET_TRY(const AnswerPair answers,
           answers_on(found.samples, {options.model.model, against}, model.model, reference.model));
  std::vector<std::string> outputs;
  for (const Named& output : model.model.outputs()) outputs.push_back(output.name);
  WHET_TRY(found.judged, judge(accuracy, outputs, answers.got, answers.want));
  return found;
}

}  // namespace whet
