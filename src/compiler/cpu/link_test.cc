#include "compiler/cpu/link.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>

#include "artifact/model_plan.h"
#include "base/rng.h"
#include "compiler/cpu/image_object.h"
#include "compiler/scratch.h"
#include "device/cpu/opened_model.h"
#include "runtime/embedded.h"

namespace whet {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// y = 2 · reverse(x + w) over 1024 floats, w at the end of the weights.
ModelPlan test_plan(std::uint64_t weights_bytes) {
  ModelPlan plan;
  plan.name = "linked";
  plan.target = "cpu -mcpu=x86-64 -threads=2";
  plan.entries = 2;
  plan.tuned_threads = 2;
  plan.arena_bytes = 4096;
  plan.weights_bytes = weights_bytes;
  plan.inputs = {{"x", 0, {1024}, 4096}};
  plan.outputs = {{"y", 0, {32, 32}, 4096}};
  const PlanArgument x{PlanPlace::input, 0, 0, 4096}, w{PlanPlace::weights, 0, weights_bytes - 4096, 4096};
  const PlanArgument a{PlanPlace::arena, 0, 0, 4096}, y{PlanPlace::output, 0, 0, 4096};
  plan.steps.resize(2);
  plan.steps[0] = {PlanStepKind::kernel, 1, {x, w, a}, true, false};
  plan.steps[1] = {PlanStepKind::kernel, 0, {a, y}, true, true};
  return plan;
}

class Link : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<ScratchDirectory> made = ScratchDirectory::make();
    ASSERT_TRUE(made.ok()) << made.error().message;
    scratch_ = std::make_unique<ScratchDirectory>(std::move(made).value());
    weights_.resize(1024);
    std::iota(weights_.begin(), weights_.end(), 7.0f);
  }
  std::string path(const std::string& name) const { return scratch_->path() + "/" + name; }

  Status link_with(const WeightTable& weights, const std::vector<std::string>& kernels) {
    const std::string plan = write_plan(test_plan(weights.bytes()));
    write_file(path("image.o"), image_object(kElfX86_64, plan, kernels, weights.bytes()));
    return link_model(cpu_runtime_object(), {path("image.o"), WHET_TEST_KERNELS}, weights, path("model.so"),
                      scratch_->path(), 1);
  }
  /// Links the test model and gives its path. Other weights may be before its own.
  std::string link(std::int64_t other_weights = 0) {
    WeightTable weights;
    if (other_weights > 0) weights.add(Tensor(DType::f32, {other_weights / 4}));
    weights.add(Tensor::of(DType::f32, {1024}, weights_));
    const Status status = link_with(weights, {"whet_test_reverse", "whet_test_add"});
    EXPECT_TRUE(status.ok()) << status.error().message;
    return path("model.so");
  }
  void expect_right(const std::string& model, OpenModelOptions options = {}) {
    Result<OpenedModel> opened = OpenedModel::open(model, options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    Rng rng(1);
    const Tensor x = Tensor::random({DType::f32, {1024}}, rng);
    Result<std::vector<Tensor>> y = opened->run({x});
    ASSERT_TRUE(y.ok()) << y.error().message;
    ASSERT_EQ(y.value()[0].type(), (TensorType{DType::f32, {32, 32}}));
    for (std::size_t i = 0; i < 1024; ++i) {
      ASSERT_EQ(y.value()[0].as<float>()[i], 2 * (x.as<float>()[1023 - i] + weights_[1023 - i]));
    }
  }
  static std::string error_of_open(const std::string& path) {
    const Result<OpenedModel> opened = OpenedModel::open(path);
    return opened.ok() ? "no error" : opened.error().message;
  }

  std::unique_ptr<ScratchDirectory> scratch_;
  std::vector<float> weights_;
};

TEST_F(Link, MakesAModelThatRuns) {
  const std::string model = link();
  expect_right(model);
  OpenModelOptions options;
  options.threads = 3;
  options.map_weights = true;
  expect_right(model, options);
}

TEST_F(Link, MakesAModelThatTellsWhatEachWorkerDid) {
  OpenModelOptions options;
  options.threads = 2, options.pin = false;
  Result<OpenedModel> opened = OpenedModel::open(link(), options);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Rng rng(1);
  ASSERT_TRUE(opened->set_inputs({Tensor::random({DType::f32, {1024}}, rng)}).ok());
  const Result<InferenceTrace> trace = opened->trace_runs(1, 3);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->ends.size(), opened->info().steps);
  EXPECT_TRUE(std::is_sorted(trace->ends.begin(), trace->ends.end()));
  EXPECT_FALSE(trace->stretches.empty());
  for (const InferenceTrace::Stretch& stretch : trace->stretches) {
    EXPECT_LT(stretch.worker, 2u);
    ASSERT_LT(stretch.step, trace->ends.size());
    EXPECT_LT(stretch.begin, stretch.end);
    EXPECT_LE(stretch.begin, trace->ends[stretch.step]);
  }
  expect_right(link(), options);
}

