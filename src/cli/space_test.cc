#include <gtest/gtest.h>

#include "cli/command.h"
#include "json/json.h"

namespace whet {
namespace space_test {

struct Answer {
  int code;
  std::string output, error;
};

Answer call(std::vector<std::string> words) {
  words.insert(words.begin(),
               {"whet", "space", "zoo:resnet-18", "--image", "32", "--target", "cpu -mcpu=skylake-avx512 -threads=2"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const int code =
      run_command_line({{"space", "What is searched", make_space_command}}, static_cast<int>(argv.size()), argv.data());
  std::string output = ::testing::internal::GetCapturedStdout();
  return {code, std::move(output), ::testing::internal::GetCapturedStderr()};
}

TEST(SpaceCommand, ListsEveryTask) {
  const Answer answer = call({});
  EXPECT_EQ(answer.code, kDone) << answer.error;
  EXPECT_NE(answer.output.find("tile+pack, winograd"), std::string::npos) << answer.output;
}
TEST(SpaceCommand, TellsSketchesDecisionsReasonsAndSamplesOfOneTask) {
  const Answer answer = call({"--task", "1", "--why", "--sample", "1"});
  EXPECT_EQ(answer.code, kDone) << answer.error;
  for (const char* part : {"gives the default schedule", "elements of the innermost axis in a register tile",
                           "multi-level-tiling: tiles it on several levels", "{\"sketch\":", "parallel "})
    EXPECT_NE(answer.output.find(part), std::string::npos) << part << "\n" << answer.output;
}
TEST(SpaceCommand, AnswersWhetherACandidateIsInside) {
  const Answer yes = call({"--task", "1", "--contains", "oc=16"}), no = call({"--task", "1", "--contains", "oc=17"});
  EXPECT_EQ(yes.code, kDone);
  EXPECT_TRUE(yes.output.starts_with("yes: ")) << yes.output << yes.error;
  EXPECT_EQ(no.code, kFailed);
  EXPECT_TRUE(no.output.starts_with("no: oc=17 is not among the options of sketch tile+pack")) << no.output;
  EXPECT_EQ(call({"--task", "1", "--contains", "oc"}).code, kWrongUse);
}
TEST(SpaceCommand, PrintsJson) {
  const Answer answer = call({"--task", "1", "--why", "--sample", "2", "--json"});
  const Result<Json> parsed = parse_json(answer.output);
  ASSERT_TRUE(parsed.ok()) << answer.output;
  for (const char* key : {"id", "name", "key", "size", "sketches", "rules", "samples"})
    EXPECT_NE(answer.output.find("\"" + std::string(key) + "\""), std::string::npos);
}
TEST(SpaceCommand, NamesTheTasksThatThereAre) {
  const Answer answer = call({"--task", "900"});
  EXPECT_EQ(answer.code, kWrongUse);
  EXPECT_NE(answer.error.find("has no task 900; expected 0 to "), std::string::npos) << answer.error;
  EXPECT_EQ(call({"--why"}).code, kWrongUse);
}

}  // namespace space_test
}  // namespace whet
