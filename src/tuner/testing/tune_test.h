#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "measure/testing/formula_measurer.h"
#include "tuner/testing/dense_task.h"
#include "tuner/tuner.h"

namespace whet {

/// A time of a schedule, by its text.
inline double formula(const std::string& steps) {
  return 1e-3 * (1 + static_cast<double>(hash_bytes(steps) % 1000) / 1000);
}

/// Tunes two dense layers into a file of its own.
class TuneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "whet_tuner_" + std::to_string(getpid()) + ".jsonl";
    std::remove(path_.c_str());
  }
  void TearDown() override { std::remove(path_.c_str()); }

  TuneProgress run(Measurer& measurer, TuneOptions options, const std::vector<Task>& tasks) {
    RecordFile file = *RecordFile::open(path_);
    Result<TuneProgress> progress = tune(tasks, target_, measurer, file, options, on_round_);
    EXPECT_TRUE(progress.ok());
    return *progress;
  }
  std::size_t lines() const { return read_records(path_)->records.size(); }

  Target target_ = *parse_target("cpu -mcpu=haswell -threads=2");
  std::vector<Task> tasks_ = {dense_task("small", 16, 64, 32, 1), dense_task("large", 64, 256, 128, 3)};
  std::function<void(const TuneProgress&)> on_round_;
  std::string path_;
};

}  // namespace whet
