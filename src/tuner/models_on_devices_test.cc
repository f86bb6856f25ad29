// The contract of devices with models that are really compiled: the room device sees no compiler.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "compiler/choose.h"
#include "compiler/compile.h"
#include "compiler/scratch.h"
#include "device/local/zygote.h"
#include "device/make_device.h"
#include "device/testing/device_contract.h"
#include "passes/optimize.h"
#include "runner/testing/kernels.h"

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

DeviceUnderTest this_machine() {
  static const ScratchDirectory folder = ScratchDirectory::make().value();
  const Target target = parse_target("cpu -mcpu=x86-64-v2 -threads=1").value();
  const auto make = [target] { return make_device(target, {.zygote = &zygote()}).value(); };
  DeviceUnderTest device{"this_machine", make, testing_kernels::job(WHET_TEST_KERNELS, "add_one"), {}, {}, {}};
  for (const int number : {1, 3}) {
    const std::string path = folder.path() + "/products" + std::to_string(number) + ".so";
    EXPECT_TRUE(compile_model(products(number), best_of(nullptr, target), target, path).ok());
    device.models.push_back({path});
  }
  Rng rng(2);
  device.inputs = {Tensor::random({DType::f32, {16, 32}}, rng)};
  return device;
}

}  // namespace models_on_devices_test

namespace testing {
INSTANTIATE_TEST_SUITE_P(WithCompiledModels, DeviceContract, ::testing::Values(models_on_devices_test::this_machine()),
                         name_of_device);
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

}  // namespace models_on_devices_test
}  // namespace whet
