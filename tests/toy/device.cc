#include <algorithm>
#include <cstring>

#include "program/interpret.h"
#include "program_text.h"
#include "runner/fill.h"
#include "toy.h"
#include "trial/outcome.h"

namespace whet::toy {
namespace {

std::string bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

/// One tensor an argument of the kernel, filled as its spec says.
std::vector<Tensor> arguments_of(const Program& program, const KernelJob& job) {
  std::vector<Tensor> arguments(job.arguments.size());
  for (const Buffer& b : program.buffers) {
    if (b.scope != Scope::argument) continue;
    const auto k = static_cast<std::size_t>(b.argument);
    arguments[k] = Tensor(b.dtype, b.extents);
    if (job.arguments[k].role != ArgumentRole::output)
      fill_argument(job.arguments[k], static_cast<std::byte*>(arguments[k].data()));
  }
  return arguments;
}

class ToyDevice : public Device {
 public:
  explicit ToyDevice(Target target) { info_.name = "toy", info_.target = std::move(target); }
  const DeviceInfo& info() const override { return info_; }

  /// A kernel takes a microsecond for each line of its text.
  MeasureReply measure(const MeasureRequest& request) override {
    MeasureReply reply;
    const CheckReply ran = check({request.job, {}, {}, {}});
    reply.code = ran.code, reply.message = ran.message;
    const auto lines = std::ranges::count(request.job.kernel.code, '\n');
    if (ran.code == decltype(ran.code){}) reply.seconds = {1e-6 * static_cast<double>(lines)};
    return reply;
  }

  CheckReply check(const CheckRequest& request) override {
    CheckReply reply;
    if (const Status status = run(request, reply.outputs); !status.ok()) {
      reply.code = static_cast<decltype(reply.code)>(OutcomeCode::runtime);
      reply.message = status.error().message;
    }
    return reply;
  }

  Result<std::vector<ModelTimes>> time_models(const std::vector<ModelLibrary>& models, const ModelRun& run) override {
    std::vector<ModelTimes> times;
    for (const ModelLibrary& model : models) {
      WHET_RETURN_IF_ERROR(run_model(model.path, run.inputs));
      times.push_back({std::vector<ModelBurst>(static_cast<std::size_t>(run.bursts), {1e-3, 1e-3})});
    }
    return times;
  }

 private:
  static Status run(const CheckRequest& request, std::vector<std::string>& outputs) {
    WHET_TRY(const Program program, read_program(request.job.kernel.code));
    std::vector<Tensor> arguments = arguments_of(program, request.job);
    for (const auto& [k, bytes] : request.contents) std::memcpy(arguments[k].data(), bytes.data(), bytes.size());
    if (request.packing) {
      std::vector<std::string> packed;
      std::vector<std::pair<std::uint32_t, std::string>> none;
      WHET_RETURN_IF_ERROR(run({*request.packing, none, {}, {}}, packed));
      for (const auto& [k, output] : request.packed)
        std::memcpy(arguments[k].data(), packed[output].data(), packed[output].size());
    }
    WHET_RETURN_IF_ERROR(interpret(program, arguments));
    for (std::size_t k = 0; k < arguments.size(); ++k)
      if (request.job.arguments[k].role == ArgumentRole::output) outputs.push_back(bytes_of(arguments[k]));
    return ok_status();
  }

  DeviceInfo info_;
};

}  // namespace

Result<std::unique_ptr<Device>> make_device(const Target& target, const DeviceOptions&) {
  return std::unique_ptr<Device>(std::make_unique<ToyDevice>(target));
}

}  // namespace whet::toy
