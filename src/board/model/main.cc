// whet-model: opens compiled models for whet-device and runs them, in a process of its own. A static program cannot load a library,
// so that this is a dynamic one, of the C library alone. It has no use by hand:
//   whet-model SOCKET strict|best|off
// The messages on its socket are frames of runner/wire.h: orders and answers as device/protocol/cpu/model_messages.h has them. Each file
// that an order names follows it as a descriptor.

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <new>

#include "board/layers.h"
#include "board/model/bytes.h"
#include "board/model/open_models.h"
#include "board/model/order.h"
#include "board/model/wire.h"
#include "device/protocol/cpu/model_messages.h"
#include "whet/model.h"

namespace whet {
namespace {

constexpr int kWrongUsage = 2, kNoSandbox = 4;
constexpr char kNoLayers[] = "the system does not give compiled models a whole sandbox (--sandbox best serves without)";
/// Signs of life are as far apart at least [s].
constexpr double kTellSeconds = 0.5;
/// Times are told in parts of this size: whoever reads them pings between two parts.
constexpr std::size_t kTellBytes = std::size_t{512} << 10;

double now_in_seconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void begin_answer(GrowingBytes& answer, ModelAnswerKind kind) {
  answer.clear();
  answer.put(kind);
}

/// Carries out orders, one after the other.
class Server {
 public:
  Server(int socket, int layers) : wire_(socket), layers_(layers) {}

  [[noreturn]] void serve() {
    GrowingBytes payload;
    for (;;) {
      wire_.receive_order(payload);
      Order order;
      if (!read_order(payload.view(), order)) _exit(kBrokenOrder);
      whet_error error{};
      begin_answer(answer_, ModelAnswerKind::over);
      int files[kMostModels + kMostModelInputs];
      for (std::uint64_t i = 0; i < order.models + order.inputs; ++i) files[i] = wire_.receive_file();
      const bool done = models_.take(order, files, error) && carry_out(order, error);
      for (std::uint64_t i = 0; i < order.models + order.inputs; ++i) close(files[i]);
      if (!done) {
        begin_answer(answer_, ModelAnswerKind::failed);
        answer_.put(models_.at_hand());
        answer_.put(error.message);
      }
      wire_.send_frame(FrameType::model_answer, answer_);
    }
  }

 private:
  /// `answer_` is the last answer, where all goes well.
  bool carry_out(const Order& order, whet_error& error) {
    if (order.models == 0) return true;
    bool done = false;
    switch (order.work) {
      case ModelWork::describe:
        done = describe_all(order);
        break;
      case ModelWork::run:
        done = run(models_.take_up(0), error) && send_outputs(models_.take_up(0));
        break;
      case ModelWork::time:
        done = time_runs(order, error);
        break;
      case ModelWork::profile:
        done = profile(order, error);
        break;
      case ModelWork::bursts:
        done = time_bursts(order, error);
        break;
    }
    begin_answer(answer_, ModelAnswerKind::over);
    return done;
  }

  static bool run(Opened& model, whet_error& error) {
    return model.library.api->session_run(model.session, &error) == 0;
  }

