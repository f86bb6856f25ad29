#include "runtime/weights_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "artifact/model_plan.h"
#include "base/testing/checkout.h"
#include "runtime/cpu/pool.h"
#include "runtime/session.h"
#include "runtime/testing/weights_bytes.h"

namespace whet::weights_file_test {
namespace {

constexpr std::uint64_t kKey = 0x1234;
constexpr std::size_t kBytes = 256;

std::string some_weights(char first) {
  std::string weights(kBytes, '\0');
  for (std::size_t i = 0; i < kBytes; ++i) weights[i] = static_cast<char>(first + static_cast<char>(i));
  return weights;
}

/// A model that gives its weights back.
class TestModel {
 public:
  TestModel() {
    ModelPlan plan;
    plan.name = "net";
    plan.target = "cpu -mcpu=x86-64 -threads=1";
    plan.weights_bytes = kBytes;
    plan.outputs = {{"y", 4, {kBytes}, kBytes}};
    ModelPlan::Step copy;
    copy.kind = PlanStepKind::copy;
    copy.arguments = {{PlanPlace::weights, 0, 0, kBytes}, {PlanPlace::output, 0, 0, kBytes}};
    copy.node = "y", copy.op = "copy";
    plan.steps = {copy};
    const std::string stored = write_plan(plan);
    stored_.assign(stored.size() / 8, 0);
    std::memcpy(stored_.data(), stored.data(), stored.size());
    image_ = {stored_.data(), stored.size(), nullptr, nullptr, kBytes, 0, kKey};
  }

  ModelImage& image() { return image_; }

  /// The answer of a run, or the sentence where there is none. `between` is called with the model open.
  template <typename Between>
  std::string answer(const whet_open_source* source, bool map, const Between& between) const {
    whet_open_options options{};
    options.map_weights = map ? 1 : 0;
    whet_model* model = nullptr;
    whet_session* session = nullptr;
    whet_error error{};
    if (model_open_from(image_, &options, source, &model, &error) != 0) {
      EXPECT_EQ(model, nullptr);
      return error.message;
    }
    EXPECT_EQ(session_create(model, nullptr, &session, &error), 0) << error.message;
    between();
    std::string said;
    if (session_run(session, &error) == 0)
      said.assign(static_cast<const char*>(session_output(session, 0)), kBytes);
    else
      said = error.message;
    session_destroy(session);
    model_close(model);
    return said;
  }
  std::string answer(const whet_open_source* source, bool map = false) const {
    return answer(source, map, [] {});
  }

 private:
  std::vector<std::uint64_t> stored_;
  ModelImage image_{};
};

constexpr std::size_t kLargeBytes = 1 << 18;

/// A model whose first kernel cuts the file of its weights, whose second step reads them, and whose third makes the file longer again.
class CuttingModel {
 public:
  CuttingModel(const std::string& path, off_t left, off_t at_last = -1) {
    cut_path = path, cut_to = left, grown_to = at_last;
    ModelPlan plan;
    plan.name = "net";
    plan.target = "cpu -mcpu=x86-64 -threads=1";
    plan.weights_bytes = kLargeBytes;
    plan.entries = 2;
    plan.outputs = {{"y", 4, {kLargeBytes}, kLargeBytes}};
    ModelPlan::Step cut, copy, grow;
    cut.kind = grow.kind = PlanStepKind::kernel;
    cut.node = "cut", cut.op = "test", cut.entry = 0;
    copy.kind = PlanStepKind::copy;
    copy.arguments = {{PlanPlace::weights, 0, 0, kLargeBytes}, {PlanPlace::output, 0, 0, kLargeBytes}};
    copy.node = "y", copy.op = "copy", copy.barrier = copy.parallel = true;
    grow.node = "grow", grow.op = "test", grow.entry = 1, grow.barrier = true;
    plan.steps = {cut, copy, grow};
    const std::string stored = write_plan(plan);
    stored_.assign(stored.size() / 8, 0);
    std::memcpy(stored_.data(), stored.data(), stored.size());
    image_ = {stored_.data(), stored.size(), kEntries, nullptr, kLargeBytes, 0, kKey};
  }

  /// The sentence of a run by the mapped file.
  std::string answer(const whet_open_source& source, std::uint32_t threads) const {
    whet_open_options options{};
    options.map_weights = 1;
    whet_pool_options workers{};
    workers.threads = threads;
    whet_model* model = nullptr;
    whet_pool* pool = nullptr;
    whet_session* session = nullptr;
    whet_error error{};
    EXPECT_EQ(model_open_from(image_, &options, &source, &model, &error), 0) << error.message;
    EXPECT_EQ(pool_create(&workers, 0, &pool, &error), 0) << error.message;
    EXPECT_EQ(session_create(model, pool, &session, &error), 0) << error.message;
    const std::string said = session_run(session, &error) == 0 ? "an answer" : error.message;
    EXPECT_NE(session_run(session, &error), 0) << "a model that lost weights stays without answers";
    session_destroy(session);
    pool_destroy(pool);
    model_close(model);
    return said;
  }