TEST_F(Link, CarriesWeightsOfManyHugePages) { expect_right(link(std::int64_t{40} << 20)); }

TEST_F(Link, PutsTheWeightsBehindTheCodeAsASegmentOfTheirOwn) {
  const std::string elf = read_file(link(1 << 20));
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  std::memcpy(segments.data(), elf.data() + header.e_phoff, segments.size() * sizeof(Elf64_Phdr));
  std::erase_if(segments, [](const Elf64_Phdr& s) { return s.p_type != PT_LOAD; });
  ASSERT_TRUE(std::ranges::is_sorted(segments, {}, &Elf64_Phdr::p_vaddr));
  const Elf64_Phdr& weights = segments.back();
  const Elf64_Phdr& code = segments[segments.size() - 2];
  EXPECT_GE(weights.p_vaddr, code.p_vaddr + code.p_memsz);
  EXPECT_LT(weights.p_vaddr, code.p_vaddr + code.p_memsz + weights.p_align) << "no address space between them";
  EXPECT_EQ(weights.p_flags, static_cast<Elf64_Word>(PF_R));
  EXPECT_EQ(weights.p_offset + weights.p_filesz + sizeof(whet_file_trailer), elf.size());
  EXPECT_EQ(std::memcmp(elf.data() + weights.p_offset + weights.p_filesz - 4096, weights_.data(), 4096), 0);
}

/// Names in the dynamic symbol table: {defined, undefined}.
std::pair<std::set<std::string>, std::set<std::string>> dynamic_symbols(const std::string& elf) {
  std::pair<std::set<std::string>, std::set<std::string>> names;
  Elf64_Ehdr header;
  std::memcpy(&header, elf.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), elf.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != SHT_DYNSYM) continue;
    for (std::size_t i = 1; i < s.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, elf.data() + s.sh_offset + i * sizeof symbol, sizeof symbol);
      const char* name = elf.data() + sections[s.sh_link].sh_offset + symbol.st_name;
      (symbol.st_shndx == SHN_UNDEF ? names.second : names.first).insert(name);
    }
  }
  return names;
}

TEST_F(Link, ExportsOneSymbolAndNeedsOnlyTheCLibrary) {
  const auto [defined, undefined] = dynamic_symbols(read_file(link()));
  EXPECT_EQ(defined, (std::set<std::string>{"whet_model_v1"}));
  void* c = dlopen("libc.so.6", RTLD_NOW);
  ASSERT_NE(c, nullptr);
  EXPECT_GT(undefined.size(), 5u);
  for (const std::string& name : undefined) EXPECT_NE(dlsym(c, name.c_str()), nullptr) << name;
  dlclose(c);
}

TEST_F(Link, SaysWhatTheLinkerSays) {
  const Status status =
      link_model(cpu_runtime_object(), {path("missing.o")}, {}, path("model.so"), scratch_->path(), 1);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("missing.o"), std::string::npos) << status.error().message;
  EXPECT_EQ(read_file(path("model.so")), "") << "nothing is left behind";
}

TEST_F(Link, RefusesAMissingKernel) {
  WeightTable weights;
  weights.add(Tensor::of(DType::f32, {1024}, weights_));
  const Status status = link_with(weights, {"no_such_kernel", "whet_test_add"});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("no_such_kernel"), std::string::npos) << status.error().message;
}

TEST_F(Link, ModelsThatAreTruncatedOrChangedAreRefusedWithASentence) {
  const std::string bytes = read_file(link());
  const std::string bad = path("bad.so");
  EXPECT_EQ(error_of_open(bad), bad + ": No such file or directory; expected the path of a compiled model");
  for (double share : {0.0, 0.001, 0.3, 0.99, 0.9999}) {
    const std::size_t size = static_cast<std::size_t>(share * static_cast<double>(bytes.size()));
    write_file(bad, bytes.substr(0, size));
    EXPECT_EQ(error_of_open(bad),
              bad + ": the last 64 bytes (of " + std::to_string(size) +
                  ") are not whet's trailer; expected a compiled model of whet (it may be truncated, "
                  "stripped, or another kind of file)");
  }
  Rng rng(5);
  for (int round = 0; round < 200; ++round) {
    std::string changed = bytes;
    const std::size_t at = static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size() - 32)));
    changed[at] = static_cast<char>(changed[at] + 1 + rng.below(255));
    write_file(bad, changed);
    EXPECT_NE(error_of_open(bad), "no error") << "byte " << at;
  }
}

TEST_F(Link, AModelThatIsAPipeIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path("pipe.so").c_str(), 0600), 0);
  EXPECT_EQ(error_of_open(path("pipe.so")), path("pipe.so") + ": is not a regular file; expected a compiled model");
}

TEST_F(Link, ModelsOfOtherVersionsAndProcessorsAreRefusedWithASentence) {
  const std::string bytes = read_file(link());
  const std::string bad = path("bad.so");
  const std::size_t trailer = bytes.size() - sizeof(whet_file_trailer);
  std::string changed = bytes;
  changed[trailer + offsetof(whet_file_trailer, version)] = 3;
  write_file(bad, changed);
  EXPECT_EQ(error_of_open(bad),
            bad + ": has model format version 3; this program reads version 1 (compile the model again)");
  changed = bytes;
  changed[trailer + offsetof(whet_file_trailer, machine)] = static_cast<char>(183);
  write_file(bad, changed);
  EXPECT_EQ(error_of_open(bad), bad + ": is compiled for AArch64; this program runs on x86-64");
  changed = bytes.substr(0, 100) + bytes.substr(200);
  write_file(bad, changed);
  EXPECT_EQ(error_of_open(bad), bad + ": has " + std::to_string(bytes.size() - 100) + " bytes; its trailer says " +
                                    std::to_string(bytes.size()) + " (it may be truncated)");
}

/// The model with another size or version in its table of functions, and the checksum that belongs to it.
std::string with_table(std::string model, std::uint32_t struct_bytes, std::uint32_t api_version) {
  // A model for the CPU has no functions of devices.
  const std::uint32_t was[] = {offsetof(whet_api, device_count), WHET_API_VERSION, WHET_MODEL_FORMAT_VERSION, 0};
  const std::size_t at = model.find(std::string(reinterpret_cast<const char*>(was), sizeof was));
  EXPECT_NE(at, std::string::npos);
  std::memcpy(model.data() + at, &struct_bytes, 4);
  std::memcpy(model.data() + at + 4, &api_version, 4);
  const std::size_t trailer = model.size() - sizeof(whet_file_trailer);
  const std::uint64_t checksum = whet_checksum(model.data(), trailer);
  std::memcpy(model.data() + trailer + offsetof(whet_file_trailer, checksum), &checksum, 8);
  return model;
}

TEST_F(Link, ModelsWithALongerTableOfFunctionsAreOpenedAndOthersRefused) {
  const std::string bytes = read_file(link());
  const std::string other = path("other.so"), longer = path("longer.so");
  const std::string least = std::to_string(offsetof(whet_api, session_profile) + 8);
  write_file(longer, with_table(bytes, sizeof(whet_api) + 64, WHET_API_VERSION));
  expect_right(longer);
  write_file(other, with_table(bytes, offsetof(whet_api, session_profile), WHET_API_VERSION));
  EXPECT_EQ(error_of_open(other), other + ": has version 1 (" + std::to_string(offsetof(whet_api, session_profile)) +
                                      " bytes) of the table of functions; this program needs version 1 (" + least +
                                      " bytes or more)");
  write_file(other, with_table(bytes, sizeof(whet_api), 7));
  EXPECT_EQ(error_of_open(other), other + ": has version 7 (" + std::to_string(sizeof(whet_api)) +
                                      " bytes) of the table of functions; this program needs version 1 (" + least +
                                      " bytes or more)");
}

/// What a program with a header of a later version sees: a table of version 1 lacks what was added since.
TEST(TableOfFunctions, SaysHowFarItGoes) {
  whet_api api{};
  api.api_version = WHET_API_VERSION;
  api.struct_bytes = offsetof(whet_api, session_profile) + sizeof api.session_profile;
  EXPECT_TRUE(WHET_HAS(&api, session_profile));
  EXPECT_EQ(whet_check_table(&api, "model.so", nullptr), 0);
  api.struct_bytes -= 1;
  EXPECT_FALSE(WHET_HAS(&api, session_profile));
  EXPECT_TRUE(WHET_HAS(&api, session_set_profiling));
  EXPECT_NE(whet_check_table(&api, "model.so", nullptr), 0);
  whet_error error;
  EXPECT_NE(whet_check_table(nullptr, "model.so", &error), 0);
  EXPECT_STREQ(error.message,
               "model.so: exports no table of functions (whet_model_v1); expected a compiled model of whet");
}

TEST_F(Link, InputsOfAnotherTypeAreRefusedWithASentence) {
  Result<OpenedModel> opened = OpenedModel::open(link());
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->run({Tensor(DType::f32, {32, 32})}).error().message,
            "input \"x\" is f32[1024]; the tensor given is f32[32x32]");
  EXPECT_EQ(opened->run(std::vector<Tensor>{}).error().message, "the model has 1 inputs; 0 tensors are given");
}

}  // namespace
}  // namespace whet
