#include "report/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "base/rng.h"
#include "base/testing/checkout.h"
#include "report/testing/made_up.h"

namespace whet {
namespace page_test {

using testing_report::large;
using testing_report::made_up;

/// Holds `text` against a file of testdata/, or writes it there if WHET_RENEW_GOLDEN is set.
void expect_golden(const std::string& name, const std::string& text) {
  const std::string file = checkout_path("src/report/testdata/") + name;
  if (std::getenv("WHET_RENEW_GOLDEN") != nullptr) std::ofstream(file) << text;
  std::ostringstream there;
  there << std::ifstream(file).rdbuf();
  EXPECT_TRUE(there.str() == text) << name << " differs; WHET_RENEW_GOLDEN=1 writes it anew";
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

/// The first tag that does not fit what is open, or "" for a page whose elements all close in order.
std::string first_wrong_tag(const std::string& html) {
  const std::set<std::string> without_end = {"meta", "link", "input", "br", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != html.npos; at = html.find('<', at)) {
    const std::size_t end = html.find('>', at);
    if (end == html.npos) return html.substr(at, 40);
    const std::string tag = html.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag.starts_with('/') ? 1 : 0, tag.find_first_of(" />", 1) - (tag.starts_with('/') ? 1 : 0));
    at = end;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != name) return "</" + name + "> in " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (!tag.ends_with('/') && !without_end.contains(name)) {
      open.push_back(name);
      if (name == "script" || name == "style") at = html.find("</" + name, at);  // their text is not the page's
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> without an end";
}

TEST(ReportPage, IsAsItWas) {
  expect_golden("page.html", report_html(made_up()));
  ReportData begun = made_up();
  begun.live = true;
  begun.tasks.resize(1);
  begun.network = {}, begun.profile = {}, begun.layouts = {}, begun.precision = {}, begun.failures = {},
  begun.phases = {};
  expect_golden("live.html", report_html(begun));
}

std::string totals_of(const ReportData& data) {
  const std::string html = report_html(data);
  const std::size_t at = html.find("<p class=\"totals\">");
  return at == html.npos ? "" : html.substr(at + 18, html.find('\n', at) - at - 18);
}

TEST(ReportPage, RelatesItsTotalsInOneLine) {
  ReportData data = made_up();
  EXPECT_EQ(totals_of(data),
            "Sum of the tasks by default schedules <b>426\u00a0µs</b> → tuned <b>225\u00a0µs</b> → with the plan's "
            "kernels <b>211\u00a0µs</b> (predicted) → measured in the network <b>231\u00a0µs</b> (+9.5%), by default "
            "schedules <b>430\u00a0µs</b> (its sum +0.9%).");
  data.layouts = {};
  data.tasks[2].best_seconds = INFINITY;
  EXPECT_EQ(totals_of(data),
            "Sum of 2 of 3 tasks by default schedules <b>421\u00a0µs</b> → tuned <b>220\u00a0µs</b> (predicted) → "
            "measured in the network <b>231\u00a0µs</b>, by default schedules <b>430\u00a0µs</b>.");
  data.network = {};
  EXPECT_EQ(totals_of(data), "") << "the first sentence has both sums";
}

TEST(ReportPage, BeginsWithTheGain) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html, "</h1>\n<section id=\"summary\">\n<p class=\"lead\">One inference takes"), 1u);
}

TEST(ReportPage, NamesTheOperationOfEveryBar) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html,
                  "<li><i class=\"k3b\"></i>1 <a href=\"#task-1\">maxpool 28x28x64 k2</a> 21.0\u00a0µs → "
                  "20.0\u00a0µs</li>"),
            1u);
  const std::string many = report_html(large(20, 2));
  EXPECT_EQ(count(many, "<summary>8 more bars</summary>"), 1u);
  EXPECT_EQ(first_wrong_tag(many), "");
}

