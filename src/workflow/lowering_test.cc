#include "workflow/lowering.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/rng.h"
#include "tensor_files/npy.h"
#include "workflow/tune_json.h"

namespace whet::lowering_test {
namespace {

TuneSettings with_samples() {
  TuneSettings settings;
  settings.model.model = "zoo:mlp";
  settings.rounding.precision = "auto";
  settings.samples = "images", settings.max_error = {"1%"};
  return settings;
}

std::string error_of_settings(const std::function<void(TuneSettings&)>& change) {
  TuneSettings settings = with_samples();
  change(settings);
  const Status checked = check_lowering(settings);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().kind, ErrorKind::wrong_use);
  return checked.error().message;
}

TEST(Lowering, NeedsSamplesAndALimit) {
  EXPECT_EQ(error_of_settings([](TuneSettings&) {}), "");
  for (const auto& change :
       {+[](TuneSettings& s) { s.samples.clear(); }, +[](TuneSettings& s) { s.max_error.clear(); }})
    EXPECT_EQ(
        error_of_settings(change),
        "tune: --precision auto needs --samples and --max-error: without them nobody can say what is precise enough");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.rounding.precision = "bf16"; }),
            "tune: --samples counts only with --precision auto or int8");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) {
              s.rounding.precision = "f32", s.samples.clear(), s.max_error.clear(), s.write_quantized = "q.onnx";
            }),
            "tune: --write-quantized counts only with --precision auto or int8");
}

TEST(Lowering, InBytesNeedsSamplesAndMayHaveALimit) {
  const auto error = [](bool has_samples, bool has_limit) {
    return error_of_settings([&](TuneSettings& s) {
      s.rounding.precision = "int8";
      if (!has_samples) s.samples.clear();
      if (!has_limit) s.max_error.clear();
    });
  };
  EXPECT_EQ(error(true, true), "");
  EXPECT_EQ(error(true, false), "");
  EXPECT_EQ(error(false, true),
            "tune: --precision int8 needs --samples: what a byte stands for follows from the ranges of your data");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.rounding.precision = "int8", s.no_network = true; }),
            "tune: --precision int8 runs and times the whole network: leave out --no-network");
}

TEST(Lowering, SaysWhatItCannotBeTogetherWith) {
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.rounding.exact = true; }),
            "tune: --exact allows no lowered products: leave out --precision auto");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.no_network = true; }),
            "tune: --precision auto runs and times the whole network: leave out --no-network");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.only = "0"; }),
            "tune: --precision auto is for the whole network: leave out --tasks");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.together.resize(2); }),
            "tune: --precision auto is for one model, and several are given");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.model.sizes = {"n=1..512"}; }),
            "tune: --precision auto is for models of one size: leave out --sizes, and give the size by --shape");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.where.devices = {"ssh://pi@board"}; }), "");
  EXPECT_EQ(error_of_settings([](TuneSettings& s) { s.where.devices = {"fleet:cortex-a76"}; }),
            "tune: --precision auto runs your samples on one machine, and any unit of a fleet takes any job: leave out "
            "--device");
}

/// Samples of zoo:mlp in a folder.
class LoweringSamples : public ::testing::Test {
 protected:
  LoweringSamples() {
    folder_ = ::testing::TempDir() + "lowering_XXXXXX";
    EXPECT_NE(::mkdtemp(folder_.data()), nullptr);
    settings_.samples = folder_;
    settings_.where.tell = [this](const std::string& note) { notes_.push_back(note); };
    prepared_.fused = load_fused(settings_.model, {}, {}).value();
  }
  ~LoweringSamples() override { std::filesystem::remove_all(folder_); }

  void save(int samples, bool constant = false) const {
    const TensorType type = input_slots(prepared_.fused.graph).front().type;
    Rng rng(1);
    for (int i = 0; i < samples; ++i) {
      const Tensor tensor = constant ? Tensor(type.dtype, type.shape) : Tensor::random(type, rng);
      ASSERT_TRUE(save_npy(folder_ + "/" + std::to_string(i) + ".npy", tensor).ok());
    }
  }
  std::string prepare_error() {
    const Status prepared = prepare_lowering(settings_, prepared_);
    return prepared.ok() ? "" : prepared.error().message;
  }

  TuneSettings settings_ = with_samples();
  Prepared prepared_;
  std::string folder_;
  std::vector<std::string> notes_;
};

