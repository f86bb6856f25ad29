#include "workflow/together.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace whet::together_test {
namespace {

TuneSettings settings_of(const std::vector<std::string>& models) {
  TuneSettings settings;
  for (const std::string& model : models) settings.together.push_back(parse_runs(model));
  return settings;
}
Prepared prepared(const TuneSettings& settings) {
  Prepared place;
  place.place.target = parse_target("cpu -mcpu=haswell -threads=1").value();
  Result<Prepared> all = prepare_together(settings, place);
  WHET_CHECK(all.ok(), all.ok() ? "" : all.error().message.c_str());
  return std::move(*all);
}

TEST(ParseRuns, TakesANumberBehindTheModel) {
  const auto read = [](const std::string& text) {
    const ModelRuns asked = parse_runs(text);
    return asked.model.model + " " + std::to_string(asked.runs);
  };
  EXPECT_EQ(read("b.onnx:3"), "b.onnx 3");
  EXPECT_EQ(read("zoo:mlp"), "zoo:mlp 1");
  EXPECT_EQ(read("zoo:mlp:2"), "zoo:mlp 2");
  for (const char* whole : {"a.onnx", "a:0", "a:-1", "a:3x", "a:", ":3", "a:99999999999"})
    EXPECT_EQ(read(whole), std::string(whole) + " 1");
  const std::string file = ::testing::TempDir() + "/runs:4";
  std::ofstream(file) << "x";
  EXPECT_EQ(read(file), file + " 1") << "there is a file of this name";
  std::filesystem::remove(file);
}
TEST(Together, AKernelOfSeveralModelsIsOneTask) {
  const Prepared once = prepared(settings_of({"zoo:mlp"})), both = prepared(settings_of({"zoo:mlp", "zoo:mlp:3"}));
  ASSERT_EQ(both.tasks.size(), once.tasks.size());
  EXPECT_EQ(both.name, "mlp + 3 mlp");
  for (std::size_t i = 0; i < both.tasks.size(); ++i) {
    EXPECT_EQ(both.tasks[i].weight, 4 * once.tasks[i].weight);
    const auto count = static_cast<double>(once.tasks[i].weight);
    EXPECT_EQ(both.uses[i], (std::vector<double>{count, count}));
  }
}
TEST(Together, KernelsOfOneModelCountInThatOne) {
  const Prepared both = prepared(settings_of({"zoo:mlp", "zoo:squeezenet_v1.1"}));
  ASSERT_EQ(both.networks.size(), 2u);
  EXPECT_EQ(both.networks[1].chosen.size(), both.networks[1].tasks.size());
  const std::size_t apart = both.networks[0].tasks.size() + both.networks[1].tasks.size();
  EXPECT_LE(both.tasks.size(), apart);
  EXPECT_EQ(both.uses.size(), both.tasks.size());
  EXPECT_EQ(both.uses.front()[1], 0);
  EXPECT_EQ(both.uses.back()[0], 0);
  EXPECT_EQ(both.footprint.least(), both.networks[1].footprint.least()) << "squeezenet touches more";
}
TEST(UntilMs, IsOfTheModelThatItNames) {
  TuneSettings settings = settings_of({"a.onnx", "zoo:mlp"});
  settings.until_ms = {"mlp=2", "a.onnx=0.5"};
  EXPECT_EQ(until_of(settings).value(), (std::vector<double>{0.5e-3, 2e-3}));
  settings.until_ms = {"a.onnx=0.5"};
  EXPECT_EQ(until_of(settings).value(), (std::vector<double>{0.5e-3, 0}));
  settings.until_ms = {};
  EXPECT_TRUE(until_of(settings)->empty());
  TuneSettings one;
  one.model.model = "a.onnx";
  one.until_ms = {"4.0"};
  EXPECT_EQ(until_of(one).value(), std::vector<double>{4e-3});
}
TEST(UntilMs, IsRefusedWithASentence) {
  TuneSettings settings = settings_of({"a.onnx", "b.onnx"});
  const auto refusal = [&](const std::vector<std::string>& until) {
    settings.until_ms = until;
    const Result<std::vector<double>> read = until_of(settings);
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(refusal({"a.onnx=fast"}),
            "--until-ms is \"a.onnx=fast\"; expected milliseconds, like 4.0, or of several models a.onnx=4.0");
  EXPECT_EQ(refusal({"-1"}), "--until-ms is \"-1\"; expected milliseconds, like 4.0, or of several models a.onnx=4.0");
  EXPECT_EQ(refusal({"4"}), "--until-ms 4 names no model, and there are several; expected a.onnx=4");
  EXPECT_EQ(refusal({"c=4"}), "--until-ms c=4: no model is called so; there is a.onnx, b.onnx");
  EXPECT_EQ(refusal({"a=4", "a.onnx=5"}), "--until-ms a.onnx=5: a.onnx has a latency already");
  settings.only = "0,1";
  EXPECT_EQ(refusal({"a=4"}), "--until-ms is the sum of all tasks; leave --tasks out");
}
TEST(Together, ModelsThatCannotBeReadAreNamed) {
  Prepared place;
  place.place.target = parse_target("cpu -mcpu=haswell -threads=1").value();
  const Result<Prepared> all = prepare_together(settings_of({"zoo:mlp", "nowhere.onnx"}), place);
  ASSERT_FALSE(all.ok());
  EXPECT_NE(all.error().message.find("nowhere.onnx"), std::string::npos) << all.error().message;
}

}  // namespace
}  // namespace whet::together_test