TEST(ReportPage, HasARowForThePrecisionOfEachLayer) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html,
                  "1 of 3 layers computes fewer bits. One inference takes 160\u00a0µs, in f32 199\u00a0µs: 0.80 of the "
                  "time, measured alternately. Allowed: 1%. The worst of 16 samples used 0.66 of it and errs by 0.66%, "
                  "the worst of 16 that were held out 0.81 and 0.81%."),
            1u);
  EXPECT_EQ(count(html, "<tr><td>c1</td><td>nhwc -&gt; bf16</td>"), 1u);
  EXPECT_EQ(count(html, "<td>bf16 alone breaks the limit</td></tr>"), 1u);
  EXPECT_EQ(count(html, "<td>its 3 terms are no pairs</td></tr>"), 1u);
}

TEST(ReportPage, SaysThatAPlanIsOfOneType) {
  ReportData data = made_up();
  data.precision.plan.uniform = "u8", data.precision.plan.allowed.clear();
  EXPECT_EQ(count(report_html(data),
                  "Every layer that can multiplies bytes, whatever it errs by. The worst of 16 samples errs by 0.66%, "
                  "the worst of 16 that were held out by 0.81%."),
            1u);
}

TEST(ReportPage, SaysWhereNoPlanInFewerBitsCounts) {
  ReportData data = made_up();
  data.precision.adopted = false, data.precision.note = "the records' plan is of <other> weights";
  EXPECT_EQ(count(report_html(data), "Every layer computes f32: the records&#39; plan is of &lt;other&gt; weights."),
            1u);
  data.precision.layers.clear();
  EXPECT_EQ(count(report_html(data), "are of &lt;other&gt; weights") +
                count(report_html(data), "is of &lt;other&gt; weights"),
            1u)
      << "a note without layers is told";
  data.precision = {};
  EXPECT_EQ(count(report_html(data), "id=\"precision\""), 0u);
}

TEST(ReportPage, FoldsTheCurvesOfTasksWithoutGain) {
  ReportData data = made_up();
  EXPECT_EQ(count(report_html(data), "without gain"), 0u);
  data.tasks[1].best_seconds = data.tasks[1].default_seconds;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html,
                  "<details><summary>1 curve of a task without gain</summary>\n<div class=\"small\">\n<figure "
                  "data-task=\"1\">"),
            1u);
  EXPECT_EQ(count(html, "<div class=\"small\">\n<figure data-task=\"0\">"), 1u);
}

TEST(ReportPage, GivesNoPercentageOfADisturbedNetwork) {
  ReportData data = made_up();
  data.network.disturbed = true;
  EXPECT_EQ(count(totals_of(data), "%"), 0u);
  EXPECT_EQ(count(report_html(data), "The whole network's times are far from that: another program ran"), 1u);
}

TEST(ReportPage, OfNothingSaysSo) {
  const std::string html = report_html({});
  EXPECT_EQ(first_wrong_tag(html), "");
  EXPECT_NE(html.find("Nothing has been measured yet."), html.npos);
  EXPECT_EQ(count(html, "<svg"), 0u);
}

TEST(ReportPage, HasAnEndForEveryElement) {
  EXPECT_EQ(first_wrong_tag(report_html(made_up())), "");
  EXPECT_EQ(first_wrong_tag("<p><b></p></b>"), "</p> in b");
  EXPECT_EQ(first_wrong_tag("<p>"), "<p> without an end");
}

TEST(ReportPage, SaysInASentenceWhatEachSectionShows) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html, "<section id="), 14u);
  EXPECT_EQ(count(html, "<p class=\"finding\">") + count(html, "<p class=\"lead\">"), 14u);
  EXPECT_EQ(count(html, "<p class=\"finding\"></p>"), 0u);
  EXPECT_EQ(count(html, "<svg"), count(html, "role=\"img\" aria-label=") + count(html, "aria-hidden=\"true\"><"));
}

TEST(ReportPage, AsksForNothing) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html, "http://") + count(html, "https://") + count(html, "url(") + count(html, " src="), 0u);
  EXPECT_EQ(count(html, "default-src 'none'"), 1u);
}

