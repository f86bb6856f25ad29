#include <gtest/gtest.h>

#include "cli/command.h"

namespace whet {
namespace {

CommandAction make_draw(Arguments& arguments) {
  auto what = std::make_shared<std::pair<std::string, std::string>>("", "red");
  arguments.require_choice("shape", what->first, {"circle", "square"}, "circle: round; square: with corners");
  arguments.choice("--colour", what->second, {"red", "blue"}, "Of the pen");
  return [what] { return kDone; };
}

struct Said {
  std::string out, error;
};

Said call(std::vector<std::string> words) {
  words.insert(words.begin(), "whet");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  run_command_line({{"draw", "Draws", make_draw}}, static_cast<int>(argv.size()), argv.data());
  const std::string out = ::testing::internal::GetCapturedStdout();
  return {out, ::testing::internal::GetCapturedStderr()};
}

TEST(Arguments, SayWhereToReadAboutWhatIsMissing) {
  EXPECT_EQ(call({"draw"}).error, "whet: draw: shape is required; `whet draw --help` shows its use\n");
}
TEST(Arguments, ListTheWordsOfAChoiceOnce) {
  const std::string help = call({"draw", "--help"}).out;
  EXPECT_NE(help.find("circle: round; square: with corners\n"), std::string::npos) << help;
  EXPECT_NE(help.find("Of the pen: red, blue (default: red)\n"), std::string::npos) << help;
}

}  // namespace
}  // namespace whet
