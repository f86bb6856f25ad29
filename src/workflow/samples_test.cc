#include "workflow/samples.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/rng.h"
#include "tensor_files/file.h"
#include "tensor_files/npy.h"
#include "tensor_files/zip.h"

namespace whet::samples_test {
namespace {

namespace fs = std::filesystem;

class SampleFiles : public ::testing::Test {
 protected:
  SampleFiles() {
    folder_ = ::testing::TempDir() + "samples_XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~SampleFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Result<Samples> read(const std::string& name = "") const {
    return read_samples(name.empty() ? folder_ : path(name), slots_);
  }
  /// The message without the folder's name.
  std::string error(const std::string& name = "") const {
    const Result<Samples> samples = read(name);
    std::string text = samples.ok() ? "no error" : samples.error().message;
    for (std::size_t at = 0; (at = text.find(folder_)) != text.npos;) text.replace(at, folder_.size(), "F");
    return text;
  }
  static Tensor ramp(DType dtype, const Shape& shape, double first) {
    Tensor tensor(dtype, shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, first + static_cast<double>(i));
    return tensor;
  }
  void save(const std::string& name, const Tensor& tensor) const { ASSERT_TRUE(save_npy(path(name), tensor).ok()); }

  std::string folder_;
  std::vector<InputSlot> slots_ = {{"x", {DType::f32, {1, 3}}}};
};

TEST_F(SampleFiles, AreAFolderOfOneEach) {
  save("b.npy", ramp(DType::f32, {1, 3}, 5));
  save("a.npy", ramp(DType::f64, {1, 3}, 1));
  ASSERT_TRUE(save_npz(path("c.npz"), {{"x", ramp(DType::f32, {1, 3}, 9)}}).ok());
  ASSERT_TRUE(write_file(path("about.txt"), "no sample").ok());
  const Result<Samples> samples = read();
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  ASSERT_EQ(samples->all.size(), 3u);
  EXPECT_EQ(samples->all[0].name, path("a.npy"));
  EXPECT_EQ(samples->all[0].inputs[0].type(), slots_[0].type);
  EXPECT_EQ(samples->all[2].inputs[0].get(1), 10);
  EXPECT_EQ(sample_lines(*samples, slots_), std::vector<std::string>{"input x f32[1x3]: 1 .. 11, mean 6"});
  EXPECT_TRUE(check_contents(*samples, slots_).ok());
}

TEST_F(SampleFiles, AreRowsOfOneFile) {
  save("all.npy", ramp(DType::f32, {4, 1, 3}, 0));
  save("batch.npy", ramp(DType::f32, {4, 3}, 0));
  for (const char* file : {"all.npy", "batch.npy"}) {
    const Result<Samples> samples = read(file);
    ASSERT_TRUE(samples.ok()) << samples.error().message;
    ASSERT_EQ(samples->all.size(), 4u);
    EXPECT_EQ(samples->all[3].name, path(file) + "[3]");
    EXPECT_EQ(samples->all[3].inputs[0].get(2), 11);
  }
  EXPECT_EQ(read("all.npy")->digest, read("batch.npy")->digest);
  save("other.npy", ramp(DType::f32, {4, 1, 3}, 1));
  EXPECT_NE(read("all.npy")->digest, read("other.npy")->digest);
}

TEST_F(SampleFiles, HaveEveryInputByItsName) {
  slots_.push_back({"n", {DType::i64, {}}});
  ASSERT_TRUE(save_npz(path("two.npz"), {{"n", ramp(DType::i64, {2}, 7)}, {"x", ramp(DType::f32, {2, 1, 3}, 0)}}).ok());
  const Result<Samples> samples = read("two.npz");
  ASSERT_TRUE(samples.ok()) << samples.error().message;
  EXPECT_EQ(samples->all[1].inputs[1].get(0), 8);
  ASSERT_TRUE(
      save_npz(path("short.npz"), {{"n", ramp(DType::i64, {3}, 7)}, {"x", ramp(DType::f32, {2, 1, 3}, 0)}}).ok());
  EXPECT_EQ(error("short.npz"), "F/short.npz: inputs x and n have different numbers of samples");
  ASSERT_TRUE(save_npz(path("less.npz"), {{"x", ramp(DType::f32, {1, 3}, 0)}}).ok());
  EXPECT_EQ(error("less.npz"), "sample F/less.npz has no n i64[scalar]; a sample has all 2 inputs");
  ASSERT_TRUE(
      save_npz(path("more.npz"),
               {{"x", ramp(DType::f32, {1, 3}, 0)}, {"n", ramp(DType::i64, {}, 0)}, {"label", ramp(DType::i64, {}, 0)}})
          .ok());
  EXPECT_EQ(error("more.npz"), "sample F/more.npz has a tensor label, which is no input of the model");
}

TEST_F(SampleFiles, ThatDoNotFitAreASentence) {
  EXPECT_EQ(error(), "the folder \"F\" has no sample: expected files ending in .npz or .npy");
  EXPECT_EQ(error("x.txt"), "\"F/x.txt\": expected a folder of samples, or a file ending in .npz or .npy");
  save("wide.npy", ramp(DType::f32, {1, 4}, 0));
  EXPECT_EQ(error("wide.npy"), "sample F/wide.npy has f32[1x4], input x wants f32[1x3]");
  save("stacked.npy", ramp(DType::f32, {2, 1, 3}, 0));
  EXPECT_EQ(error(), "sample F/stacked.npy has f32[2x1x3], input x wants f32[1x3]") << "a folder has one sample a file";
  save("none.npy", ramp(DType::f32, {0, 1, 3}, 0));
  EXPECT_EQ(error("none.npy"), "F/none.npy has no sample");
  Tensor bad = ramp(DType::f32, {1, 3}, 0);
  bad.set(1, std::nan(""));
  save("nan.npy", bad);
  EXPECT_EQ(error("nan.npy"), "sample F/nan.npy: element 1 of input x is nan; samples are finite numbers");
}

TEST_F(SampleFiles, OfOneValueSayNothing) {
  save("zero.npy", Tensor(DType::f32, {5, 1, 3}));
  EXPECT_EQ(check_contents(*read("zero.npy"), slots_).error().message,
            "the samples are constant: every element of x is 0");
}

TEST_F(SampleFiles, ThatAreNoFilesAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  EXPECT_EQ(error(), "cannot read \"F/pipe.npy\": it is a pipe");
  fs::remove(path("pipe.npy"));
  fs::create_symlink(path("loop.npy"), path("loop.npy"));
  EXPECT_TRUE(error().starts_with("cannot read \"F/loop.npy\": ")) << error();
  fs::remove(path("loop.npy"));
  fs::create_symlink("/dev/zero", path("zero.npy"));
  EXPECT_EQ(error(), "cannot read \"F/zero.npy\": it is a device");
}

TEST_F(SampleFiles, WithControlCharactersInTheirNamesAreRefused) {
  save("a\nb.npy", ramp(DType::f32, {1, 3}, 0));
  EXPECT_EQ(error(), "the folder \"F\" has a sample whose name has control characters; rename it");
  ASSERT_TRUE(save_npz(path("m.npz"), {{"\x1b[2J", ramp(DType::f32, {1, 3}, 0)}}).ok());
  EXPECT_EQ(error("m.npz"), "F/m.npz: a member of the zip file has control characters in its name");
}

TEST_F(SampleFiles, HaveEachInputOnce) {
  ASSERT_TRUE(
      save_npz(path("twice.npz"), {{"x", ramp(DType::f32, {1, 3}, 0)}, {"x", ramp(DType::f32, {1, 3}, 9)}}).ok());
  EXPECT_EQ(error("twice.npz"), "sample F/twice.npz has the tensor x twice");
}

TEST_F(SampleFiles, AreTheSameFromMemory) {
  const std::string bytes = *format_npz({{"x", ramp(DType::f32, {4, 1, 3}, 0)}});
  ASSERT_TRUE(write_file(path("s.npz"), bytes).ok());
  EXPECT_EQ(read("s.npz")->digest, parse_samples(bytes, "s.npz", slots_)->digest);
  EXPECT_EQ(parse_samples(bytes, "s.npz", {}).error().message,
            "s.npz: the model has no inputs, so that there are no samples of it");
}

TEST_F(SampleFiles, ThatUnpackToMoreThanSamplesMayHaveAreRefusedUnread) {
  ZipWriter zip;
  ASSERT_TRUE(zip.add("x.npy", format_npy(ramp(DType::f32, {1, 3}, 0))).ok());
  std::string bytes = *std::move(zip).finish();
  // The directory's entry has the size behind the member's name and checksum: 24 bytes into it.
  const std::size_t entry = bytes.find("PK\x01\x02");
  ASSERT_NE(entry, bytes.npos);
  for (std::size_t i = 0; i < 4; ++i) bytes[entry + 24 + i] = static_cast<char>(0xf0);
  ASSERT_TRUE(write_file(path("bomb.npz"), bytes).ok());
  EXPECT_EQ(error("bomb.npz"), "F/bomb.npz: the samples have more than 1024 MiB together; give fewer");
}

TEST_F(SampleFiles, OfGarbageAreASentence) {
  const std::string good = *format_npz({{"x", ramp(DType::f32, {2, 1, 3}, 0)}});
  Rng rng(56);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    for (std::int64_t n = rng.between(1, 4); n > 0; --n)
      bytes[static_cast<std::size_t>(rng.below(std::ssize(bytes)))] = static_cast<char>(rng.below(256));
    if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(std::ssize(bytes))));
    ASSERT_TRUE(write_file(path("garbage.npz"), bytes).ok());
    const Result<Samples> samples = read("garbage.npz");
    if (!samples.ok()) {
      EXPECT_EQ(samples.error().message.find('\n'), std::string::npos) << i;
    }
  }
}

}  // namespace
}  // namespace whet::samples_test
