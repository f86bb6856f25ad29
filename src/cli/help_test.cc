#include "cli/help.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/arguments.h"
#include "cli/table.h"

namespace whet::help_test {
namespace {

/// The help of a command "cook soup" with options of three groups.
std::string help(int columns) {
  CLI::App app("test", "whet");
  use_help_format(app, columns);
  CLI::App* const soup = app.add_subcommand("soup", "Cooks a soup of what is there, and writes down what it was");
  soup->option_defaults()->always_capture_default();
  soup->set_help_flag("-h,--help", "Print this text");
  set_examples(*soup, {{"whet soup pot", "cooks in a pot"}});
  static std::string pot, layout, heat = "low";
  Arguments arguments(*soup);
  arguments.require("POT", pot, "What to cook in");
  {
    const auto group = arguments.group(kZooGroup);
    arguments.add("--layout", layout, "Of built-in soups");
  }
  {
    const auto group = arguments.group("The fire");
    arguments.choice("--heat", heat, {"low", "high"}, "How hot it is");
  }
  arguments.add("-o,--output-of-the-soup", layout, "Where it goes");
  return soup->help();
}

TEST(Help, ShowsOptionsInGroupsAndThoseOfBuiltInNetworksLast) {
  EXPECT_EQ(help(80),
            "Usage: whet soup POT [OPTIONS]\n\n"
            "Cooks a soup of what is there, and writes down what it was\n\n"
            "Examples:\n"
            "  whet soup pot\n"
            "      cooks in a pot\n\n"
            "Arguments:\n"
            "  POT                     What to cook in\n\n"
            "Options:\n"
            "  -h, --help              Print this text\n"
            "  -o, --output-of-the-soup TEXT\n"
            "                          Where it goes\n\n"
            "The fire:\n"
            "  --heat WORD             How hot it is: low, high (default: low)\n\n"
            "Built-in networks (zoo:):\n"
            "  --layout TEXT           Of built-in soups\n");
}
TEST(Help, IsNoWiderThanTheTerminal) {
  for (const int columns : {50, 60, 80, 120}) {
    std::istringstream lines(help(columns));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(width_of(line), static_cast<std::size_t>(columns)) << line;
  }
}
TEST(Help, WrapsAtSpacesAlone) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "one\n  two\n  three");
  EXPECT_EQ(wrapped("averylongword", 5, 0), "averylongword");
  EXPECT_EQ(wrapped("", 5, 3), "");
}
TEST(ManualPage, HasEachCommandAndNoLineThatRoffWouldObey) {
  CLI::App app("test", "whet");
  bool bones = true;
  app.add_subcommand("eat", "Eats .so files")->add_flag("--no-bones", bones, ".");
  const std::string page = manual_page(app, "1.2");
  EXPECT_NE(page.find(".SS whet eat [OPTIONS]\nEats .so files.\n"), std::string::npos) << page;
  EXPECT_NE(page.find(".B \\-\\-no\\-bones\n\\&.\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace whet::help_test
