#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/options.h"

namespace whet {
namespace {

struct Fruit {
  std::string kind = "apple";
  int number = 0;
};
Fruit eaten;

std::function<int()> make_eat(Arguments& arguments) {
  auto fruit = std::make_shared<Fruit>();
  arguments.choice("--kind", fruit->kind, {"apple", "pear"}, "Kind");
  arguments.add("--number", fruit->number, 0, 9, "How many");
  return [fruit] {
    eaten = *fruit;
    return kDone;
  };
}

struct Answer {
  int code;
  std::string error;
};

Answer call(std::vector<std::string> words) {
  words.insert(words.begin(), "whet");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  const int code = run_command_line({{"eat", "Eats fruit", make_eat}, {"sleep", "Sleeps", make_eat}},
                                    static_cast<int>(argv.size()), argv.data());
  ::testing::internal::GetCapturedStdout();
  return {code, ::testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, RunsTheCommandWithItsOptions) {
  EXPECT_EQ(call({"eat", "--kind", "pear", "--number=3"}).code, kDone);
  EXPECT_EQ(eaten.kind, "pear");
  EXPECT_EQ(eaten.number, 3);
}
TEST(CommandLine, SuggestsTheNearestCommandOptionOrValue) {
  EXPECT_EQ(call({"aet"}).error, "whet: unknown command \"aet\"; did you mean \"eat\"?\n");
  EXPECT_EQ(call({"eat", "--numbr", "3"}).error,
            "whet: whet eat: unknown option --numbr; did you mean \"--number\"?\n");
  EXPECT_EQ(call({"eat", "--kind=peer"}).error,
            "whet: --kind: \"peer\" is none of apple, pear; did you mean \"pear\"?\n");
  EXPECT_EQ(call({"aet"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "--numbr", "3"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "--kind=peer"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "--number=many"}).code, kWrongUse);
  EXPECT_EQ(call({"eat", "an", "apple"}).code, kWrongUse);
  EXPECT_EQ(call({}).code, kWrongUse);
}
TEST(CommandLine, HelpIsNoFailure) {
  EXPECT_EQ(call({"--help"}).code, kDone);
  EXPECT_EQ(call({"eat", "--help"}).code, kDone);
  EXPECT_EQ(call({"--version"}).code, kDone);
}

TEST(ParseShapes, ReadsNamesAndExtents) {
  const auto shapes = *parse_shapes({"data=1x3x224x224", "a=b=7"});
  EXPECT_EQ(shapes.at("data"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(shapes.at("a=b"), (Shape{7}));
}
TEST(ParseShapes, SaysWhatAShapeLooksLike) {
  for (const char* text :
       {"", "data", "data=", "data=1x", "data=0x3", "data=-1", "=3", "data=3y4", "data=99999999999999999999"}) {
    ASSERT_FALSE(parse_shapes({text}).ok()) << text;
    EXPECT_EQ(parse_shapes({text}).error().message,
              "--shape is \"" + std::string(text) +
                  "\"; expected an input's name and positive extents, like data=1x3x224x224");
  }
}
TEST(ChoosePlace, TakesThreadsFromTheTargetTheOptionOrTheMachine) {
  EXPECT_EQ(choose_place({.target = "cpu -mcpu=haswell -threads=1"})->target.threads, 1);
  EXPECT_EQ(choose_place({.threads = 1})->target.threads, 1);
  EXPECT_EQ(choose_place({})->target.threads, static_cast<int>(usable_cores().cpus.size()));
  EXPECT_FALSE(choose_place({.threads = 1000}).ok());
  EXPECT_FALSE(choose_place({.target = "gpu"}).ok());
}

}  // namespace
}  // namespace whet
