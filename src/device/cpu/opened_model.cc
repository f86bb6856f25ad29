#include "device/cpu/opened_model.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/parallel.h"
#include "device/cpu/watched_pool.h"
#include "device/gpu/device_tensors.h"
#include "runner/cuda/emulated_driver.h"
#include "runner/wire.h"
#include "runtime/description.h"

namespace whet {

namespace {

OpenedModel::Named named(const whet_tensor_info& info) {
  return {info.name, {static_cast<DType>(info.dtype), Shape(info.shape, info.shape + info.rank)}};
}

bool wants_own_pool(const OpenModelOptions& options) {
  return options.threads != 0 || !options.cores.empty() || !options.pin;
}

/// The pool that the options describe; as many threads as the model was tuned for where they say nothing of it.
whet_pool_options pool_options(const OpenModelOptions& options, const whet_model_info& info) {
  whet_pool_options result{};
  result.threads = options.threads;
  if (result.threads == 0 && !options.cores.empty()) {
    result.threads = static_cast<std::uint32_t>(std::min<std::size_t>(options.cores.size(), info.tuned_threads));
  }
  result.cores = options.cores.empty() ? nullptr : options.cores.data();
  result.core_count = static_cast<std::uint32_t>(options.cores.size());
  result.no_pin = !options.pin;
  return result;
}

/// A later version's library for the CPU has a longer table, with nulls for what it lacks.
bool is_for_device(const whet_api& api) {
  return WHET_HAS(&api, model_open_device) && api.model_open_device != nullptr;
}

/// A model for a GPU, on the device that is named.
int open_on_device(const whet_api& api, const whet_open_options& open, const OpenModelOptions& options,
                   whet_model** model, whet_error* error) {
  whet_device_options device{};
  device.struct_bytes = sizeof device;
  device.device = options.device.number;
  device.flags = options.device_flags;
  if (options.device.kind == DeviceName::Kind::emulated) {
    EmulatedRun run;
    if (options.times_alone) run.blocks = EmulatedRun::Blocks::none;
    run.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    set_emulated_run(run);
    device.driver = &emulated_cuda_driver();
  }
  return api.model_open_device(&open, &device, model, error);
}

/// A model for the processor, with its own weights or those of a file.
int open_here(const whet_api& api, const whet_open_options& open, const OpenModelOptions& options, whet_model** model,
              whet_error* error) {
  if (options.weights_file.empty()) return api.model_open(&open, model, error);
  if (!WHET_HAS(&api, model_open_from) || api.model_open_from == nullptr)
    return whet_fail(error, "has its weights inside; --weights-file is for a library that was compiled with it");
  whet_open_source source{};
  source.struct_bytes = sizeof source;
  source.weights_path = options.weights_file.c_str();
  return api.model_open_from(&open, &source, model, error);
}

/// A model in this process: everything that must be given back, in the order that the C API asks for.
class LoadedModel : public OpenedModel::Body {
 public:
  ~LoadedModel() override {
    if (session) api().session_destroy(session);
    if (pool_made) api().pool_destroy(pool_made);
    if (model) api().model_close(model);
    whet_library_close(&library);
  }
  const whet_api& api() const { return *library.api; }

