#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/arguments.h"
#include "cli/completion.h"

namespace whet::completion_test {
namespace {

std::string run_bash(const std::string& script) {
  const std::string path = ::testing::TempDir() + "/completion.bash";
  std::ofstream(path) << script;
  FILE* const pipe = popen(("bash " + path + " 2>&1").c_str(), "r");
  std::string out;
  for (int c; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  pclose(pipe);
  return out;
}

/// What bash offers behind these words, the last one unfinished.
std::string offered(const std::string& words) {
  CLI::App app("test", "whet");
  app.set_help_flag("-h,--help", "Help");
  CLI::App* const eat = app.add_subcommand("eat", "Eats");
  CLI::App* const drink = app.add_subcommand("drink", "Drinks");
  CLI::App* const cook = app.add_subcommand("cook", "Cooks");
  CLI::App* const soup = cook->add_subcommand("soup", "Soup");
  static std::string kind = "apple", action, name, heat;
  static bool slowly = false;
  Arguments eating(*eat), drinking(*drink), cooking(*soup);
  eating.choice("--kind", kind, {"apple", "pear"}, "Kind");
  eating.add("-o,--output", name, "Output");
  eating.flag("--slowly", slowly, "Slowly");
  drinking.require_choice("action", action, {"sip", "swallow"}, "Action");
  cooking.choice("--heat", heat, {"low", "high"}, "Heat");
  return run_bash(bash_completion(app) + "COMP_WORDS=(" + words + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_whet\n" +
                  "echo \"${COMPREPLY[*]}\"\n");
}

TEST(BashCompletion, OffersCommands) {
  EXPECT_EQ(offered("whet ''"), "eat drink cook --help --version\n");
  EXPECT_EQ(offered("whet d"), "drink\n");
}
TEST(BashCompletion, OffersOptionsOfTheCommand) {
  EXPECT_EQ(offered("whet eat --"), "--help --kind --output --slowly\n");
  EXPECT_EQ(offered("whet eat --k"), "--kind\n");
  EXPECT_EQ(offered("whet eat --slowly --o"), "--output\n");
}
TEST(BashCompletion, OffersTheWordsThatAnOptionOrAnArgumentTakes) {
  EXPECT_EQ(offered("whet eat --kind ''"), "apple pear\n");
  EXPECT_EQ(offered("whet eat --kind p"), "pear\n");
  EXPECT_EQ(offered("whet drink s"), "sip swallow\n");
}
TEST(BashCompletion, OffersCommandsOfACommandAndWhatTheseTake) {
  EXPECT_EQ(offered("whet cook ''"), "soup\n");
  EXPECT_EQ(offered("whet cook soup --"), "--help --heat\n");
  EXPECT_EQ(offered("whet cook soup --heat h"), "high\n");
}
TEST(BashCompletion, LeavesFilesToBash) {
  EXPECT_EQ(offered("whet eat --output ''"), "\n");
  EXPECT_EQ(offered("whet nothing ''"), "\n");
}

}  // namespace
}  // namespace whet::completion_test
