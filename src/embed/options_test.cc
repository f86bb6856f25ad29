#include "embed/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/testing/checkout.h"
#include "tensor_files/file.h"

namespace whet::options_test {
namespace {

using Names = std::set<std::string>;

/// The options of a command, without dashes, as its help has them.
Names options_of_command(const std::string& command) {
  std::istringstream help(read_file(checkout_path("tests/golden/help.txt")).value());
  Names names;
  bool inside = false;
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with("$ whet ")) inside = line == "$ whet " + command + " --help";
    const std::size_t at = line.starts_with("  --")                                 ? 4
                           : line.starts_with("  -") && line.substr(4, 4) == ", --" ? 8
                                                                                    : 0;
    if (inside && at > 0) names.insert(line.substr(at, line.find_first_of(" [=", at) - at));
  }
  return names;
}

Names names_of(const OptionTable& table) {
  const std::vector<std::string> names = table.names();
  return {names.begin(), names.end()};
}

/// How a command prints, and what chooses between several models, of which a problem is one.
const Names kOfCommandsAlone = {"help", "json", "quiet", "verbose", "objective"};

/// A problem is loaded without sizes: tuning and compiling take them.
const Names kOfServeAlone = {"sizes", "tuning-sizes", "lengths", "hot-sizes"};

void expect_same(const std::string& command, const OptionTable& table, const Names& left_out = {}) {
  Names of_command = options_of_command(command);
  EXPECT_GT(of_command.size(), 10u) << "the help of " << command << " was found";
  for (const Names* names : {&kOfCommandsAlone, &left_out})
    for (const std::string& name : *names) of_command.erase(name);
  EXPECT_EQ(names_of(table), of_command) << command;
}

TEST(OptionsOfLibwhet, AreThoseOfTheCommands) {
  TuneSettings serve;
  TuneRequest tune;
  CompileRequest compile;
  expect_same("serve", load_options(serve), kOfServeAlone);
  expect_same("tune", tune_options(tune));
  expect_same("compile", compile_options(compile));
}

TEST(OptionsOfLibwhet, AreReadFromJson) {
  TuneRequest request;
  const Status read = tune_options(request).read(
      R"({"trials": 12, "shape": ["x=1x3", "y=2"], "until": "z", "no-network": true, "tasks": 3, "least-gain": 1,
          "strategy": "random", "threads": 2})",
      "tune");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(request.settings.trials, 12);
  EXPECT_EQ(request.settings.model.shapes, (std::vector<std::string>{"x=1x3", "y=2"}));
  EXPECT_EQ(request.settings.model.until, std::vector<std::string>{"z"});
  EXPECT_TRUE(request.settings.no_network);
  EXPECT_EQ(request.settings.only, "3");
  EXPECT_EQ(request.settings.least_gain, 1);
  EXPECT_EQ(request.settings.strategy, "random");
  EXPECT_EQ(request.settings.where.place.threads, 2);
}

TEST(OptionsOfLibwhet, MayLeaveANumberToTheLibrary) {
  CompileRequest request;
  EXPECT_TRUE(compile_options(request).read(R"({"quick": true})", "compile").ok());
  EXPECT_EQ(request.settings.quick, 2);
  EXPECT_TRUE(compile_options(request).read(R"({"quick": 0.5})", "compile").ok());
  EXPECT_EQ(request.settings.quick, 0.5);
  EXPECT_TRUE(compile_options(request).read(R"({"quick": false})", "compile").ok());
  EXPECT_EQ(request.settings.quick, 0);
  EXPECT_TRUE(compile_options(request).read("", "compile").ok()) << "there may be none";
}

std::string refusal(const std::string& json) {
  TuneRequest request;
  const Status read = tune_options(request).read(json, "tune");
  return read.ok() ? "" : read.error().message;
}

TEST(OptionsOfLibwhet, AreRefusedWithASentence) {
  EXPECT_EQ(refusal(R"({"trails": 3})"), "tune: there is no option \"trails\"; did you mean \"trials\"?");
  EXPECT_EQ(refusal(R"({"trials": "many"})"), "tune: trials is \"many\"; expected an integer from 1 to 1000000000");
  EXPECT_EQ(refusal(R"({"trials": 0})"), "tune: trials is 0; expected an integer from 1 to 1000000000");
  EXPECT_EQ(refusal(R"({"trials": 1.5})"), "tune: trials is 1.5; expected an integer from 1 to 1000000000");
  EXPECT_EQ(refusal(R"({"seconds": -1})"), "tune: seconds is -1; expected a number from 0 to 100000000");
  EXPECT_EQ(refusal(R"({"exact": 1})"), "tune: exact is 1; expected true or false");
  EXPECT_EQ(refusal(R"({"cache": "hot"})"), "tune: cache is \"hot\"; expected one of network, warm, cold");
  EXPECT_EQ(refusal(R"({"shape": [1]})"), "tune: shape is [1]; expected a text or a list of texts");
  EXPECT_EQ(refusal(R"({"target": null})"), "tune: target is null; expected a text");
  EXPECT_EQ(refusal("[]"), "tune: options are []; expected a JSON object");
  EXPECT_TRUE(refusal("{").starts_with("tune: options are no JSON: ")) << refusal("{");
}

}  // namespace
}  // namespace whet::options_test
