#include "device/local/model_timer.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/parallel.h"
#include "runner/hello.h"
#include "runner/messages.h"
#include "runner/wire.h"

namespace whet {
namespace {

constexpr int kTickMilliseconds = 50;
/// A burst that takes longer is of a model that hangs [s].
constexpr double kLongestBurst = 600;

struct Order {
  std::vector<ModelLibrary> files;
  ModelRun run;
};

/// Both ends are the same program: what arrives is what was sent, or nothing.
struct WholeTensor {
  static void write(Packer& p, const Tensor& tensor) {
    p.put(tensor.dtype());
    p.put(tensor.shape());
    p.put(std::string_view(static_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())));
  }
  static void read(Unpacker& u, Tensor& tensor) {
    const auto dtype = u.get<DType>();
    auto shape = u.get<Shape>();
    const auto bytes = u.get<std::string_view>();
    if (!u.ok()) return;
    tensor = Tensor(dtype, std::move(shape));
    u.require(static_cast<std::int64_t>(bytes.size()) == tensor.bytes());
    if (u.ok()) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  }
};

}  // namespace

template <>
constexpr auto kRow<Tensor> = row<WholeTensor{}>;
template <>
constexpr auto kRow<ModelLibrary> = row<&ModelLibrary::path>;
template <>
constexpr auto kRow<ModelRun> =
    row<as_text<&ModelRun::open>, &ModelRun::inputs, &ModelRun::burst_seconds, &ModelRun::bursts>;
template <>
constexpr auto kRow<Order> = row<&Order::files, &Order::run>;
template <>
constexpr auto kRow<ModelBurst> = row<&ModelBurst::median, &ModelBurst::fastest>;

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A row of inferences of a GPU's model: none waits for the one before. So the host's start of a graph is hidden, as it is for tasks.
/// The seconds of a row. The most inferences of a row.
constexpr double kSecondsInARow = 4e-3;
constexpr int kMostInARow = 20;

Result<ModelBurst> time_burst(OpenedModel& model, double burst_seconds) {
  const double start = model.clock();
  WHET_RETURN_IF_ERROR(model.run());
  const double first = std::max(model.clock() - start, 1e-9);
  const int runs = model.device() == nullptr ? 1 : std::clamp(static_cast<int>(kSecondsInARow / first), 1, kMostInARow);
  const double begin = model.clock();
  std::vector<double> times;
  do {
    const double before = model.clock();
    WHET_RETURN_IF_ERROR(runs == 1 ? model.run() : model.run_back_to_back(runs));
    times.push_back((model.clock() - before) / runs);
  } while (model.clock() - begin < burst_seconds);
  const double fastest = *std::min_element(times.begin(), times.end());
  return ModelBurst{median(std::move(times)), fastest};
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.type() == y.type() && std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.bytes())) == 0;
  });
}

std::vector<std::optional<Shape>> shapes_of(const std::vector<Tensor>& inputs) {
  std::vector<std::optional<Shape>> shapes;
  for (const Tensor& input : inputs) shapes.emplace_back(input.shape());
  return shapes;
}

/// The process's end: models that are open, and bursts of them.
class OpenModels {
 public:
  /// Sends a frame a burst; false where nobody listens any more.
  Result<bool> time(Order order, int fd) {
    WHET_RETURN_IF_ERROR(open(order));
    for (int burst = 0; burst < order.run.bursts; ++burst) {
      for (const ModelLibrary& file : order.files) {
        const Result<ModelBurst> seen = time_burst(models_.at(file.path), order.run.burst_seconds);
        if (!seen.ok()) return Error{file.path + ": " + seen.error().message};
        if (!send_frame(fd, FrameType::models_timed, encode(*seen))) return false;
      }
    }
    return true;
  }

