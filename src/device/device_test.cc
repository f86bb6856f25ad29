#include "device/device.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "artifact/emulated_module.h"
#include "device/local/gpus.h"
#include "device/local/local_device.h"
#include "device/make_device.h"
#include "device/testing/device_contract.h"
#include "device/testing/fake_devices.h"
#include "runner/testing/kernels.h"

namespace whet {
namespace {

using testing::DeviceContract;
using testing::DeviceUnderTest;
using testing::DyingDevice;
using testing::FormulaDevice;

KernelJob job(const std::string& kernel) { return testing_kernels::job(WHET_TEST_KERNELS, kernel); }

Zygote& zygote() {
  static Zygote zygote = std::move(Zygote::start()).value();
  return zygote;
}
/// Before gtest or a device starts a thread.
const bool kStarted = (zygote(), true);

std::unique_ptr<Device> local(double run_timeout = 2) {
  return make_device(Target(), {.zygote = &zygote(), .run_timeout = run_timeout}).value();
}
double a_millisecond(const KernelJob&) { return 1e-3; }

/// A fake and what it wraps.
template <typename Fake>
struct Wrapped : Device {
  template <typename... Arguments>
  explicit Wrapped(Arguments... arguments) : fake(inner, arguments...) {}
  const DeviceInfo& info() const override { return fake.info(); }
  MeasureReply measure(const MeasureRequest& r) override { return fake.measure(r); }
  CheckReply check(const CheckRequest& r) override { return fake.check(r); }
  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>& f, const ModelRun& r) override {
    return fake.time_models(f, r);
  }
  FormulaDevice inner{a_millisecond};
  Fake fake;
};

/// One of the kernels of runner/testing/emulated_kernels.c.
KernelJob emulated_job(const std::string& entry) {
  std::ifstream file(WHET_EMULATED_KERNELS, std::ios::binary);
  const std::string object(std::istreambuf_iterator<char>(file), {});
  KernelJob job;
  job.kernel.format = CodeFormat::emulated;
  job.kernel.code = write_emulated_module({{{entry, 2e-6, 0, 3}}, {object}});
  job.kernel.launches = {{entry, false, {8}, {128}, 512}};
  job.kernel.argument_bytes = {4000, 4000};
  job.arguments = {{ArgumentRole::activation, DType::f32, 4000, 7}, {ArgumentRole::output, DType::f32, 4000}};
  return job;
}
DeviceUnderTest emulated() {
  KernelJob broken = emulated_job("add_one");
  broken.kernel.code = "no module";
  const auto make = [] {
    DeviceOptions options;
    options.name.kind = DeviceName::Kind::emulated;
    options.zygote = &zygote();
    options.run_timeout = 2;
    return make_device(parse_target("cuda -model=h100").value(), options).value();
  };
  return {"emulated", make, emulated_job("turn"), {broken, emulated_job("stuck"), emulated_job("beyond")}, {}, {}};
}

std::vector<DeviceUnderTest> devices() {
  KernelJob broken = job("add_one");
  broken.kernel.code = "no object";
  DeviceUnderTest here{"local", [] { return local(); }, job("add_one"), {broken, job("write_null"), job("hang")}, {},
                       {}};
  DeviceUnderTest formula{"formula",
                          [] { return std::make_unique<FormulaDevice>(a_millisecond); },
                          job("add_one"),
                          {},
                          {{"a.so"}, {"b.so"}},
                          {}};
  DeviceUnderTest dying = formula, lying = formula;
  dying.name = "before_it_dies";
  dying.make = [] { return std::make_unique<Wrapped<DyingDevice>>(1000); };
  lying.name = "while_it_tells_the_truth";
  lying.make = [] { return std::make_unique<Wrapped<testing::LyingDevice>>(std::uint64_t{1}, 1 << 30); };
  return {here, emulated(), formula, dying, lying};
}

}  // namespace

namespace testing {
INSTANTIATE_TEST_SUITE_P(Devices, DeviceContract, ::testing::ValuesIn(devices()), name_of_device);
}  // namespace testing

namespace {

TEST(LocalDevice, IsNamedByItsHost) {
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(local()->info().name, name);
  EXPECT_GT(local()->info().memory, 0);
}
TEST(LocalDevice, SaysWhichModelCannotBeOpened) {
  const auto device = local();
  const auto times = device->time_models({{"/nowhere/model.so"}}, {});
  ASSERT_FALSE(times.ok());
  EXPECT_NE(times.error().message.find("/nowhere/model.so"), std::string::npos) << times.error().message;
  EXPECT_EQ(device->measure({job("add_one"), {}}).code, OutcomeCode::ok) << "it works on";
}
TEST(LocalDevice, IsNoGpuWhereThereIsNoDriver) {
  DeviceOptions options;
  options.zygote = &zygote();
  const auto device = make_device(parse_target("cuda -model=h100").value(), options);
  if (device.ok()) GTEST_SKIP() << "there is a GPU: " << (*device)->info().name;
  EXPECT_NE(device.error().message, "");
  EXPECT_EQ(device.error().message, find_gpus(zygote()).error().message) << "the driver's own sentence";
}
TEST(EmulatedDevice, TakesTheTimesOfEstimates) {
  const auto device = emulated().make();
  EXPECT_EQ(device->info().name, kEmulatedDevice);
  EXPECT_EQ(device->info().code, CodeFormat::emulated);
  const MeasureReply reply = device->measure({emulated_job("add_one"), {}});
  ASSERT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  EXPECT_NEAR(reply.seconds.front(), 2e-6, 1e-10);
}
TEST(DyingDevice, IsLostForAWhile) {
  FormulaDevice inner(a_millisecond);
  DyingDevice device(inner, 1, 2);
  std::string codes;
  for (int i = 0; i < 4; ++i)
    codes += std::to_string(static_cast<int>(device.measure({job("add_one"), {}}).code)) + " ";
  EXPECT_EQ(codes, "0 10 10 0 ");
}

}  // namespace
}  // namespace whet
