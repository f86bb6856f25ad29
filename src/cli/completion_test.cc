#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/arguments.h"
#include "cli/completion.h"

namespace whet::completion_test {
namespace {

std::string run(const std::string& shell, const std::string& script) {
  const std::string path = ::testing::TempDir() + "/completion." + shell.substr(0, shell.find(' '));
  std::ofstream(path) << script;
  FILE* const pipe = popen((shell + " " + path + " 2>&1").c_str(), "r");
  std::string out;
  for (int c; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  pclose(pipe);
  return out;
}

/// The script that a shell gets for commands of a kitchen.
std::string script(std::string (*completion)(const CLI::App&)) {
  CLI::App app("test", "whet");
  app.set_help_flag("-h,--help", "Help");
  CLI::App* const eat = app.add_subcommand("eat", "Eats");
  CLI::App* const drink = app.add_subcommand("drink", "Drinks");
  CLI::App* const cook = app.add_subcommand("cook", "Cooks");
  CLI::App* const soup = cook->add_subcommand("soup", "Soup");
  static std::string kind = "apple", action, name, heat, from;
  static bool slowly = false;
  Arguments eating(*eat), drinking(*drink), cooking(*soup);
  eating.choice("--kind", kind, {"apple", "pear"}, "Kind");
  eating.add("-o,--output", name, "Output");
  eating.flag("--slowly", slowly, "Slowly");
  eating.add("--from", from, "Where");
  eating.offers("--from", {"tree:apple", "tree:pear"});
  drinking.require_choice("action", action, {"sip", "swallow"}, "Action");
  cooking.choice("--heat", heat, {"low", "high"}, "Heat");
  return completion(app);
}

/// What bash offers behind these words, the last one unfinished.
std::string offered(const std::string& words) {
  return run("bash", script(bash_completion) + "COMP_WORDS=(" + words +
                         ")\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_whet\n" + "echo \"${COMPREPLY[*]}\"\n");
}

TEST(BashCompletion, OffersCommands) {
  EXPECT_EQ(offered("whet ''"), "eat drink cook --help --version\n");
  EXPECT_EQ(offered("whet d"), "drink\n");
}
TEST(BashCompletion, OffersOptionsOfTheCommand) {
  EXPECT_EQ(offered("whet eat --"), "--help --kind --output --slowly --from\n");
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
TEST(BashCompletion, OffersWordsBehindAColonWhereBashEndsAWord) {
  EXPECT_EQ(offered("whet eat --from tree :"), "apple pear\n");
  EXPECT_EQ(offered("whet eat --from tree : p"), "pear\n");
}
TEST(BashCompletion, LeavesFilesToBash) {
  EXPECT_EQ(offered("whet eat --output ''"), "\n");
  EXPECT_EQ(offered("whet nothing ''"), "\n");
}

bool is_there(const std::string& shell) { return std::system((shell + " -c true > /dev/null 2>&1").c_str()) == 0; }

TEST(FishCompletion, OffersWhatIsPossibleWithItsMeaning) {
  if (!is_there("fish")) GTEST_SKIP() << "fish is missing";
  const auto offered = [](const std::string& words) {
    return run("fish", script(fish_completion) + "complete -C \"" + words + "\"\n");
  };
  EXPECT_EQ(offered("whet d"), "drink\tDrinks\n");
  EXPECT_EQ(offered("whet eat --k"), "--kind\tKind: apple, pear\n");
  EXPECT_EQ(offered("whet eat --kind p"), "pear\tKind: apple, pear\n");
  EXPECT_EQ(offered("whet eat --from tree:p"), "tree:pear\tWhere\n");
  EXPECT_EQ(offered("whet drink sw"), "swallow\n");
  EXPECT_EQ(offered("whet cook so"), "soup\tSoup\n");
  EXPECT_EQ(offered("whet cook soup --heat h"), "high\tHeat: low, high\n");
}
TEST(ZshCompletion, IsAScriptOfZshThatNamesWhatIsPossible) {
  const std::string text = script(zsh_completion);
  for (const char* part : {"'drink:Drinks'", "'*--kind[Kind\\: apple, pear]:value:(apple pear)'",
                           "'*--output[Output]:value:_files'", "'soup:Soup'"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  if (!is_there("zsh")) GTEST_SKIP() << "zsh is missing";
  EXPECT_EQ(run("zsh -n", text), "");
}

}  // namespace
}  // namespace whet::completion_test
