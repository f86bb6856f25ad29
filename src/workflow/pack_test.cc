#include "workflow/pack.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "alternatives/alternatives.h"
#include "artifact/kernel.h"
#include "machine/detect.h"
#include "records/record_line.h"
#include "space/space.h"
#include "task/task.h"

namespace whet::pack_base_test {
namespace {

const char* const kTarget = "cpu -mcpu=haswell -threads=2";

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/" + name; }

/// The default schedule took `seconds`.
Record by_default(const Task& task, const std::string& target, double seconds) {
  const DesignSpace space = make_space(task.dag, parse_target(target).value());
  Record record;
  record.key = task.key, record.target = target, record.candidate = space.default_candidate();
  record.steps = to_text(*space.steps(record.candidate));
  record.codegen = codegen_version(CodeFormat::native_object);
  record.outcome.code = OutcomeCode::ok, record.outcome.seconds = {seconds};
  record.outcome.device = "secret-host", record.outcome.cache = "network";
  record.whet = "0.2.0", record.at = "2026-12-01T10:00:00Z";
  return record;
}
std::string records_of(const std::string& model, const std::string& name, double seconds,
                       const std::string& target = kTarget) {
  const std::string path = path_of(name);
  std::ofstream file(path);
  const std::vector<Task> tasks =
      extract_tasks(load_fused({.model = model}).value(), parse_target(target).value()).value();
  for (const Task& task : tasks) file << to_line(by_default(task, target, seconds)) << "\n";
  return path;
}
/// Records of a network's kernels and of its chains: by the default schedule all take the same time. A device that was too hot timed
/// the groups of the chains where that is said.
std::string records_of_chains(const ModelOptions& model, const std::string& name, bool hot_groups) {
  const std::string path = path_of(name);
  std::ofstream file(path);
  const Target machine = parse_target(kTarget).value();
  const Alternatives network = find_alternatives(load_fused(model).value(), machine, {forms_for(machine)}).value();
  std::set<int> chained, parts;  // groups, and their tasks
  for (const Alternative& each : network.all)
    if (names_chain(each.name)) chained.insert(each.instead.begin(), each.instead.end());
  for (std::size_t i = 0; i < network.usual; ++i)
    if (chained.contains(network.all[i].group)) parts.insert(network.all[i].task);
  for (int number = 0; number < std::ssize(network.tasks); ++number) {
    const Task& task = network.tasks[static_cast<std::size_t>(number)];
    Record record = by_default(task, kTarget, 1e-3);
    record.within = task.within;
    if (hot_groups && parts.contains(number))
      record.outcome.conditions = {.unit = "00c0ffee00c0ffee", .throttled = true};
    file << to_line(record) << "\n";
  }
  return path;
}
std::string base_of(const PackOptions& options, const std::string& name) {
  const Result<RecordBase> base = pack_base(options, {});
  EXPECT_TRUE(base.ok()) << base.error().message;
  const std::string path = path_of(name);
  std::ofstream(path) << base->text();
  return path;
}
PackOptions of_mlp(const std::string& network = "") {
  return {.files = {records_of("zoo:mlp", "mlp.jsonl", 1e-3)},
          .model = {.model = "zoo:mlp"},
          .network = network,
          .name = "own"};
}
std::string error_of(const PackOptions& options) {
  const Result<RecordBase> base = pack_base(options, {});
  return base.ok() ? "" : base.error().message;
}

TEST(PackBase, NamesTheNetworkTheTargetAndTheDayButNoHostAndNoPath) {
  const Result<RecordBase> base = pack_base(of_mlp(), {});
  ASSERT_TRUE(base.ok()) << base.error().message;
  EXPECT_EQ(base->name(), "own 2026.12 (1 network)");
  ASSERT_EQ(base->origins().size(), 1u);
  const BaseOrigin& origin = base->origins().front();
  EXPECT_EQ(origin.network, "mlp");
  EXPECT_EQ(origin.target, kTarget);
  EXPECT_EQ(origin.at, "2026-12-01");
  EXPECT_EQ(origin.whet, "0.2.0");
  ASSERT_FALSE(base->empty());
  EXPECT_EQ(base->tasks().front().entries.front().gain, 1);
  EXPECT_EQ(base->text().find("secret-host"), std::string::npos);
  EXPECT_EQ(base->text().find('/'), std::string::npos);
}
TEST(PackBase, JoinsBasesAndGivesBackWhatANetworkDidNotTeach) {
  const std::string mlp = base_of(of_mlp(), "mlp_base.jsonl"), batch = base_of(of_mlp("mlp batch 8"), "batch.jsonl"),
                    other = base_of(of_mlp("other"), "other.jsonl");
  const RecordBase all = pack_base({.files = {mlp, batch, other}, .name = "own"}, {}).value();
  EXPECT_EQ(all.origins().size(), 3u);
  const RecordBase without = pack_base({.files = {mlp, batch, other}, .without = {"mlp"}, .name = "own"}, {}).value();
  EXPECT_EQ(without.text(), pack_base({.files = {other}, .name = "own"}, {})->text());
}
TEST(PackBase, HasAnOriginForEachTarget) {
  PackOptions options = of_mlp();
  options.files.push_back(records_of("zoo:mlp", "one_thread.jsonl", 2e-3, "cpu -mcpu=haswell -threads=1"));
  EXPECT_EQ(pack_base(options, {})->origins().size(), 2u);
}
TEST(PackBase, CallsAnOriginForeignWhoseCodeIsForAnotherProcessorThanThisOne) {
  const Target here = detect_target();
  const std::string own = "cpu -mcpu=" + here.cpu().mcpu + " -threads=2";
  PackOptions options = of_mlp();
  options.files = {records_of("zoo:mlp", "own_code.jsonl", 1e-3, own)};
  EXPECT_FALSE(pack_base(options, {})->origins().front().foreign);
  const std::string other = here.cpu().mcpu == "haswell" ? "x86-64" : "haswell";
  const std::string others = "cpu -mcpu=" + other + " -threads=2";
  if (!can_run(parse_target(others).value()).ok()) GTEST_SKIP() << "this processor runs no code for " << other;
  options.files = {records_of("zoo:mlp", "others_code.jsonl", 1e-3, others)};
  EXPECT_TRUE(pack_base(options, {})->origins().front().foreign);
}
TEST(PackBase, KnowsAChainsGainByTimesThatTeachAlone) {
  const ModelOptions model{.model = "zoo:mobilenet", .image = 32};
  const auto chains = [&](bool hot_groups) {
    const RecordBase base =
        pack_base({.files = {records_of_chains(model, "chains.jsonl", hot_groups)}, .model = model, .name = "own"}, {})
            .value();
    return std::ranges::count_if(base.tasks(), [](const BaseTask& task) { return task.over_parts > 0; });
  };
  EXPECT_GT(chains(false), 0);
  EXPECT_EQ(chains(true), 0) << "a device that was too hot timed their groups";
}
TEST(PackBase, SaysWhatItCannotUse) {
  const std::string mlp = records_of("zoo:mlp", "mlp.jsonl", 1e-3);
  EXPECT_EQ(error_of({.files = {mlp}}), mlp + ": holds no record base; give the model of its records: --model MODEL");
  const std::string empty = path_of("empty.jsonl");
  std::ofstream(empty).close();
  EXPECT_EQ(error_of({.files = {empty}}), empty + ": holds no record base");
  EXPECT_EQ(error_of({.files = {mlp}, .model = {.model = "zoo:resnet-18"}}),
            "no record of these files is of a task of resnet-18");
  std::string note;
  (void)pack_base({.files = {base_of(of_mlp(), "own.jsonl")}, .without = {"vgg16"}},
                  [&](const std::string& n) { note = n; });
  EXPECT_EQ(note, "no origin is called vgg16: nothing is left out");
}

}  // namespace
}  // namespace whet::pack_base_test
