// whet repro of a record base: its admission test.

#include "cli/repro_base.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/counted.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/json.h"
#include "tensor_files/file.h"
#include "workflow/admission.h"

namespace whet {
namespace {

Json to_json(const ReplayedEntry& entry) {
  return Json::object()
      .set("task", entry.task)
      .set("sketch", entry.sketch)
      .set("claimed", entry.claimed)
      .set("now", entry.now > 0 ? Json(entry.now) : Json())
      .set("over_parts", entry.over_parts > 0 ? Json(entry.over_parts) : Json())
      .set("over_parts_now", entry.over_parts_now > 0 ? Json(entry.over_parts_now) : Json())
      .set("out", entry.out);
}

std::string replayed_text(double ratio) { return ratio > 0 ? fmt::format("{:.3f}", ratio) : "–"; }

std::int64_t out_of(const Admission& admission) {
  return std::ranges::count_if(admission.entries, [](const ReplayedEntry& entry) { return !entry.out.empty(); });
}

/// The median of gain now over claimed gain; 0: nothing has a time.
double agreement(const Admission& admission) {
  std::vector<double> ratios;
  for (const ReplayedEntry& entry : admission.entries)
    if (entry.now > 0) ratios.push_back(entry.now / entry.claimed);
  std::ranges::sort(ratios);
  return ratios.empty() ? 0 : ratios[ratios.size() / 2];
}

Json to_json(const BaseQuestion& question, const RecordBase& base, const std::string& origin,
             const Admission& admission) {
  Json entries = Json::array();
  for (const ReplayedEntry& entry : admission.entries) entries.add(to_json(entry));
  const double median = agreement(admission);
  return Json::object()
      .set("base", base.name())
      .set("origin", origin)
      .set("output", question.output)
      .set("within", question.within)
      .set("stay", std::ssize(admission.entries) - out_of(admission))
      .set("out", out_of(admission))
      .set("others", admission.others)
      .set("agreement", median > 0 ? Json(median) : Json())
      .set("interrupted", admission.interrupted)
      .set("seconds", admission.seconds)
      .set("entries", std::move(entries));
}

void print_entries(const Admission& admission) {
  Table table({{"Task", false}, {"Sketch", false}, {"Claimed"}, {"Now"}, {"Parts / chain"}, {"Now"}, {"Stays", false}});
  for (const ReplayedEntry& entry : admission.entries)
    table.add({entry.task, entry.sketch, replayed_text(entry.claimed), replayed_text(entry.now),
               replayed_text(entry.over_parts), replayed_text(entry.over_parts_now),
               entry.out.empty() ? "yes" : "no: " + entry.out});
  print(table);
}

void print_text(const BaseQuestion& question, const std::string& origin, const Admission& admission) {
  if (question.verbose && !admission.entries.empty()) print_entries(admission);
  const std::int64_t all = std::ssize(admission.entries), out = out_of(admission);
  fmt::print("{} of {} of {} {}, {} {} out; gain now / claimed gain: median {:.3f}\n", all - out,
             counted(all, "entry", "entries"), origin, for_count(all - out, "stays", "stay"), out,
             for_count(out, "goes", "go"), agreement(admission));
  if (out > 0 && !question.verbose) fmt::print("(--verbose names them)\n");
  if (admission.interrupted)
    fmt::print("Interrupted; no base is written\n");
  else if (!question.output.empty())
    fmt::print("{} written, with {} of others\n", question.output, counted(admission.others, "entry", "entries"));
}

/// Says what happens.
class AdmissionTalk : public AdmissionListener {
 public:
  AdmissionTalk(const ReproSettings& settings, const BaseQuestion& question, const RecordBase& base,
                EventStream* events)
      : settings_(settings), question_(question), base_(base), events_(events) {}

  void started(const Prepared& prepared, std::size_t entries) override {
    if (!question_.json)
      fmt::print("whet {} · {} · {} of {} · {}\n", version(), settings_.measuring.model.name(),
                 counted(std::int64_t(entries), "entry", "entries"), base_.name(), place_text(prepared));
    if (events_)
      events_->write("started", Json::object()
                                    .set("whet", version())
                                    .set("model", settings_.measuring.model.text())
                                    .set("base", base_.name())
                                    .set("target", to_string(prepared.place.target))
                                    .set("where", place_text(prepared))
                                    .set("emulated", prepared.emulated)
                                    .set("entries", static_cast<std::int64_t>(entries)));
  }
  void entries(const std::vector<ReplayedEntry>& list, std::size_t done, std::size_t all) override {
    if (!question_.json) show_progress(done, all, "entries");
    if (!events_) return;
    Json entries = Json::array();
    for (const ReplayedEntry& entry : list) entries.add(to_json(entry));
    events_->write("replayed", Json::object()
                                   .set("done", static_cast<std::int64_t>(done))
                                   .set("all", static_cast<std::int64_t>(all))
                                   .set("entries", std::move(entries)));
  }

 private:
  const ReproSettings& settings_;
  const BaseQuestion& question_;
  const RecordBase& base_;
  EventStream* events_;
};

}  // namespace

void show_progress(std::size_t done, std::size_t all, const char* what) {
  if (!isatty(STDERR_FILENO)) return;
  command_terminal(stderr, "\r\x1b[K");
  if (done < all) fmt::print(stderr, "{} of {} {}", done, all, what);
}

Result<int> remeasure_base(const ReproSettings& settings, const BaseQuestion& question, const RecordBase& base,
                           Workplace& place, Zygote& zygote, EventStream* events) {
  const std::string origin = question.origin.empty() ? settings.measuring.model.name() : question.origin;
  AdmissionTalk talk(settings, question, base, events);
  WHET_TRY(const Admission admission, repro_base(settings, base, origin, question.within, place, zygote, talk));
  if (!admission.interrupted && !question.output.empty())
    WHET_RETURN_IF_ERROR(write_file(question.output, admission.admitted.text()));
  const Json json = to_json(question, base, origin, admission);
  if (events) events->write("finished", json);
  if (question.json)
    fmt::print("{}\n", dump(json, 2));
  else
    print_text(question, origin, admission);
  if (admission.interrupted) return kInterrupted;
  return question.output.empty() && out_of(admission) > 0 ? kFailed : kDone;
}

}  // namespace whet
