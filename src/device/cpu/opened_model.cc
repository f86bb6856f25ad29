#include "device/cpu/opened_model.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/parallel.h"
#include "device/gpu/device_tensors.h"
#include "runner/cuda/emulated_driver.h"
#include "runner/wire.h"
#include "runtime/description.h"

namespace whet {

/// Everything that must be given back, in the order that the C API asks for.
struct OpenedModel::State {
  whet_library library{};
  whet_model* model = nullptr;
  whet_pool* pool = nullptr;  ///< null: the session runs on the model's own
  whet_session* session = nullptr;
  std::vector<Tensor> inputs;
  std::unique_ptr<DeviceTensors> on_device;  ///< null: inputs and outputs are on the host
  bool emulated = false;

  const whet_api& api() const { return *library.api; }
  ~State() {
    if (session) api().session_destroy(session);
    if (pool) api().pool_destroy(pool);
    if (model) api().model_close(model);
    whet_library_close(&library);
  }
};

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

}  // namespace

std::string encode(const OpenModelOptions& options) {
  Packer p;
  p.u32(options.threads);
  p.u64(options.cores.size());
  for (const std::uint32_t core : options.cores) p.u32(core);
  p.u8(options.pin);
  p.u8(options.map_weights);
  p.text(to_string(options.device));
  p.u32(options.device_flags);
  p.u8(options.times_alone);
  return p.take();
}

std::optional<OpenModelOptions> decode_open_options(std::string_view bytes) {
  Unpacker u(bytes);
  OpenModelOptions options;
  options.threads = u.u32();
  for (std::size_t n = u.count(4); n > 0; --n) options.cores.push_back(u.u32());
  options.pin = u.u8() != 0;
  options.map_weights = u.u8() != 0;
  const Result<DeviceName> device = parse_device_name(u.text());
  if (!device.ok()) return std::nullopt;
  options.device = *device;
  options.device_flags = u.u32();
  options.times_alone = u.u8() != 0;
  return u.done() ? std::optional(options) : std::nullopt;
}

Result<OpenedModel> OpenedModel::open(const std::string& path, const OpenModelOptions& options) {
  OpenedModel opened;
  opened.state_ = std::make_shared<State>();
  State& state = *opened.state_;
  whet_error error;
  if (whet_library_open(path.c_str(), 0, &state.library, &error) != 0) return Error{error.message};
  const whet_open_options open_options{options.map_weights ? 1u : 0u};
  const bool for_device = is_for_device(state.api());
  state.emulated = options.device.kind == DeviceName::Kind::emulated;
  if (!for_device && options.device.kind != DeviceName::Kind::none)
    return Error{path + ": runs on the CPU; --device " + to_string(options.device) +
                 " is for models that run on a GPU"};
  if (!for_device && options.device_flags != 0)
    return Error{path + ": runs on the CPU; --launches is for models that run on a GPU"};
  if ((for_device ? open_on_device(state.api(), open_options, options, &state.model, &error)
                  : state.api().model_open(&open_options, &state.model, &error)) != 0)
    return Error{path + ": " + error.message};
  const whet_model_info& info = *state.api().model_info(state.model);
  if (!for_device && wants_own_pool(options)) {
    const whet_pool_options pool = pool_options(options, info);
    if (state.api().pool_create(&pool, &state.pool, &error) != 0) return Error{error.message};
  }
  if (state.api().session_create(state.model, state.pool, &state.session, &error) != 0) return Error{error.message};
  for (std::uint32_t i = 0; i < info.inputs; ++i) {
    opened.inputs_.push_back(named(*state.api().model_input(state.model, i)));
  }
  for (std::uint32_t i = 0; i < info.outputs; ++i) {
    opened.outputs_.push_back(named(*state.api().model_output(state.model, i)));
  }
  return opened;
}

const whet_model_info& OpenedModel::info() const { return *state_->api().model_info(state_->model); }

const whet_pool_info& OpenedModel::pool() const {
  return *state_->api().pool_info(state_->api().session_pool(state_->session));
}

const whet_device_info* OpenedModel::device() const {
  return is_for_device(state_->api()) ? state_->api().model_device(state_->model) : nullptr;
}

bool OpenedModel::is_emulated() const { return state_->emulated; }

std::string OpenedModel::note() const { return state_->api().session_note(state_->session); }

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
    whet_error error;
    const void* data = tensors[i].data();
    if (state_->api().session_set_input(state_->session, static_cast<std::uint32_t>(i), data, nullptr, &error) != 0) {
      return Error{error.message};
    }
  }
  state_->inputs = std::move(tensors);
  return ok_status();
}

Status OpenedModel::run() {
  whet_error error;
  if (state_->api().session_run(state_->session, &error) != 0) return Error{error.message};
  return ok_status();
}

Status OpenedModel::move_to_device() {
  const whet_device_info* const gpu = device();
  if (gpu == nullptr) return Error{"model " + std::string(info().name) + " runs on the CPU; expected one for a GPU"};
  whet_error error{};
  const CudaDriver* driver = &emulated_cuda_driver();
  if (!state_->emulated && system_cuda_driver(&driver, &error) != 0) return Error{error.message};
  WHET_TRY(state_->on_device, DeviceTensors::open(*driver, gpu->number));
  const whet_api& api = state_->api();
  const auto placed = [&](const whet_tensor_info& tensor, const void* data) -> Result<whet_dltensor> {
    WHET_TRY(void* const memory, state_->on_device->add(static_cast<std::uint64_t>(tensor.bytes), data));
    return dlpack_of(tensor, memory, kDlCuda, gpu->number);
  };
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    WHET_TRY(const whet_dltensor tensor, placed(*api.model_input(state_->model, i), state_->inputs.at(i).data()));
    if (api.session_set_input_dlpack(state_->session, i, &tensor, &error) != 0) return Error{error.message};
  }
  for (std::uint32_t i = 0; i < outputs_.size(); ++i) {
    WHET_TRY(const whet_dltensor tensor, placed(*api.model_output(state_->model, i), nullptr));
    if (api.session_bind_output_dlpack(state_->session, i, &tensor, &error) != 0) return Error{error.message};
  }
  return ok_status();
}

Status OpenedModel::run_back_to_back(int runs) {
  whet_error error{};
  for (int i = 0; i < runs; ++i)
    if (state_->api().session_enqueue(state_->session, &error) != 0) return Error{error.message};
  if (state_->api().session_wait(state_->session, &error) != 0) return Error{error.message};
  return ok_status();
}

std::vector<Tensor> OpenedModel::read_outputs() const {
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    Tensor tensor(outputs_[i].type.dtype, outputs_[i].type.shape);
    const void* data = state_->api().session_output(state_->session, static_cast<std::uint32_t>(i));
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), data, static_cast<std::size_t>(tensor.bytes()));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

Result<std::vector<Tensor>> OpenedModel::run(std::vector<Tensor> inputs) {
  WHET_RETURN_IF_ERROR(set_inputs(std::move(inputs)));
  WHET_RETURN_IF_ERROR(run());
  return read_outputs();
}

double OpenedModel::clock() const { return state_->emulated ? emulated_seconds() : seconds_now(); }

void OpenedModel::set_profiling(bool on) { state_->api().session_set_profiling(state_->session, on); }

whet_profile OpenedModel::profile() const {
  whet_profile profile;
  state_->api().session_profile(state_->session, &profile);
  return profile;
}

}  // namespace whet