TEST(ReportPage, NamesTheLongestPhases) {
  ReportData data = made_up();
  data.phases = {{"propose", 0.1}, {"measure", 15}, {"check", 2}, {"record", 0.1}, {"learn", 1}, {"finals", 4}};
  const std::string html = report_html(data);
  for (const char* phase : {">measure 15\u00a0s<", ">check 2\u00a0s<", ">finals 4\u00a0s<"})
    EXPECT_EQ(count(html, phase), 1u) << phase;
  EXPECT_EQ(count(html, ">record 0\u00a0s<"), 0u) << "is as long as a letter";
}

TEST(ReportPage, TellsOnceWhatIsTrueOfMostTasks) {
  ReportData data = made_up();
  data.tasks[0].note = data.tasks[1].note = "rests", data.tasks[2].note = "space used up";
  const std::string html = report_html(data);
  EXPECT_EQ(count(html, "rests"), 1u);
  EXPECT_EQ(count(html, "Of 2 tasks the tuner noted: rests."), 1u);
  EXPECT_EQ(count(html, "<small>space used up</small>"), 1u);
}

TEST(ReportPage, CountsFailuresWhereThereAreSome) {
  ReportData data = made_up();
  EXPECT_EQ(count(report_html(data), ">Failed</th>"), 2u) << "of tasks, and of devices";
  for (ReportTask& task : data.tasks)
    for (ReportTrial& trial : task.trials) trial.code = OutcomeCode::ok;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html, ">Failed</th>"), 1u);
  EXPECT_EQ(first_wrong_tag(html), "");
}

TEST(ReportPage, ComparesSumsOverTheSameTasks) {
  ReportData data = made_up();
  data.network = {};
  data.tasks[0].default_seconds = INFINITY;  // 2 x 100 us by its best alone
  data.tasks[2].best_seconds = data.tasks[2].default_seconds = INFINITY;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html,
                  "1 of 3 tasks, each alone, takes <b>20.0\u00a0µs</b>; by default schedules it takes 21.0\u00a0µs: "
                  "<b>1.05×</b>. 1 of 1 task gives 100% of what was saved. 1 of 3 tasks was not reached and runs on "
                  "default schedules."),
            1u)
      << html.substr(html.find("class=\"lead\""), 600);
}

TEST(ReportPage, HasNoGainOfAModelWithoutTasksOrOfTheSameSchedules) {
  ReportData data = made_up();
  data.network.same_schedules = true;
  EXPECT_NE(report_html(data).find(
                "One inference takes <b>231\u00a0µs</b>. It runs on default schedules: no task has a better one yet."),
            std::string::npos);
  data.tasks.clear();
  const std::string html = report_html(data);
  EXPECT_NE(html.find("One inference takes <b>140\u00a0µs</b>. The model has no tasks: there is nothing to tune."),
            std::string::npos);
  EXPECT_EQ(count(html, "×</b>"), 0u);
}

TEST(ReportPage, HoldsNoDisturbedTimesAgainstThePrediction) {
  ReportData data = made_up();
  EXPECT_EQ(count(report_html(data), ">+25%</td>"), 1u);
  for (ReportStep& step : data.profile.steps) step.predicted_seconds /= 3;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html, ">+2"), 0u);
  EXPECT_EQ(
      count(
          html,
          "2 of them take 3.2 times the predicted time: another program ran, or the machine is shared (whet doctor)."),
      1u)
      << html.substr(html.find("id=\"timeline\""), 600);
}

TEST(ReportPage, DoubtsAPeakThatATaskIsFarAbove) {
  ReportData data = made_up();
  EXPECT_EQ(count(report_html(data), "that these threads can; the fastest"), 1u);
  data.rates.gflops = 4;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html, "The peak of 4 was measured beside another program, or on a shared machine (whet doctor)"), 1u);
  EXPECT_EQ(count(html, "that these threads can"), 0u);
}

TEST(ReportPage, SaysWhatBecameOfPlansThatWereTried) {
  ReportData data = made_up();
  data.layouts.tried = {{.kernels = 2, .network_seconds = 230e-6, .usual_network_seconds = 231e-6}};
  EXPECT_EQ(count(report_html(data),
                  "<li>230\u00a0µs with 2 other kernels, the usual plan 231\u00a0µs alternately; not taken: 1% in the "
                  "median of seven is asked; it had 0.4%</li>"),
            1u);
}