 private:
  static std::int32_t cut(const whet_kernel_args*) { return truncate(cut_path.c_str(), cut_to); }
  static std::int32_t grow(const whet_kernel_args*) { return grown_to < 0 ? 0 : truncate(cut_path.c_str(), grown_to); }
  static constexpr whet_kernel kEntries[] = {cut, grow};
  static inline std::string cut_path;
  static inline off_t cut_to, grown_to;

  std::vector<std::uint64_t> stored_;
  ModelImage image_{};
};

class WeightsFile : public ::testing::Test {
 protected:
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  whet_open_source source() const {
    whet_open_source source{};
    source.struct_bytes = sizeof source;
    source.weights_path = path_.c_str();
    return source;
  }
  std::string answer_of(const std::string& bytes, bool map = false) {
    write(bytes);
    const whet_open_source from = source();
    return model_.answer(&from, map);
  }
  void TearDown() override { std::remove(path_.c_str()); }

  const std::string path_ = ::testing::TempDir() + "whet_weights_" + std::to_string(getpid());
  TestModel model_;
};

TEST_F(WeightsFile, IsWhatTheModelRunsBy) {
  for (const bool map : {false, true})
    for (const char first : {'a', 'q'})
      EXPECT_EQ(answer_of(weights_bytes(kKey, some_weights(first)), map), some_weights(first));
}

TEST_F(WeightsFile, MayBeInTheProgramsMemory) {
  std::vector<char> memory(2 * WHET_WEIGHTS_BEGIN + kBytes + 128);
  const std::string bytes = weights_bytes(kKey, some_weights('m'));
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{64}})
    for (const bool map : {false, true}) {
      std::memcpy(memory.data() + at, bytes.data(), bytes.size());
      whet_open_source from{};
      from.struct_bytes = sizeof from;
      from.weights = memory.data() + at;
      from.weights_bytes = bytes.size();
      EXPECT_EQ(model_.answer(&from, map), some_weights('m')) << at;
    }
}

TEST_F(WeightsFile, IsAskedForWhereTheLibraryHasNone) {
  const std::string asked =
      "model net: its weights are in a file of their own; open it with that file (--weights-file, or model_open_from "
      "of "
      "whet/model.h)";
  EXPECT_EQ(model_.answer(nullptr), asked) << "as an older program opens it";
  whet_open_source shorter = source();
  shorter.struct_bytes = 8;
  EXPECT_EQ(model_.answer(&shorter), asked) << "what the program does not have is not read";
}

TEST_F(WeightsFile, IsRefusedWhereTheLibraryHasThem) {
  const std::string inside = some_weights('i');
  std::vector<char> aligned(kBytes + 64);
  char* const at = aligned.data() + (64 - reinterpret_cast<std::uintptr_t>(aligned.data()) % 64) % 64;
  std::memcpy(at, inside.data(), kBytes);
  model_.image().weights = at;
  model_.image().weights_key = 0;
  EXPECT_EQ(model_.answer(nullptr), inside);
  EXPECT_EQ(answer_of(weights_bytes(kKey, inside)),
            "model net: its weights are in the library, which takes no others; whet compile --weights-file makes a "
            "library that does");
}

TEST_F(WeightsFile, BelongsToOneCompile) {
  EXPECT_EQ(answer_of(weights_bytes(7, some_weights('a'))),
            path_ +
                ": belongs to another compile of net (0000000000000007, not 0000000000001234); whet compile "
                "--weights-only --like LIBRARY writes one for this");
  EXPECT_EQ(answer_of(weights_bytes(kKey, some_weights('a') + std::string(64, 'x'))).find(path_ + ": belongs to"), 0u);
}

TEST_F(WeightsFile, IsASentenceWhereverAByteIsDamaged) {
  const std::string whole = weights_bytes(kKey, some_weights('a'));
  for (const bool map : {false, true})
    for (std::size_t at = 0; at < whole.size(); at = at < 64 ? at + 1 : at + 61) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      EXPECT_EQ(answer_of(damaged, map).find(path_ + ": "), 0u) << at;
    }
}