TEST_F(LoweringSamples, AreReadAndFewOfThemAreNoted) {
  save(8);
  EXPECT_EQ(prepare_error(), "");
  EXPECT_EQ(prepared_.samples->all.size(), 8u);
  EXPECT_TRUE(notes_.empty());
  EXPECT_TRUE(samples_text(prepared_).front().starts_with("samples: 8 of " + folder_ +
                                                          " (4 calibrate, 4 are held out); input "));
  std::filesystem::remove(folder_ + "/7.npy");
  EXPECT_EQ(prepare_error(), "");
  EXPECT_EQ(notes_,
            std::vector<std::string>{
                folder_ + " has 7 samples: with fewer than 8 the limits are likely to break on data that is not "
                          "among them"});
  notes_.clear();
  settings_.rounding.precision = "int8", settings_.max_error.clear();
  EXPECT_EQ(prepare_error(), "");
  EXPECT_EQ(notes_, std::vector<std::string>{folder_ + " has 7 samples: with fewer than 8 errors are likely to be "
                                                       "larger on data that is not among them"});
}

TEST_F(LoweringSamples, ThatDecideNothingAreASentence) {
  save(1);
  EXPECT_EQ(prepare_error(),
            folder_ + " has one sample; --precision auto needs two at least, as half of them are held out");
  save(2, true);
  EXPECT_TRUE(prepare_error().starts_with("the samples are constant: every element of ")) << prepare_error();
}

TEST_F(LoweringSamples, ThatAnEmulatorWouldTimeAreRefused) {
  save(8);
  prepared_.emulated = true;
  EXPECT_EQ(prepare_error(), "tune: --precision auto chooses by times, and those of an emulator mean nothing");
}

TEST_F(LoweringSamples, AreJudgedByOutputsThatTheModelHas) {
  save(8);
  settings_.max_error = {"boxes:abs<=2"};
  EXPECT_TRUE(prepare_error().starts_with(
      "tune: --max-error boxes:abs<=2 is about an output that the model does not have; its outputs are "))
      << prepare_error();
  settings_.max_error = {"much"};
  EXPECT_TRUE(prepare_error().starts_with("\"much\" is no limit on answers; expected 1%, ")) << prepare_error();
}

TEST_F(LoweringSamples, AreNotAskedForAFileThatNoNetworkLikeThisFitsInto) {
  save(8);
  settings_.write_quantized = folder_ + "/q.onnx";
  EXPECT_EQ(prepare_error(), "");
  prepared_.fused.graph.nodes.front().op = CustomOperator{"acme.Swish", nullptr};
  EXPECT_TRUE(prepare_error().starts_with("--write-quantized: ")) << prepare_error();
  EXPECT_TRUE(prepare_error().ends_with("acme.Swish is an operator by its definition; ONNX has none such"));
}

TEST_F(LoweringSamples, LeaveNoFileWherePlansAreNotAdopted) {
  settings_.write_quantized = folder_ + "/q.onnx";
  EXPECT_FALSE(write_if_asked(settings_, prepared_, {}, {}).has_value());
  EXPECT_EQ(notes_, std::vector<std::string>{folder_ + "/q.onnx was not written: no plan in fewer bits was adopted"});
}

TEST(Lowering, TheJsonOfATuningHasWhyItsFileWasNotWritten) {
  Tuned tuned;
  EXPECT_EQ(dump(to_json(tuned, "r.jsonl")).find("unwritten"), std::string::npos);
  tuned.unwritten = Error{"--write-quantized: no room for q.onnx"};
  const std::string json = dump(to_json(tuned, "r.jsonl"));
  EXPECT_NE(json.find(R"("unwritten":"--write-quantized: no room for q.onnx")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("records":"r.jsonl")"), std::string::npos) << "all else is told";
}

TEST(Lowering, HasHalfOfTheTimeAndOfTheTrialsBehindF32) {
  TuneSettings settings = with_samples();
  settings.trials = 101;
  settings.time = TimeBudget(60, 0, "--minutes 1");
  const TuneSettings in_f32 = float_settings(settings);
  EXPECT_EQ(in_f32.trials, 50);
  EXPECT_NEAR(in_f32.time.run_seconds(), 30, 1e-9);
  settings.rounding.precision = "f32";
  EXPECT_EQ(float_settings(settings).trials, 101);
}

}  // namespace
}  // namespace whet::lowering_test