TEST(ReportPage, ComparesAChainWithTheSumOfItsUsualKernels) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html,
                  "<td>chain of 2</td><td class=\"n\" data-v=\"1.5e-05\">15.00</td>"
                  "<td class=\"n\" data-v=\"1.8e-05\">18.00</td><td>measured</td>"),
            1u);
  EXPECT_EQ(count(html, "excess"), 0u);
}

TEST(ReportPage, KeepsWhatTheNetworkTookLongerOutOfAKernelsTime) {
  ReportData data = made_up();
  for (ReportPlan* plan : {&data.layouts.chosen, &data.layouts.usual})
    for (ReportKernel& kernel : plan->kernels) kernel.excess = 5e-6, kernel.seconds += 5e-6;
  ReportKernel& first = data.layouts.chosen.kernels.front();
  first.usual_excess = 5e-6, first.usual_seconds += 5e-6;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html,
                  ">90.00</td><td class=\"n\" data-v=\"0.0001\">100.00</td><td class=\"n\" data-v=\"5e-06\">5.00</td>"
                  "<td class=\"n\" data-v=\"5e-06\">5.00</td><td>measured</td>"),
            1u);
  EXPECT_EQ(count(html,
                  "25.0\u00a0µs of the first and 15.0\u00a0µs of the second are what the network took longer than its "
                  "kernels alone."),
            1u);
}

NetworkAtSizes sized_network() {
  return {4,       "1f00",
          "bert",  "n=1..512",
          "cpu",   {{{24}, 0.21, 4e-4, 3e-4, 2.8e-4, true}, {{512}, 0, 8e-3, 4e-3, 0, false}},
          "0.2.0", "2026-12-01T10:00:00Z"};
}

TEST(ReportPage, ShowsTheNetworkAtItsSizes) {
  ReportData data = made_up();
  EXPECT_EQ(count(report_html(data), "id=\"sizes\""), 0u);
  data.at_sizes = {sized_network()};
  const std::string html = report_html(data);
  EXPECT_EQ(count(html, "id=\"sizes\""), 1u);
  EXPECT_EQ(count(html,
                  "Tuned, bert at n=1..512 is 1.33 to 2.00 times as fast as untuned, by one library for all sizes; "
                  "libraries for one size alone take 0.93 of its time; 1 size has kernels of its own."),
            1u);
  EXPECT_EQ(first_wrong_tag(html), "");
}

TEST(ReportPage, EscapesWhateverNamesHold) {
  ReportData data = made_up();
  const std::string evil = "\"><script>alert('1')</script>&\xff\x01<b";
  data.model = data.target = data.machine = data.records = evil;
  data.notes = data.commands = {evil};
  for (ReportTask& task : data.tasks)
    task.name = task.label.op = task.note = task.limit = task.limit_why = task.schedule = task.choices = evil;
  for (ReportKernel& kernel : data.layouts.chosen.kernels)
    kernel.node = kernel.op = kernel.label.op = kernel.from = kernel.cover = evil;
  for (ReportCover& cover : data.layouts.covers) cover.kind = evil, cover.kernels.front().op = evil;
  for (ReportStep& step : data.profile.steps) step.node = step.op = step.label.op = evil;
  data.profile.workers = {evil};
  data.failures = {{OutcomeCode::crash, evil, 1}};
  data.devices[0].name = data.devices[0].governor = evil;
  data.phases = {{evil, 1}};
  data.at_sizes = {sized_network()};
  data.at_sizes[0].name = data.at_sizes[0].ranges = evil;
  const std::string html = report_html(data);
  EXPECT_EQ(count(html, "<script"), 1u);
  EXPECT_EQ(count(html, "alert('1')") + count(html, "\xff") + count(html, "\x01"), 0u);
  EXPECT_EQ(first_wrong_tag(html), "");
}

/// A figure of any kind.
double any_number(Rng& rng) {
  const double some[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-300, 1e300, 1e-6, 1e-3, 1};
  return rng.uniform() < 0.5 ? some[rng.below(std::size(some))] : rng.uniform() * 1e-3;
}