 private:
  Status open(Order& order) {
    const std::string options = encode(order.run.open);
    if (options != options_ || !same(order.run.inputs, inputs_)) models_.clear();
    options_ = options;
    inputs_ = order.run.inputs;
    std::erase_if(models_, [&](const auto& model) {
      return std::ranges::find(order.files, model.first, &ModelLibrary::path) == order.files.end();
    });
    for (const ModelLibrary& file : order.files) {
      if (models_.contains(file.path)) continue;
      WHET_TRY(OpenedModel model, OpenedModel::open(file.path, order.run.open));
      Status set = model.sizes().empty() ? ok_status() : model.set_shapes(shapes_of(inputs_));
      if (set.ok()) set = model.set_inputs(inputs_);
      if (set.ok() && model.device() != nullptr) set = model.move_to_device();
      if (!set.ok()) return Error{file.path + ": " + set.error().message};
      models_.emplace(file.path, std::move(model));
    }
    return ok_status();
  }

  std::string options_;
  std::vector<Tensor> inputs_;
  std::map<std::string, OpenedModel> models_;
};

int serve_models(int fd) {
  if (!send_hello(fd)) return 0;
  OpenModels models;
  for (;;) {
    const ReceiveResult received = receive_frame(fd);
    if (!received.ok) return received.end == WireEnd::closed ? 0 : 3;
    auto order = decode<Order>(received.frame.payload);
    if (received.frame.type != FrameType::time_models || !order) return 3;
    const Result<bool> listening = models.time(std::move(*order), fd);
    if (listening.ok() && !*listening) return 0;
    if (!listening.ok() && !send_frame(fd, FrameType::fault, listening.error().message)) return 0;
  }
}

}  // namespace

const Life kModelTimer{"whet-models", serve_models};

Result<std::vector<ModelTimes>> ModelTimer::time(const std::vector<ModelLibrary>& files, const ModelRun& run) {
  if (files.empty()) {
    zygote_.end(process_, false);
    return std::vector<ModelTimes>();
  }
  const std::string order = encode(Order{files, run});
  for (int attempt = 0; attempt < 2; ++attempt)
    if (auto times = try_to_time(order, files.size(), run.bursts)) {
      if (!times->ok()) zygote_.end(process_, true);
      return std::move(*times);
    }
  return Error{"no process that times models could be reached"};
}

std::optional<Result<std::vector<ModelTimes>>> ModelTimer::try_to_time(const std::string& order, std::size_t models,
                                                                       int bursts) {
  const auto died_idle = [&] { return zygote_.end(process_, true), std::nullopt; };
  if (!process_.alive()) {
    Result<WorkerProcess> process = zygote_.spawn(kModelTimer);
    if (!process.ok()) return process.error();
    process_ = *process;
  }
  if (!send_frame(process_.fd, FrameType::time_models, order)) return died_idle();
  std::vector<ModelTimes> times(models);
  for (int burst = 0; burst < bursts; ++burst) {
    for (ModelTimes& model : times) {
      const Result<ReceiveResult> received = receive();
      if (!received.ok()) return received.error();
      if (received->unread) return died_idle();
      const Result<ModelBurst> seen = burst_in(*received);
      if (!seen.ok()) return seen.error();
      model.bursts.push_back(*seen);
    }
  }
  return times;
}

Result<ReceiveResult> ModelTimer::receive() {
  const double begin = seconds_now();
  for (;;) {
    pollfd wait{process_.fd, POLLIN, 0};
    if (::poll(&wait, 1, kTickMilliseconds) > 0) return receive_frame(process_.fd, kLongestBurst);
    if (interrupted_ && interrupted_()) return Error{"interrupted while models were timed"};
    if (seconds_now() - begin > kLongestBurst) return Error{"a compiled model did not finish within 600 s"};
  }
}

Result<ModelBurst> ModelTimer::burst_in(const ReceiveResult& received) {
  if (!received.ok && received.end == WireEnd::closed)
    return Error{"a compiled model crashed: " + zygote_.end(process_, false).text()};
  if (!received.ok) return Error{"the answer of the process that times models makes no sense"};
  if (received.frame.type == FrameType::fault) return Error{received.frame.payload};
  const auto burst = decode<ModelBurst>(received.frame.payload);
  if (received.frame.type != FrameType::models_timed || !burst)
    return Error{"the answer of the process that times models makes no sense"};
  return *burst;
}

}  // namespace whet