  const whet_model_info& info() const override { return *api().model_info(model); }
  const whet_pool_info& pool() const override { return *api().pool_info(api().session_pool(session)); }
  const whet_device_info* device() const override { return is_for_device(api()) ? api().model_device(model) : nullptr; }
  bool is_emulated() const override { return emulated; }
  std::string note() const override { return api().session_note(session); }
  std::vector<ModelSize> sizes() const override {
    std::vector<ModelSize> sizes;
    for (std::uint32_t k = 0; has_sizes() && k < api().model_size_count(model); ++k) {
      const whet_size_info& size = *api().model_size(model, k);
      sizes.push_back({size.name,
                       size.input,
                       size.dimension,
                       {size.values, size.values + size.count},
                       size.min,
                       size.max,
                       size.step});
    }
    return sizes;
  }
  Result<OpenedModel::Tensors> set_shapes(const std::vector<std::optional<Shape>>& shapes) override {
    whet_error error;
    std::vector<const std::int64_t*> pointers;
    for (const std::optional<Shape>& shape : shapes) pointers.push_back(shape ? shape->data() : nullptr);
    if (api().session_set_shapes(session, pointers.data(), &error) != 0) return Error{error.message};
    OpenedModel::Tensors now;
    std::vector<Tensor> zeros;  // the session would read the old inputs as if they had the new shapes
    for (std::uint32_t i = 0; i < info().inputs; ++i) now.inputs.push_back(named(input_info(i)));
    for (std::uint32_t i = 0; i < info().outputs; ++i) now.outputs.push_back(named(output_info(i)));
    for (const OpenedModel::Named& input : now.inputs) zeros.emplace_back(input.type.dtype, input.type.shape);
    WHET_RETURN_IF_ERROR(set_inputs(std::move(zeros)));
    return now;
  }
  Status set_inputs(std::vector<Tensor> tensors) override {
    whet_error error;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (api().session_set_input(session, static_cast<std::uint32_t>(i), tensors[i].data(), nullptr, &error) != 0)
        return Error{error.message};
    inputs = std::move(tensors);
    return ok_status();
  }
  Status run() override {
    whet_error error;
    if (api().session_run(session, &error) != 0) return Error{error.message};
    return ok_status();
  }
  Status move_to_device(const OpenedModel&) override;
  Status run_back_to_back(int runs) override {
    whet_error error{};
    for (int i = 0; i < runs; ++i)
      if (api().session_enqueue(session, &error) != 0) return Error{error.message};
    if (api().session_wait(session, &error) != 0) return Error{error.message};
    return ok_status();
  }
  Result<std::vector<Tensor>> read_outputs(const std::vector<OpenedModel::Named>& named) const override {
    std::vector<Tensor> outputs;
    for (std::size_t i = 0; i < named.size(); ++i) {
      Tensor tensor(named[i].type.dtype, named[i].type.shape);
      const void* data = api().session_output(session, static_cast<std::uint32_t>(i));
      if (tensor.bytes() > 0) std::memcpy(tensor.data(), data, static_cast<std::size_t>(tensor.bytes()));
      outputs.push_back(std::move(tensor));
    }
    return outputs;
  }
  double clock() const override { return emulated ? emulated_seconds() : seconds_now(); }
  Status profile_runs(int warmup, int runs) override {
    run_times = {};
    for (int i = -warmup; i < runs; ++i) {
      if (i == 0) api().session_set_profiling(session, 1);
      WHET_RETURN_IF_ERROR(run());
      if (i >= 0) run_times.take(profile_of(session));
    }
    return ok_status();
  }
  whet_profile profile() const override { return profile_of(session); }
  UsualRun usual_run() const override { return run_times.usual(); }
  Result<InferenceTrace> trace_runs(int warmup, int runs) override;

  /// At the shapes that are set.
  bool has_sizes() const { return WHET_HAS(&api(), session_output_info); }
  const whet_tensor_info& input_info(std::uint32_t i) const {
    return has_sizes() ? *api().session_input_info(session, i) : *api().model_input(model, i);
  }
  const whet_tensor_info& output_info(std::uint32_t i) const {
    return has_sizes() ? *api().session_output_info(session, i) : *api().model_output(model, i);
  }
  /// Gives another session the shapes of this one.
  int set_shapes_of(whet_session* other, whet_error* error) const {
    std::vector<const std::int64_t*> shapes;
    for (std::uint32_t i = 0; i < info().inputs; ++i) shapes.push_back(input_info(i).shape);
    return api().session_set_shapes(other, shapes.data(), error);
  }
  whet_profile profile_of(whet_session* of) const {
    whet_profile profile;
    api().session_profile(of, &profile);
    return profile;
  }