  void describe_tensors(const Opened& model, std::uint32_t count,
                        const whet_tensor_info* (*tensor)(const whet_model*, std::uint32_t)) {
    answer_.put(std::uint64_t{count});
    for (std::uint32_t i = 0; i < count; ++i) {
      const whet_tensor_info& info = *tensor(model.model, i);
      answer_.put(info.name);
      answer_.put(static_cast<std::uint8_t>(info.dtype));
      answer_.put(static_cast<std::uint64_t>(info.rank));
      for (std::uint32_t d = 0; d < info.rank; ++d) answer_.put(info.shape[d]);
    }
  }
  bool describe_all(const Order& order) {
    for (std::uint64_t i = 0; i < order.models; ++i) {
      const Opened& model = models_.take_up(i);
      const whet_api& api = *model.library.api;
      const whet_model_info& info = *api.model_info(model.model);
      const whet_pool_info& pool = *api.pool_info(api.session_pool(model.session));
      begin_answer(answer_, ModelAnswerKind::opened);
      answer_.put(static_cast<std::uint32_t>(i));
      for (const char* text : {info.name, info.target, info.required_isa, info.records, info.compiler, pool.note,
                               api.session_note(model.session)})
        answer_.put(text);
      answer_.put(static_cast<std::uint32_t>(info.steps));
      answer_.put(static_cast<std::uint32_t>(info.tuned_threads));
      answer_.put(static_cast<std::int64_t>(info.arena_bytes));
      answer_.put(static_cast<std::int64_t>(info.weights_bytes));
      answer_.put(info.flops);
      answer_.put(info.predicted_seconds);
      describe_tensors(model, info.inputs, api.model_input);
      describe_tensors(model, info.outputs, api.model_output);
      answer_.put(static_cast<std::uint32_t>(pool.threads));
      answer_.put(static_cast<std::uint64_t>(pool.cores == nullptr ? 0 : pool.threads));
      for (std::uint32_t c = 0; pool.cores != nullptr && c < pool.threads; ++c)
        answer_.put(std::uint32_t{pool.cores[c]});
      answer_.put(static_cast<std::uint64_t>(__builtin_popcount(static_cast<unsigned>(layers_))));
      for (const int layer : kSandboxLayers)
        if ((layers_ & layer) != 0) answer_.put(layer_name(layer));
      wire_.send_frame(FrameType::model_answer, answer_);
    }
    return true;
  }

  /// They may be large: they are sent from where they lie.
  bool send_outputs(Opened& model) {
    const whet_api& api = *model.library.api;
    const std::uint32_t count = api.model_info(model.model)->outputs;
    std::uint64_t bytes = 1 + sizeof(std::uint64_t);
    for (std::uint32_t i = 0; i < count; ++i)
      bytes += sizeof(std::uint64_t) + static_cast<std::uint64_t>(api.model_output(model.model, i)->bytes);
    wire_.send_head(FrameType::model_answer, bytes);
    begin_answer(answer_, ModelAnswerKind::outputs);
    answer_.put(std::uint64_t{count});
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto size = static_cast<std::uint64_t>(api.model_output(model.model, i)->bytes);
      answer_.put(size);
      wire_.send_bytes(answer_.data(), answer_.size());
      answer_.clear();
      wire_.send_bytes(api.session_output(model.session, i), size);
    }
    wire_.send_bytes(answer_.data(), answer_.size());
    return true;
  }

  void send_times(const GrowingBytes& times) {
    begin_answer(answer_, ModelAnswerKind::times);
    answer_.put(std::uint64_t{times.size() / sizeof(double)});
    answer_.add(times.view());
    wire_.send_frame(FrameType::model_answer, answer_);
  }
  /// Runs as many inferences as `whet bench` does: at least 3, then by number or by time. Tells the times in parts.
  bool time_runs(const Order& order, whet_error& error) {
    Opened& model = models_.take_up(0);
    GrowingBytes times;
    double told = now_in_seconds();
    for (const double start = told;;) {
      if (!run(model, error)) return false;
      const double now = now_in_seconds();
      if (now - start >= order.warmup_seconds) break;
      if (now - told >= kTellSeconds) send_times(times), told = now;
    }
    const double start = now_in_seconds();
    for (std::uint64_t done = 0;; ++done) {
      const double before = now_in_seconds();
      if (done >= 3 && (order.runs > 0 ? done >= order.runs : before - start >= order.timed_seconds)) break;
      if (before - told >= kTellSeconds || times.size() >= kTellBytes) {
        send_times(times);
        times.clear();
        told = before;
      }
      const double begin = now_in_seconds();
      if (!run(model, error)) return false;
      times.put(now_in_seconds() - begin);
    }
    send_times(times);
    return true;
  }

