#include "device/testing/device_contract.h"

namespace whet::testing {

TEST_P(DeviceContract, SaysWhatItIsAndStaysSo) {
  const auto device = GetParam().make();
  const DeviceInfo before = device->info();
  EXPECT_FALSE(before.name.empty());
  EXPECT_EQ(before.wire, kWireVersion);
  EXPECT_GE(before.memory, 0);
  measured(*device, GetParam().good);
  EXPECT_EQ(device->info().name, before.name);
  EXPECT_EQ(device->info().target, before.target);
}
TEST_P(DeviceContract, TimesAKernel) {
  const auto device = GetParam().make();
  for (int i = 0; i < 3; ++i) {
    const MeasureReply reply = measured(*device, GetParam().good);
    EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
    EXPECT_FALSE(reply.truncated) << "there is no incumbent";
  }
}
TEST_P(DeviceContract, EndsAKernelEarlyThatIsClearlySlowerThanTheIncumbent) {
  const auto device = GetParam().make();
  MeasureRequest request{GetParam().good, {}};
  request.policy.incumbent_seconds = 1e-12;
  const MeasureReply reply = device->measure(request);
  EXPECT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  EXPECT_TRUE(reply.truncated);
}
TEST_P(DeviceContract, RunsAJobWhole) {
  const auto device = GetParam().make();
  EXPECT_GE(device->info().job_candidates, 1);
  MeasureJob job{{{GetParam().good, {}}, {GetParam().good, {}}}};
  EXPECT_EQ(device->run(job).replies.size(), 2u);
  job.champion = true;
  for (const KernelJob& bad : GetParam().bad) job.requests.push_back({bad, {}});
  const JobReply reply = device->run(job);
  ASSERT_EQ(reply.replies.size(), job.requests.size() + 1);
  for (const std::size_t good : {std::size_t{0}, std::size_t{1}, job.requests.size()})
    EXPECT_EQ(reply.replies[good].code, OutcomeCode::ok) << reply.replies[good].message;
  for (std::size_t bad = 2; bad < job.requests.size(); ++bad)
    EXPECT_NE(reply.replies[bad].code, OutcomeCode::ok) << bad;
}
TEST_P(DeviceContract, GivesTheOutputsOfAKernel) {
  const auto device = GetParam().make();
  const CheckReply first = checked(*device, GetParam().good), second = checked(*device, GetParam().good);
  EXPECT_EQ(first.code, OutcomeCode::ok) << first.message;
  EXPECT_EQ(first.outputs, second.outputs) << "inputs come from seeds";
}
TEST_P(DeviceContract, TellsSpotsOfTheOutputsOfAKernel) {
  const auto device = GetParam().make();
  SpotsRequest request{{GetParam().good, {}, {}, {}}, CheckRequest{GetParam().good, {}, {}, {}}, {}};
  const CheckReply whole = checked(*device, GetParam().good);
  ASSERT_EQ(whole.outputs.size(), 1u);
  const std::uint64_t bytes = whole.outputs[0].size();
  request.outputs = {{DType::u8, bytes, bytes, 0, 0, {0, static_cast<std::uint32_t>(bytes) - 1}}};
  ASSERT_TRUE(is_sane(request));
  const SpotsReply reply = device->check_spots(request);
  EXPECT_EQ(sane_reply(reply, request).code, OutcomeCode::ok) << reply.message;
  ASSERT_EQ(reply.outputs.size(), 1u);
  EXPECT_EQ(reply.outputs[0].spots, std::string({whole.outputs[0].front(), whole.outputs[0].back()}));
  EXPECT_TRUE(reply.compared);
  EXPECT_EQ(reply.outputs[0].mismatches, 0);
  for (const KernelJob& bad : GetParam().bad) {
    request = {{bad, {}, {}, {}}, {}, {{DType::u8, bytes, bytes, 0, 0, {0}}}};
    EXPECT_NE(device->check_spots(request).code, OutcomeCode::ok);
  }
}
TEST_P(DeviceContract, CallsAFailureByItsNumberAndWorksOn) {
  const auto device = GetParam().make();
  for (const KernelJob& job : GetParam().bad) {
    const MeasureReply reply = measured(*device, job);
    EXPECT_NE(reply.code, OutcomeCode::ok);
    EXPECT_NE(reply.code, OutcomeCode::device_lost) << "the device is there";
    EXPECT_FALSE(reply.message.empty());
    EXPECT_NE(checked(*device, job).code, OutcomeCode::ok);
    EXPECT_EQ(measured(*device, GetParam().good).code, OutcomeCode::ok) << "after a failure";
  }
}
TEST_P(DeviceContract, WorksBesideOthers) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < 3; ++i) devices.push_back(GetParam().make());
  std::vector<std::thread> threads;
  for (const auto& device : devices)
    threads.emplace_back([&device = *device] {
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(measured(device, GetParam().good).code, OutcomeCode::ok);
        EXPECT_EQ(checked(device, GetParam().good).code, OutcomeCode::ok);
      }
    });
  for (std::thread& thread : threads) thread.join();
}
TEST_P(DeviceContract, TimesModelsAlternately) {
  const auto device = GetParam().make();
  ModelRun run;
  run.inputs = GetParam().inputs;
  run.burst_seconds = 0.001;
  run.bursts = 3;
  EXPECT_TRUE(device->time_models({}, run).value().empty());
  if (GetParam().models.empty()) return;
  for (int again = 0; again < 2; ++again) {
    const auto times = device->time_models(GetParam().models, run);
    ASSERT_TRUE(times.ok()) << times.error().message;
    ASSERT_EQ(times->size(), GetParam().models.size());
    for (const ModelTimes& model : *times) {
      ASSERT_EQ(model.bursts.size(), 3u);
      for (const ModelBurst& burst : model.bursts) {
        EXPECT_GT(burst.fastest, 0);
        EXPECT_GE(burst.median, burst.fastest);
      }
    }
  }
  EXPECT_TRUE(device->time_models({}, run).value().empty());
}

}  // namespace whet::testing