TEST_F(WeightsFile, IsASentenceWhereverItEnds) {
  const std::string whole = weights_bytes(kKey, some_weights('a'));
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{4095},
                                 std::size_t{4096}, whole.size() - 1})
    EXPECT_EQ(answer_of(whole.substr(0, size)).find(path_ + ": "), 0u) << size;
  EXPECT_EQ(answer_of(whole + "x").find(path_ + ": has 4353 bytes; its header says 4352"), 0u);
  std::string signed_again = whole.substr(0, whole.size() - 64);
  sign_weights(signed_again);
  EXPECT_NE(answer_of(signed_again).find("has 4288 bytes; its header says 4352"), std::string::npos);
}

TEST_F(WeightsFile, MayBeCutOnceItIsRead) {
  write(weights_bytes(kKey, some_weights('a')));
  const whet_open_source from = source();
  const auto cut = [&] { ASSERT_EQ(truncate(path_.c_str(), 100), 0); };
  EXPECT_EQ(model_.answer(&from, false, cut), some_weights('a'));
}

TEST_F(WeightsFile, IsASentenceWhereItIsCutWhileItIsMapped) {
  write(weights_bytes(kKey, some_weights('a')));
  const whet_open_source from = source();
  const auto cut = [&] { ASSERT_EQ(truncate(path_.c_str(), 100), 0); };
  EXPECT_EQ(model_.answer(&from, true, cut),
            "the weights file was cut while it is mapped: it has 100 bytes, and had 4352; open the model again with a "
            "whole one");
}

TEST_F(WeightsFile, IsASentenceWhereItIsCutWhileARunReadsIt) {
  for (const std::uint32_t threads : {1u, 2u})
    for (const off_t left : {off_t{0}, off_t{100}, off_t{kLargeBytes / 2}}) {
      const CuttingModel model(path_, left);
      write(weights_bytes(kKey, std::string(kLargeBytes, 'w')));
      const whet_open_source from = source();
      EXPECT_EQ(model.answer(from, threads),
                "the weights file was cut while it is mapped: it has " + std::to_string(left) + " bytes, and had " +
                    std::to_string(kLargeBytes + 4096) + "; open the model again with a whole one")
          << threads;
    }
}

TEST_F(WeightsFile, IsASentenceWhereItWasCutForAWhile) {
  const CuttingModel model(path_, 0, kLargeBytes + 4096);
  write(weights_bytes(kKey, std::string(kLargeBytes, 'w')));
  const whet_open_source from = source();
  EXPECT_EQ(model.answer(from, 1),
            "the weights file was written to while it is mapped, or a part of it cannot be read; open the model again");
}

TEST_F(WeightsFile, IsASentenceWhereItIsWrittenToWhileItIsMapped) {
  write(weights_bytes(kKey, some_weights('a')));
  const timespec long_ago[] = {{1, 0}, {1, 0}};  // file systems count ticks, and this test takes less than one
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), long_ago, 0), 0);
  const whet_open_source from = source();
  EXPECT_EQ(model_.answer(&from, true, [&] { write(weights_bytes(kKey, some_weights('b'))); }),
            "the weights file was written to while it is mapped, or a part of it cannot be read; open the model again");
}

TEST_F(WeightsFile, MayBeReplacedWhileItIsMapped) {
  write(weights_bytes(kKey, some_weights('a')));
  const whet_open_source from = source();
  const auto replace = [&] {
    const std::string other = path_ + ".new";
    std::ofstream(other, std::ios::binary) << weights_bytes(kKey, some_weights('b'));
    ASSERT_EQ(std::rename(other.c_str(), path_.c_str()), 0);
  };
  EXPECT_EQ(model_.answer(&from, true, replace), some_weights('a'));
}

TEST_F(WeightsFile, IsNoFolderAndNoPipe) {
  whet_open_source from = source();
  for (const char* path : {"/", "/dev/null", "/nowhere/weights"}) {
    from.weights_path = path;
    EXPECT_EQ(model_.answer(&from).find(std::string(path) + ": "), 0u) << model_.answer(&from);
  }
}

TEST_F(WeightsFile, OfVersionOneIsReadForEver) {
  const std::string golden = checkout_path("src/runtime/testdata/weights_v1.bin");
  if (std::getenv("WHET_REWRITE_GOLDEN"))
    std::ofstream(golden, std::ios::binary) << weights_bytes(kKey, some_weights('g'));
  whet_open_source from = source();
  from.weights_path = golden.c_str();
  EXPECT_EQ(model_.answer(&from), some_weights('g'));
}

TEST_F(WeightsFile, IsNotGivenTwice) {
  whet_open_source from = source();
  from.weights = "x";
  EXPECT_EQ(model_.answer(&from), "model net: its weights are given twice, as a file and in memory");
}

}  // namespace
}  // namespace whet::weights_file_test
