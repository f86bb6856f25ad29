#include "replay.h"
#include "base/testing/checkout.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace whet::golden {
namespace {

const std::string kFile = checkout_path("tests/replay/schedules.txt");

Suite stored() {
  std::ifstream file(kFile);
  std::stringstream text;
  text << file.rdbuf();
  return read(text.str()).value();
}

/// With WHET_RENEW_GOLDEN in the environment the file is written anew; the difference is then reviewed.
bool renews() { return std::getenv("WHET_RENEW_GOLDEN") != nullptr; }

TEST(ReplayedSchedules, LowerToTheSameTextAndCodeAndFeatures) {
  Suite suite = stored();
  const bool same_llvm = suite.llvm == llvm_version();
  if (!same_llvm)
    std::printf("LLVM is %s and was %s: code is not compared\n", llvm_version().c_str(), suite.llvm.c_str());
  std::size_t schedules = 0;
  for (Task& task : suite.tasks)
    for (Schedule& was : task.schedules) {
      SCOPED_TRACE(task.name + " for " + was.target + ": " + was.steps + "\n" + task.dag);
      const Result<Schedule> is = replayed(task.dag, was);
      ASSERT_TRUE(is.ok()) << is.error().message;
      ++schedules;
      if (renews()) {
        was = *is;
        continue;
      }
      EXPECT_EQ(is->tree, was.tree) << "the loop tree";
      EXPECT_EQ(is->features, was.features) << "what the cost model sees";
      EXPECT_EQ(is->text, was.text) << "the lowered program";
      if (same_llvm) {
        EXPECT_EQ(is->code, was.code) << "the machine code";
      }
    }
  EXPECT_GE(schedules, 300u);
  if (renews()) {
    suite.llvm = llvm_version();
    std::ofstream(kFile) << write(suite);
  }
}

TEST(ReplayedSpaces, ProposeTheSameFromTheSameSeeds) {
  Suite suite = stored();
  for (Task& task : suite.tasks)
    for (Space& was : task.spaces) {
      SCOPED_TRACE(task.name + " for " + was.target + "\n" + task.dag);
      const Result<Space> is = replayed(task.dag, was);
      ASSERT_TRUE(is.ok()) << is.error().message;
      if (renews())
        was = *is;
      else
        EXPECT_EQ(is->proposals, was.proposals);
    }
  if (renews()) std::ofstream(kFile) << write(suite);
}

TEST(ReplayedSchedules, UseEveryPrimitiveOnEveryTarget) {
  std::set<std::string> targets, words;
  for (const Task& task : stored().tasks)
    for (const Schedule& s : task.schedules) {
      targets.insert(s.target.substr(0, s.target.find(" -threads")));
      std::istringstream steps(s.steps);
      for (std::string step; std::getline(steps >> std::ws, step, ';');) words.insert(step.substr(0, step.find(' ')));
    }
  EXPECT_EQ(targets, (std::set<std::string>{"cpu -mcpu=x86-64", "cpu -mcpu=haswell", "cpu -mcpu=znver4",
                                            "cpu -mcpu=sapphirerapids", "cpu -mcpu=cortex-a53", "cpu -mcpu=cortex-a72",
                                            "cpu -mcpu=cortex-a76", "cpu -mcpu=neoverse-n2"}));
  EXPECT_EQ(words, (std::set<std::string>{"split",        "fuse",
                                          "reorder",      "parallel",
                                          "vectorize",    "unroll",
                                          "compute_at",   "bind",
                                          "compute_root", "inline",
                                          "rfactor",      "pack",
                                          "cache_read",   "cache_write",
                                          "pad_storage",  "prefetch",
                                          "pipeline",     "tensorize",
                                          "roll",         "merge",
                                          "winograd",     "reverse_compute_at"}));
}

TEST(ReplaySuites, AreReadAsTheyWereWritten) {
  const Suite suite{"19", {{"t", "a\nb\n", {{"cpu", 5}}, {{"cpu -threads=2", "split l0 2 guard", 1, 2, 3, 4}}}}};
  const std::string text = write(suite);
  EXPECT_EQ(write(read(text).value()), text);
  EXPECT_FALSE(read("space cpu | proposals 1\n").ok());
  EXPECT_FALSE(read("task t\ngives tree 1\n").ok());
}

}  // namespace
}  // namespace whet::golden