  bool profile(const Order& order, whet_error& error) {
    Opened& model = models_.take_up(0);
    const whet_api& api = *model.library.api;
    const GrowingBytes none;
    double told = now_in_seconds();
    const std::uint64_t runs = std::uint64_t{order.warmup_runs} + std::max(1u, order.runs);
    for (std::uint64_t i = 0; i < runs; ++i) {
      if (i == order.warmup_runs) api.session_set_profiling(model.session, 1);
      if (!run(model, error)) return false;
      if (const double now = now_in_seconds(); now - told >= kTellSeconds) send_times(none), told = now;
    }
    whet_profile seen;
    api.session_profile(model.session, &seen);
    begin_answer(answer_, ModelAnswerKind::profile);
    for (const std::uint64_t number : {seen.runs, seen.min_ns, seen.total_ns, seen.copy_min_ns, seen.copy_total_ns})
      answer_.put(number);
    answer_.put(static_cast<std::uint64_t>(seen.steps));
    for (std::uint32_t i = 0; i < seen.steps; ++i) {
      const whet_step_profile& step = seen.step[i];
      answer_.put(step.node);
      answer_.put(step.op);
      answer_.put(step.flops);
      answer_.put(step.bytes);
      answer_.put(step.predicted_seconds);
      answer_.put(std::uint64_t{step.min_ns});
      answer_.put(std::uint64_t{step.total_ns});
      answer_.put(step.parallel != 0);
    }
    wire_.send_frame(FrameType::model_answer, answer_);
    api.session_set_profiling(model.session, 0);
    return true;
  }

  /// As device/local/model_timer.cc does.
  bool time_bursts(const Order& order, whet_error& error) {
    for (std::uint32_t burst = 0; burst < order.runs; ++burst)
      for (std::uint64_t i = 0; i < order.models; ++i)
        if (!time_burst(models_.take_up(i), i, order.timed_seconds, error)) return false;
    return true;
  }
  bool time_burst(Opened& model, std::uint64_t number, double seconds, whet_error& error) {
    if (!run(model, error)) return false;
    GrowingBytes bytes;
    const double start = now_in_seconds();
    do {
      const double before = now_in_seconds();
      if (!run(model, error)) return false;
      bytes.put(now_in_seconds() - before);
    } while (now_in_seconds() - start < seconds);
    double* const times = reinterpret_cast<double*>(bytes.grow(0) - bytes.size());
    const std::size_t count = bytes.size() / sizeof(double);
    std::sort(times, times + count);
    begin_answer(answer_, ModelAnswerKind::burst);
    answer_.put(static_cast<std::uint32_t>(number));
    answer_.put(std::uint64_t{2});
    answer_.put(times[count / 2]);
    answer_.put(times[0]);
    wire_.send_frame(FrameType::model_answer, answer_);
    return true;
  }

  Wire wire_;
  int layers_;
  GrowingBytes answer_;
  OpenModels models_;
};

/// -1 where a layer is missing that has to be there.
int layers_for(const char* mode) {
  if (std::strcmp(mode, "off") == 0) return 0;
  const int needed = std::strcmp(mode, "strict") == 0 ? strict_layers() : 0;
  const int layers = enter_layers(FileAccess::read);
  return (layers & needed) == needed ? layers : -1;
}

int serve(int socket, const char* mode) {
  prctl(PR_SET_NAME, "whet-model");
  const int layers = layers_for(mode);
  if (layers < 0) {
    GrowingBytes why;
    why.add(kNoLayers);
    Wire(socket).send_frame(FrameType::fault, why);
    return kNoSandbox;
  }
  static char memory[sizeof(Server)];
  (new (memory) Server(socket, layers))->serve();
}

}  // namespace
}  // namespace whet

/// The C library has it under this name since its version 2.33.
extern "C" int fstat(int file, struct stat* found) { return static_cast<int>(syscall(SYS_fstat, file, found)); }

int main(int argc, char** argv) {
  if (argc == 3) return whet::serve(std::atoi(argv[1]), argv[2]);
  static constexpr char kUsage[] = "whet-model is started by whet-device\n";
  return write(2, kUsage, sizeof kUsage - 1) > 0 ? whet::kWrongUsage : 1;
}