  whet_library library{};
  whet_model* model = nullptr;
  whet_pool* pool_made = nullptr;  ///< null: the session runs on the model's own
  whet_session* session = nullptr;
  std::vector<Tensor> inputs;
  std::unique_ptr<DeviceTensors> on_device;  ///< null: inputs and outputs are on the host
  bool emulated = false;
  RunTimes run_times;
};

/// The times of a watched run, and of the steps that worker 0 measured in it.
InferenceTrace trace_of_run(const whet_profile& profile, const WatchedPool& pool) {
  std::vector<std::uint64_t> step_ns;
  for (std::uint32_t i = 0; i < profile.steps; ++i) step_ns.push_back(profile.step[i].total_ns);
  std::vector<std::vector<std::uint64_t>> times;
  for (std::uint32_t worker = 0; worker < pool.workers(); ++worker) times.push_back(pool.times(worker));
  return trace_of(step_ns, times);
}

Result<InferenceTrace> LoadedModel::trace_runs(int warmup, int runs) {
  if (device() != nullptr) return InferenceTrace();
  whet_error error;
  WatchedPool watched(api().session_pool(session));
  whet_session* made = nullptr;
  if (api().session_create(model, watched.pool(), &made, &error) != 0) return Error{error.message};
  const auto give_back = [this](whet_session* given) { api().session_destroy(given); };
  const std::unique_ptr<whet_session, decltype(give_back)> traced(made, give_back);
  if (!sizes().empty() && set_shapes_of(made, &error) != 0) return Error{error.message};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (api().session_set_input(made, static_cast<std::uint32_t>(i), inputs[i].data(), nullptr, &error) != 0)
      return Error{error.message};
  InferenceTrace fastest;
  std::uint64_t least = 0;
  for (int i = -warmup; i < runs; ++i) {
    watched.forget();
    api().session_set_profiling(made, 1);  // from zero: the times of one run
    if (api().session_run(made, &error) != 0) return Error{error.message};
    const whet_profile profile = profile_of(made);
    if (i < 0 || (least > 0 && profile.total_ns >= least)) continue;
    least = profile.total_ns;
    fastest = trace_of_run(profile, watched);
  }
  return fastest;
}

Status LoadedModel::move_to_device(const OpenedModel& opened) {
  const whet_device_info* const gpu = device();
  if (gpu == nullptr) return Body::move_to_device(opened);
  whet_error error{};
  const CudaDriver* driver = &emulated_cuda_driver();
  if (!emulated && system_cuda_driver(&driver, &error) != 0) return Error{error.message};
  WHET_TRY(on_device, DeviceTensors::open(*driver, gpu->number));
  const auto placed = [&](const whet_tensor_info& tensor, const void* data) -> Result<whet_dltensor> {
    WHET_TRY(void* const memory, on_device->add(static_cast<std::uint64_t>(tensor.bytes), data));
    return dlpack_of(tensor, memory, kDlCuda, gpu->number);
  };
  for (std::uint32_t i = 0; i < opened.inputs().size(); ++i) {
    WHET_TRY(const whet_dltensor tensor, placed(input_info(i), inputs.at(i).data()));
    if (api().session_set_input_dlpack(session, i, &tensor, &error) != 0) return Error{error.message};
  }
  for (std::uint32_t i = 0; i < opened.outputs().size(); ++i) {
    WHET_TRY(const whet_dltensor tensor, placed(output_info(i), nullptr));
    if (api().session_bind_output_dlpack(session, i, &tensor, &error) != 0) return Error{error.message};
  }
  return ok_status();
}

/// By its name.
struct NamedDevice {
  static void write(Packer& p, const OpenModelOptions& options) { p.put(to_string(options.device)); }
  static void read(Unpacker& u, OpenModelOptions& options) {
    const Result<DeviceName> device = parse_device_name(u.get<std::string>());
    u.require(device.ok());
    if (device.ok()) options.device = *device;
  }
};

}  // namespace

template <>
constexpr auto kRow<OpenModelOptions> =
    row<&OpenModelOptions::threads, &OpenModelOptions::cores, &OpenModelOptions::pin, &OpenModelOptions::map_weights,
        &OpenModelOptions::weights_file, NamedDevice{}, &OpenModelOptions::device_flags,
        &OpenModelOptions::times_alone>;
template struct Codec<OpenModelOptions>;

Result<OpenedModel> OpenedModel::open(const std::string& path, const OpenModelOptions& options) {
  const auto loaded = std::make_shared<LoadedModel>();
  whet_error error;
  if (whet_library_open(path.c_str(), 0, &loaded->library, &error) != 0) return Error{error.message};
  const whet_api& api = loaded->api();
  const whet_open_options open_options{options.map_weights ? 1u : 0u};
  const bool for_device = is_for_device(api);
  loaded->emulated = options.device.kind == DeviceName::Kind::emulated;
  if (!for_device && options.device.kind != DeviceName::Kind::none)
    return Error{path + ": runs on the CPU; --device " + to_string(options.device) +
                 " is for models that run on a GPU"};
  if (for_device && !options.weights_file.empty())
    return Error{path + ": runs on a GPU, whose libraries have their weights inside; --weights-file is for the CPU"};
  if (!for_device && options.device_flags != 0)
    return Error{path + ": runs on the CPU; --launches is for models that run on a GPU"};
  if ((for_device ? open_on_device(api, open_options, options, &loaded->model, &error)
                  : open_here(api, open_options, options, &loaded->model, &error)) != 0)
    return Error{path + ": " + error.message};
  const whet_model_info& info = loaded->info();
  if (!for_device && wants_own_pool(options)) {
    const whet_pool_options pool = pool_options(options, info);
    if (api.pool_create(&pool, &loaded->pool_made, &error) != 0) return Error{error.message};
  }
  if (api.session_create(loaded->model, loaded->pool_made, &loaded->session, &error) != 0) return Error{error.message};
  std::vector<Named> inputs, outputs;
  for (std::uint32_t i = 0; i < info.inputs; ++i) inputs.push_back(named(*api.model_input(loaded->model, i)));
  for (std::uint32_t i = 0; i < info.outputs; ++i) outputs.push_back(named(*api.model_output(loaded->model, i)));
  return OpenedModel(std::move(inputs), std::move(outputs), loaded);
}

Status OpenedModel::Body::move_to_device(const OpenedModel& opened) {
  return Error{"model " + std::string(opened.info().name) + " runs on the CPU; expected one for a GPU"};
}

/// Of models for a GPU alone, which have their own.
Status OpenedModel::Body::run_back_to_back(int runs) {
  for (int i = 0; i < runs; ++i) WHET_RETURN_IF_ERROR(run());
  return ok_status();
}

double OpenedModel::Body::clock() const { return seconds_now(); }

Status OpenedModel::Body::warm_up(double seconds) {
  for (const double start = clock();;) {
    WHET_RETURN_IF_ERROR(run());
    if (clock() - start >= seconds) return ok_status();
  }
}

Result<std::vector<double>> OpenedModel::Body::time_runs(int runs, double seconds) {
  std::vector<double> times;
  const double start = clock();
  while (times.size() < 3 || (runs > 0 ? static_cast<int>(times.size()) < runs : clock() - start < seconds)) {
    const double before = clock();
    WHET_RETURN_IF_ERROR(run());
    times.push_back(clock() - before);
  }
  return times;
}

Result<OpenedModel::Tensors> OpenedModel::Body::set_shapes(const std::vector<std::optional<Shape>>&) {
  return Error{"model " + std::string(info().name) +
               (is_elsewhere() ? " runs elsewhere, at its usual sizes" : " is compiled for one size")};
}

Status OpenedModel::set_shapes(const std::vector<std::optional<Shape>>& shapes) {
  if (shapes.size() != inputs_.size())
    return Error{"the model has " + std::to_string(inputs_.size()) + " inputs; " + std::to_string(shapes.size()) +
                 " shapes are given"};
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (shapes[i] && shapes[i]->size() != inputs_[i].type.shape.size())
      return Error{"input \"" + inputs_[i].name + "\" is " + to_string(inputs_[i].type) + "; the shape given is " +
                   to_string(*shapes[i])};
  WHET_TRY(Tensors now, body_->set_shapes(shapes));
  inputs_ = std::move(now.inputs), outputs_ = std::move(now.outputs);
  return ok_status();
}

Status OpenedModel::set_sizes(const std::vector<std::int64_t>& values) {
  std::vector<std::optional<Shape>> shapes(inputs_.size());
  const std::vector<ModelSize> all = sizes();
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::optional<Shape>& shape = shapes.at(all[k].input);
    if (!shape) shape = Shape(inputs_[all[k].input].type.shape.size(), -1);
    shape->at(all[k].dimension) = values.at(k);
  }
  return set_shapes(shapes);
}

Status OpenedModel::set_inputs(std::vector<Tensor> tensors) {
  if (tensors.size() != inputs_.size()) {
    return Error{"the model has " + std::to_string(inputs_.size()) + " inputs; " + std::to_string(tensors.size()) +
                 " tensors are given"};
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].type() != inputs_[i].type) {
      return Error{"input \"" + inputs_[i].name + "\" is " + to_string(inputs_[i].type) + "; the tensor given is " +
                   to_string(tensors[i].type())};
    }
  }
  return body_->set_inputs(std::move(tensors));
}

Result<std::vector<Tensor>> OpenedModel::run(std::vector<Tensor> inputs) {
  WHET_RETURN_IF_ERROR(set_inputs(std::move(inputs)));
  WHET_RETURN_IF_ERROR(run());
  return read_outputs();
}

}  // namespace whet
