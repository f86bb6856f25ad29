// The contract of devices with models that are really compiled: the room device sees no compiler.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/rng.h"
#include "compiler/choose.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "device/local/zygote.h"
#include "device/make_device.h"
#include "device/remote/cpu/remote_model.h"
#include "device/remote/remote_device.h"
#include "device/testing/device_contract.h"
#include "passes/optimize.h"
#include "runner/testing/kernels.h"
#include "tensor/compare.h"

namespace whet {
namespace models_on_devices_test {

using testing::DeviceContract;
using testing::DeviceUnderTest;

Zygote& zygote() {
  static Zygote zygote = std::move(Zygote::start()).value();
  return zygote;
}
/// Before anything starts a thread.
const bool kStarted = (zygote(), true);

/// A chain of `number` matrix products.
FusedGraph products(int number) {
  Rng rng(1);
  Graph graph;
  graph.name = "products";
  graph.inputs = {graph.add_value("x", {DType::f32, {16, 32}})};
  ValueId value = graph.inputs[0];
  for (int i = 0; i < number; ++i) {
    const std::string name = std::to_string(i);
    const ValueId w = graph.add_constant("w" + name, Tensor::random({DType::f32, {32, 32}}, rng));
    value = graph.add_node("product" + name, MatMulOperator{}, {value, w}).value();
  }
  graph.outputs = {value};
  return optimize(std::move(graph), {}).value();
}

const std::string& folder() {
  static const ScratchDirectory folder = ScratchDirectory::make().value();
  return folder.path();
}

/// With compiled models for the target.
DeviceUnderTest with_models(DeviceUnderTest device, const Target& target) {
  for (const int number : {1, 3}) {
    const std::string path = folder() + "/" + device.name + std::to_string(number) + ".so";
    EXPECT_TRUE(compile_model(products(number), best_of(nullptr, target), target, path).ok());
    device.models.push_back({path});
  }
  Rng rng(2);
  device.inputs = {Tensor::random({DType::f32, {16, 32}}, rng)};
  return device;
}

DeviceUnderTest this_machine() {
  const Target target = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  const auto make = [target] { return make_device(target, {.zygote = &zygote()}).value(); };
  return with_models({"this_machine", make, testing_kernels::job(WHET_TEST_KERNELS, "add_one"), {}, {}, {}}, target);
}

std::unique_ptr<RemoteDevice> by_command(const std::string& command) {
  RemoteOptions options;
  options.address = "board";
  options.argv = {"sh", "-c", "XDG_CACHE_HOME=" + folder() + " exec " + command};
  return RemoteDevice::connect(options).value();
}
constexpr const char* kServeModels = WHET_DEVICE " --stdio";

DeviceUnderTest by_a_session() {
  const Target target = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  const auto make = [] { return by_command(kServeModels); };
  return with_models({"by_a_session", make, testing_kernels::job(WHET_TEST_KERNELS, "add_one"), {}, {}, {}}, target);
}

#if defined(WHET_AARCH64_DEVICE)
constexpr const char* kServeEmulated = "qemu-aarch64-static " WHET_AARCH64_DEVICE
                                       " --stdio --model-runner 'qemu-aarch64-static -L /usr/aarch64-linux-gnu'";
const Target kArmTarget = parse_target("cpu -mcpu=cortex-a72 -threads=1").value();

DeviceUnderTest by_an_emulator() {
  const auto make = [] { return by_command(kServeEmulated); };
  return with_models({"by_an_emulator", make, testing_kernels::job(WHET_AARCH64_TEST_KERNELS, "add_one"), {}, {}, {}},
                     kArmTarget);
}
bool has_emulator() { return std::system("command -v qemu-aarch64-static > /dev/null") == 0; }
#endif

std::vector<DeviceUnderTest> devices_with_models() {
  std::vector<DeviceUnderTest> devices = {this_machine()};
  if (std::filesystem::exists(WHET_DEVICE)) devices.push_back(by_a_session());
#if defined(WHET_AARCH64_DEVICE)
  if (has_emulator()) devices.push_back(by_an_emulator());
#endif
  return devices;
}

}  // namespace models_on_devices_test

namespace testing {
INSTANTIATE_TEST_SUITE_P(WithCompiledModels, DeviceContract,
                         ::testing::ValuesIn(models_on_devices_test::devices_with_models()), name_of_device);
}  // namespace testing

namespace models_on_devices_test {

TEST(ThisMachine, NamesTheModelWhoseInputsAreOthersAndWorksOn) {
  const DeviceUnderTest under_test = this_machine();
  const auto device = under_test.make();
  ModelRun run;
  run.burst_seconds = 0.001;
  Rng rng(3);
  run.inputs = {Tensor::random({DType::f32, {8, 8}}, rng)};
  const auto times = device->time_models(under_test.models, run);
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.error().message.find(under_test.models[0].path), 0u) << times.error().message;
  run.inputs = under_test.inputs;
  EXPECT_TRUE(device->time_models(under_test.models, run).ok());
}

#if defined(WHET_AARCH64_DEVICE)
TEST(AnEmulatedBoard, GivesTheAnswersOfThisMachine) {
  if (!has_emulator()) GTEST_SKIP() << "qemu-aarch64-static is missing";
  const Target here = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  ASSERT_TRUE(compile_model(products(2), best_of(nullptr, here), here, folder() + "/here.so").ok());
  ASSERT_TRUE(compile_model(products(2), best_of(nullptr, kArmTarget), kArmTarget, folder() + "/there.so").ok());
  const std::shared_ptr<RemoteDevice> board = by_command(kServeEmulated);
  Result<OpenedModel> a = OpenedModel::open(folder() + "/here.so"),
                      b = open_elsewhere(board, folder() + "/there.so", {});
  ASSERT_TRUE(b.ok()) << b.error().message;
  Rng rng(7);
  const std::vector<Tensor> inputs = {Tensor::random({DType::f32, {16, 32}}, rng)};
  const auto want = a->run(inputs), got = b->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_LE(compare(got->front(), want->front(), 1e-5).relative, 1e-5);
}
#endif

}  // namespace models_on_devices_test
}  // namespace whet