TEST(ReportPage, HoldsNoFigureThatIsNone) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    ReportData data = made_up();
    data.network = {any_number(rng), any_number(rng), any_number(rng), rng.below(2) == 0, rng.below(2) == 0};
    data.rates = {
        .gflops = any_number(rng), .l1_gbs = any_number(rng), .l3_gbs = any_number(rng), .memory_gbs = any_number(rng)};
    for (ReportTask& task : data.tasks) {
      task.default_seconds = any_number(rng), task.best_seconds = any_number(rng), task.limit_seconds = any_number(rng);
      task.flops = any_number(rng), task.bytes = any_number(rng);
      for (ReportTrial& trial : task.trials) trial.seconds = any_number(rng), trial.at = any_number(rng);
    }
    for (ReportPlan* plan : {&data.layouts.chosen, &data.layouts.runner_up, &data.layouts.usual}) {
      plan->seconds = any_number(rng);
      for (ReportKernel& kernel : plan->kernels) {
        kernel.seconds = any_number(rng), kernel.excess = any_number(rng);
        kernel.usual_seconds = any_number(rng), kernel.usual_excess = any_number(rng);
      }
    }
    for (ReportCover& cover : data.layouts.covers)
      cover.seconds = any_number(rng), cover.usual_seconds = any_number(rng);
    for (ReportStep& step : data.profile.steps)
      step.seconds = any_number(rng), step.predicted_seconds = any_number(rng);
    for (ReportStretch& stretch : data.profile.stretches)
      stretch.begin = any_number(rng), stretch.end = any_number(rng);
    for (double& end : data.profile.ends) end = rng.below(2) == 0 ? end : any_number(rng);
    for (ReportPace& pace : data.paces) pace.at = any_number(rng), pace.pace = any_number(rng);
    data.at_sizes = {sized_network()};
    for (TimedAtSizes& point : data.at_sizes[0].points)
      point.share = any_number(rng), point.untuned = any_number(rng), point.ranged = any_number(rng),
      point.exact = any_number(rng);
    const std::string html = report_html(data);
    const std::string body = html.substr(html.find("<body>"), html.find("<script>") - html.find("<body>"));
    EXPECT_EQ(first_wrong_tag(html), "") << seed;
    for (const char* none : {"nan", "inf", "e+2", "e+3"}) {
      const std::size_t at = body.find(none);
      if (at == body.npos || body.compare(at, 9, "inference") == 0) continue;
      ADD_FAILURE() << "seed " << seed << ": " << body.substr(at < 60 ? 0 : at - 60, 120);
      return;
    }
  }
}

TEST(ReportPage, DrawsALaneAWorkerAsItWasWatched) {
  const std::string html = report_html(made_up());
  EXPECT_EQ(count(html, "core 0 97%</text>"), 1u);  // (101 + 23 + 6) of 134 us
  EXPECT_EQ(count(html, "core 1 85%</text>"), 1u);  // (94 + 8 + 12) of 134
  EXPECT_NE(html.find("For 4.5% of the time one worker is alone. They wait for each other 6.7% of it, most in conv2d"),
            html.npos);
  ReportData unwatched = made_up();
  unwatched.profile.stretches.clear();
  const std::string plain = report_html(unwatched);
  EXPECT_EQ(count(plain, "core 1</text>"), 1u);
  EXPECT_EQ(count(plain, "They wait for each other"), 0u);
  ReportData strange = made_up();  // of steps and workers that there are not
  strange.profile.stretches = {{7, 0, 0, 1e-6}, {0, 7, 0, 1e-6}, {0, 0, 0, 1}};
  EXPECT_EQ(report_html(strange), plain);
}

TEST(ReportPage, OfFiftyTasksOfAThousandTrialsIsBelowAMegabyte) {
  const std::string html = report_html(large(50, 1000));
  EXPECT_LT(html.size(), 1000000u);
  EXPECT_EQ(count(html, "<figure"), 50u);
}

}  // namespace page_test
}  // namespace whet
