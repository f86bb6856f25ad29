#include "device/remote/cpu/remote_model.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "whet/model_file.h"

namespace whet {
namespace {

std::vector<OpenedModel::Named> named_of(const std::vector<DescribedTensor>& tensors) {
  std::vector<OpenedModel::Named> named;
  for (const DescribedTensor& tensor : tensors) named.push_back({tensor.name, tensor.type});
  return named;
}

class RemoteModel : public OpenedModel::Body {
 public:
  RemoteModel(std::shared_ptr<ModelHost> device, std::string path, ModelOrder order, DescribedModel described)
      : device_(std::move(device)), path_(std::move(path)), order_(std::move(order)), described_(std::move(described)) {
    info_ = {described_.name.c_str(),
             described_.target.c_str(),
             described_.required_isa.c_str(),
             described_.records.c_str(),
             described_.compiler.c_str(),
             static_cast<std::uint32_t>(described_.inputs.size()),
             static_cast<std::uint32_t>(described_.outputs.size()),
             described_.steps,
             described_.tuned_threads,
             described_.arena_bytes,
             described_.weights_bytes,
             described_.flops,
             described_.predicted_seconds};
    pool_.threads = described_.threads;
    pool_.cores = described_.cores.empty() ? nullptr : described_.cores.data();
    pool_.pinned = !described_.cores.empty();
    pool_.note = described_.pool_note.c_str();
  }

  const whet_model_info& info() const override { return info_; }
  const whet_pool_info& pool() const override { return pool_; }
  bool is_elsewhere() const override { return true; }
  std::string note() const override { return described_.note; }
  Status set_inputs(std::vector<Tensor> inputs) override {
    inputs_ = std::move(inputs);
    return ok_status();
  }
  Status run() override {
    WHET_TRY(std::vector<ModelAnswer> answers, order(ModelWork::run, ModelAnswerKind::outputs));
    answer_ = std::move(answers.front());
    return ok_status();
  }
  Result<std::vector<Tensor>> read_outputs(const std::vector<OpenedModel::Named>& named) const override {
    if (answer_.outputs.size() != named.size()) return no_sense();
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < named.size(); ++i) {
      // The device's sizes are not believed before the bytes are there.
      const std::string& bytes = answer_.outputs[i];
      if (num_elements(named[i].type.shape) * size_of(named[i].type.dtype) != static_cast<std::int64_t>(bytes.size()))
        return no_sense();
      Tensor tensor(named[i].type.dtype, named[i].type.shape);
      if (!bytes.empty()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
      outputs.push_back(std::move(tensor));
    }
    return outputs;
  }
  Status warm_up(double seconds) override {
    order_.warmup_seconds = seconds;
    return ok_status();
  }
  Result<std::vector<double>> time_runs(int runs, double seconds) override {
    order_.runs = static_cast<std::uint32_t>(runs);
    order_.timed_seconds = seconds;
    WHET_TRY(const std::vector<ModelAnswer> answers, order(ModelWork::time, ModelAnswerKind::times));
    std::vector<double> times;
    for (const ModelAnswer& answer : answers) times.insert(times.end(), answer.seconds.begin(), answer.seconds.end());
    if (times.size() < 3 || *std::ranges::min_element(times) <= 0) return no_sense();
    return times;
  }
  Status profile_runs(int warmup, int runs) override {
    order_.warmup_runs = static_cast<std::uint32_t>(warmup);
    order_.runs = static_cast<std::uint32_t>(runs);
    WHET_TRY(std::vector<ModelAnswer> answers, order(ModelWork::profile, ModelAnswerKind::profile));
    if (answers.front().profile.runs == 0) return no_sense();
    answer_ = std::move(answers.front());
    steps_.clear();
    for (const ProfiledStep& step : answer_.profile.steps)
      steps_.push_back({step.node.c_str(), step.op.c_str(), step.flops, step.bytes, step.predicted_seconds, step.min_ns,
                        step.total_ns, step.parallel ? 1u : 0u});
    return ok_status();
  }
  whet_profile profile() const override {
    const ModelProfile& seen = answer_.profile;
    return {seen.runs,        seen.min_ns,        seen.total_ns,
            seen.copy_min_ns, seen.copy_total_ns, static_cast<std::uint32_t>(steps_.size()),
            steps_.data()};
  }

 private:
  Error no_sense() const { return Error{path_ + ": what the device says of it makes no sense"}; }
  /// At least one answer, all of a kind.
  Result<std::vector<ModelAnswer>> order(ModelWork work, ModelAnswerKind kind) {
    order_.work = work;
    WHET_TRY(std::vector<ModelAnswer> answers, device_->run_models({{path_}}, inputs_, order_));
    if (answers.empty() || !std::ranges::all_of(answers, [&](const ModelAnswer& a) { return a.kind == kind; }))
      return no_sense();
    return answers;
  }

  std::shared_ptr<ModelHost> device_;
  std::string path_;
  ModelOrder order_;
  DescribedModel described_;
  whet_model_info info_{};
  whet_pool_info pool_{};
  std::vector<Tensor> inputs_;
  ModelAnswer answer_;  ///< the last one's outputs, or profile
  std::vector<whet_step_profile> steps_;
};

}  // namespace

Status check_model_for(const DeviceDescription& device, const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Error{path + ": " + std::strerror(errno) + "; expected the path of a compiled model"};
  whet_file_trailer trailer{};
  if (!file.seekg(-static_cast<std::streamoff>(sizeof trailer), std::ios::end) ||
      !file.read(reinterpret_cast<char*>(&trailer), sizeof trailer) ||
      std::memcmp(trailer.magic, "whet.so\n", sizeof trailer.magic) != 0)
    return Error{path + ": its end is not whet's trailer; expected a compiled model of whet"};
  const std::uint32_t machine = device.machine == "aarch64" ? 183 : 62;
  if (trailer.machine != machine)
    return Error{path + ": is compiled for " + whet_machine_name(trailer.machine) + "; " + device.name + " has an " +
                 whet_machine_name(machine) + " processor"};
  return ok_status();
}

ModelOrder order_with(const OpenModelOptions& options) {
  ModelOrder order;
  order.threads = options.threads;
  order.cores = options.cores;
  order.pin = options.pin;
  order.map_weights = options.map_weights;
  return order;
}

Result<OpenedModel> open_elsewhere(std::shared_ptr<ModelHost> device, const std::string& path,
                                   const OpenModelOptions& options) {
  ModelOrder order = order_with(options);
  WHET_TRY(std::vector<ModelAnswer> answers, device->run_models({{path}}, {}, order));
  if (answers.size() != 1 || answers[0].kind != ModelAnswerKind::opened || answers[0].model != 0)
    return Error{path + ": what the device says of it makes no sense"};
  DescribedModel& described = answers[0].opened;
  std::vector<OpenedModel::Named> inputs = named_of(described.inputs), outputs = named_of(described.outputs);
  return OpenedModel(std::move(inputs), std::move(outputs),
                     std::make_shared<RemoteModel>(std::move(device), path, std::move(order), std::move(described)));
}

}  // namespace whet
