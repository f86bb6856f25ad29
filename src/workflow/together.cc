#include "workflow/together.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

#include "base/parallel.h"
#include "tuner/footprint.h"
#include "workflow/run_end.h"

namespace whet {
namespace {

constexpr int kMostRuns = 1000000;

Result<Prepared> prepare_one(const ModelRuns& asked, const TuneSettings& settings, const Prepared& place) {
  Prepared prepared = place;
  prepared.name = asked.model.name();
  WHET_TRY(prepared.fused, load_fused(asked.model, {}, settings.rounding.passes(place.place.target)));
  WHET_TRY(prepared.tasks, extract_tasks(prepared.fused, place.place.target));
  prepared.chosen = prepared.tasks;
  prepared.ids.resize(prepared.tasks.size());
  std::iota(prepared.ids.begin(), prepared.ids.end(), 0);
  prepared.footprint = network_footprint(prepared.fused, prepared.tasks, settings.rounding.exact);
  return prepared;
}

/// The place of a kernel among tasks; their number where it is not among them.
std::size_t place_of(const Task& task, const std::vector<Task>& tasks) {
  const auto same = [&](const Task& each) {
    return each.key == task.key && each.within == task.within && same_dag(each.dag, task.dag);
  };
  return static_cast<std::size_t>(std::ranges::find_if(tasks, same) - tasks.begin());
}

/// Adds the tasks of one of the networks to those of all.
void add_tasks(const std::vector<Task>& own, std::size_t network, int runs, Prepared& all) {
  for (const Task& task : own) {
    const std::size_t at = place_of(task, all.tasks);
    if (at == all.tasks.size()) {
      all.tasks.push_back(task);
      all.tasks.back().weight = 0;
      all.tasks.back().groups.clear();
      all.uses.emplace_back(all.networks.size(), 0.0);
    }
    all.tasks[at].weight += runs * task.weight;
    all.uses[at][network] += task.weight;
  }
}

}  // namespace

ModelRuns parse_runs(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  ModelRuns asked;
  asked.model.model = text;
  std::error_code code;
  if (colon == std::string::npos || colon == 0 || std::filesystem::exists(text, code)) return asked;
  const char *const begin = text.data() + colon + 1, *const end = text.data() + text.size();
  int runs = 0;
  const auto [read, error] = std::from_chars(begin, end, runs);
  if (error != std::errc() || read != end || runs < 1 || runs > kMostRuns) return asked;
  asked.model.model = text.substr(0, colon);
  asked.runs = runs;
  return asked;
}

std::vector<double> runs_of(const TuneSettings& settings) {
  std::vector<double> runs;
  for (const ModelRuns& asked : settings.together) runs.push_back(asked.runs);
  return runs;
}

Result<std::vector<double>> until_of(const TuneSettings& settings) {
  const auto wrong = [](std::string sentence) { return Error{std::move(sentence), ErrorKind::wrong_use}; };
  if (settings.until_ms.empty()) return std::vector<double>();
  if (!settings.only.empty()) return wrong("--until-ms is the sum of all tasks; leave --tasks out");
  if (!settings.model.sizes.empty()) return wrong("--until-ms is of a network of one size; leave --sizes out");
  std::vector<ModelOptions> models = {settings.model};
  if (!settings.together.empty()) models.clear();
  for (const ModelRuns& asked : settings.together) models.push_back(asked.model);
  std::vector<double> until(models.size(), 0);
  for (const std::string& entry : settings.until_ms) {
    const std::size_t equals = entry.rfind('=');
    const std::string name = equals == std::string::npos ? "" : entry.substr(0, equals);
    const std::string number = entry.substr(equals == std::string::npos ? 0 : equals + 1);
    double ms = 0;
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), ms);
    if (failed != std::errc() || end != number.data() + number.size() || !(ms > 0 && ms < 1e9))
      return wrong("--until-ms is \"" + entry + "\"; expected milliseconds, like 4.0, or of several models a.onnx=4.0");
    if (name.empty() && models.size() > 1)
      return wrong("--until-ms " + entry + " names no model, and there are several; expected " + models[0].model + "=" +
                   number);
    const auto model = std::ranges::find_if(
        models, [&](const ModelOptions& each) { return name.empty() || each.model == name || each.name() == name; });
    if (model == models.end()) {
      std::string all;
      for (const ModelOptions& each : models) all += (all.empty() ? "" : ", ") + each.model;
      return wrong("--until-ms " + entry + ": no model is called so; there is " + all);
    }
    double& seconds = until[static_cast<std::size_t>(model - models.begin())];
    if (seconds != 0) return wrong("--until-ms " + entry + ": " + model->model + " has a latency already");
    seconds = ms / 1e3;
  }
  return until;
}

Result<Prepared> prepare_together(const TuneSettings& settings, Prepared place) {
  Prepared all = place;
  for (const ModelRuns& asked : settings.together) {
    WHET_TRY(Prepared one, prepare_one(asked, settings, place));
    all.name += (all.name.empty() ? "" : " + ") + (asked.runs > 1 ? std::to_string(asked.runs) + " " : "") + one.name;
    all.networks.push_back(std::move(one));
  }
  for (std::size_t n = 0; n < all.networks.size(); ++n)
    add_tasks(all.networks[n].tasks, n, settings.together[n].runs, all);
  const auto most = std::ranges::max_element(all.networks, touches_less, &Prepared::footprint);
  all.fused = most->fused, all.footprint = most->footprint;
  return all;
}

void end_together(const TuneSettings& settings, const Prepared& prepared, DeviceMeasurer& measurer,
                  const Devices& devices, RecordFile& file, TuneListener& listener, Tuned& tuned) {
  const AlternativeOptions none{.forms = {}, .covers = false};
  for (std::size_t n = 0; n < prepared.networks.size(); ++n) {
    TuneSettings own = settings;
    own.model = settings.together[n].model;
    own.time = settings.time.next_run(seconds_now(), static_cast<int>(prepared.networks.size() - n), 0);
    Prepared network = prepared.networks[n];
    network.base = prepared.base;
    Tuned part;
    part.rates = tuned.rates;
    part.progress.placements = tuned.progress.placements;
    RunEnd end(own, network, none, listener);
    end.learn(tuned.progress);
    end.run(measurer, devices, file, part);
    tuned.progress.placements = part.progress.placements;
    tuned.truths.push_back(std::move(part.truth));
    tuned.left_out.insert(tuned.left_out.end(), part.left_out.begin(), part.left_out.end());
    if (settings.where.interrupted && settings.where.interrupted()) return;
  }
}

}  // namespace whet
