// whet-model: opens compiled models for whet-device and runs them, in a process of its own. A static program cannot load a library,
// so that this is a dynamic one, of the C library alone. It has no use by hand:
//   whet-model SOCKET strict|best|off
// The messages on its socket are frames of runner/wire.h: orders and answers as device/protocol/cpu/model_messages.h has them. Each file
// that an order names follows it as a descriptor.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <new>

#include "board/layers.h"
#include "board/model/bytes.h"
#include "device/protocol/cpu/model_messages.h"
#include "runner/wire.h"
#include "whet/model.h"

namespace whet {
namespace {

constexpr int kServed = 0, kWrongUsage = 2, kBrokenOrder = 3, kNoSandbox = 4;
constexpr std::uint64_t kMostOrderBytes = std::uint64_t{1} << 20, kHashBytes = 64;
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

/// Our end of the socket. Where the other end is gone, so is the program.
class Wire {
 public:
  explicit Wire(int socket) : socket_(socket) {}

  void send_head(FrameType type, std::uint64_t bytes) {
    GrowingBytes head;
    head.put(FrameHead{.type = type, .bytes = bytes});
    send_bytes(head.data(), head.size());
  }
  void send_bytes(const void* bytes, std::size_t count) {
    const char* at = static_cast<const char*>(bytes);
    while (count > 0) {
      const ssize_t n = send(socket_, at, count, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(kServed);
      at += n;
      count -= static_cast<std::size_t>(n);
    }
  }
  void send_frame(FrameType type, const GrowingBytes& payload) {
    send_head(type, payload.size());
    send_bytes(payload.data(), payload.size());
  }

  /// The payload of the next order.
  void receive_order(GrowingBytes& payload) {
    char bytes[kFrameHeadBytes];
    receive_bytes(bytes, sizeof bytes);
    const auto head = Unpacker({bytes, sizeof bytes}).get<FrameHead>();
    const FrameHead wanted{.type = FrameType::model_order, .bytes = head.bytes};
    if (head != wanted || head.bytes > kMostOrderBytes) _exit(kBrokenOrder);
    payload.clear();
    receive_bytes(payload.grow(head.bytes), head.bytes);
  }
  /// A descriptor that is sent with one byte.
  int receive_file() {
    char byte;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t n;
    while ((n = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    const cmsghdr* const header = n == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) _exit(n == 0 ? kServed : kBrokenOrder);
    int file;
    std::memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
  }

 private:
  void receive_bytes(char* at, std::size_t count) {
    while (count > 0) {
      const ssize_t n = recv(socket_, at, count, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) _exit(kServed);
      at += n;
      count -= static_cast<std::size_t>(n);
    }
  }

  int socket_;
};

void begin_answer(GrowingBytes& answer, ModelAnswerKind kind) {
  answer.clear();
  answer.put(kind);
}

/// An order, whose texts and lists lie in its payload.
struct Order {
  std::uint64_t models = 0, inputs = 0;
  const char* model_hash[kMostModels];
  const char* input_hash[kMostModelInputs];
  std::string_view options;  ///< threads to map_weights as they came, to compare
  std::uint32_t threads = 0, core_count = 0;
  const char* cores = nullptr;
  bool pin = true, map_weights = false;
  ModelWork work{};
  double warmup_seconds = 0, timed_seconds = 0;
  std::uint32_t warmup_runs = 0, runs = 0;
};
void take_hashes(Unpacker& u, std::uint64_t most, const char** hashes, std::uint64_t& count) {
  u.get(count);
  u.require(count <= most);
  for (std::uint64_t i = 0; i < count && u.ok(); ++i) {
    const auto hash = u.get<std::string_view>();
    u.require(hash.size() == kHashBytes);
    hashes[i] = hash.data();
    u.get<std::uint64_t>();  // bytes
  }
}
bool read_order(std::string_view payload, Order& order) {
  Unpacker u(payload);
  u.get<double>();  // the limit, which whet-device keeps
  take_hashes(u, kMostModels, order.model_hash, order.models);
  take_hashes(u, kMostModelInputs, order.input_hash, order.inputs);
  const std::size_t left = u.left();
  u.get(order.threads);
  const auto cores = u.get<std::uint64_t>();
  u.require(cores <= payload.size());
  order.core_count = static_cast<std::uint32_t>(cores);
  order.cores = u.take(cores * sizeof(std::uint32_t)).data();
  u.get(order.pin);
  u.get(order.map_weights);
  order.options = {payload.data() + payload.size() - left, left - u.left()};
  u.get(order.work);
  u.get(order.warmup_seconds);
  u.get(order.warmup_runs);
  u.get(order.timed_seconds);
  u.get(order.runs);
  return u.done();
}

/// One that is open.
struct Opened {
  char hash[kHashBytes];
  whet_library library;
  whet_model* model;
  whet_pool* pool;  ///< null: the session runs on the model's own
  whet_session* session;
  bool used, wanted;
};
/// An input's contents, mapped from its file.
struct Input {
  char hash[kHashBytes];
  void* data;
  std::size_t bytes;
};
/// Where an input without bytes lies.
alignas(64) char no_bytes[64];

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
      failed_ = -1;
      begin_answer(answer_, ModelAnswerKind::over);
      for (std::uint64_t i = 0; i < order.models + order.inputs; ++i) files_[i] = wire_.receive_file();
      const bool done = carry_out(order, error);
      for (std::uint64_t i = 0; i < order.models + order.inputs; ++i) close(files_[i]);
      if (!done) {
        begin_answer(answer_, ModelAnswerKind::failed);
        answer_.put(failed_);
        answer_.put(error.message);
      }
      wire_.send_frame(FrameType::model_answer, answer_);
    }
  }

 private:
  /// `answer_` is the last answer, where all goes well.
  bool carry_out(const Order& order, whet_error& error) {
    if (!open_models(order, error) || !take_inputs(order, error)) return false;
    if (order.models == 0) return true;
    failed_ = 0;
    bool done = false;
    switch (order.work) {
      case ModelWork::describe:
        done = describe_all(order);
        break;
      case ModelWork::run:
        done = run(at(0), error) && send_outputs(at(0));
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

  Opened& at(std::uint64_t model) { return opened_[place_[model]]; }

  void close_model(Opened& model) {
    const whet_api* const api = model.library.api;
    if (model.session) api->session_destroy(model.session);
    if (model.pool) api->pool_destroy(model.pool);
    if (model.model) api->model_close(model.model);
    whet_library_close(&model.library);
    model = Opened{};
  }
  /// Where it is open, or a free place; kMostModels where there is neither.
  std::size_t find_model(const char* hash) const {
    std::size_t place = kMostModels;
    for (std::size_t i = 0; i < kMostModels; ++i) {
      if (opened_[i].used && std::memcmp(opened_[i].hash, hash, kHashBytes) == 0) return i;
      if (!opened_[i].used && place == kMostModels) place = i;
    }
    return place;
  }

  bool open_models(const Order& order, whet_error& error) {
    const bool same_options = options_.view() == order.options;
    for (Opened& model : opened_) model.wanted = false;
    for (std::uint64_t i = 0; i < order.models && same_options; ++i)
      if (const std::size_t place = find_model(order.model_hash[i]); place < kMostModels) opened_[place].wanted = true;
    for (Opened& model : opened_)
      if (model.used && !model.wanted) close_model(model);
    options_.clear();
    options_.add(order.options);
    for (std::uint64_t i = 0; i < order.models; ++i) {
      failed_ = static_cast<int>(i);
      place_[i] = find_model(order.model_hash[i]);
      Opened& model = at(i);
      if (model.used) continue;
      std::memcpy(model.hash, order.model_hash[i], kHashBytes);
      model.used = true;
      if (!open_model(model, files_[i], order, error)) return close_model(model), false;
    }
    return true;
  }
  /// Under a path that no library which is open has: the loader knows libraries by their paths.
  bool open_model(Opened& model, int file, const Order& order, whet_error& error) {
    constexpr unsigned kMostDots = 1500;
    char path[2 * kMostDots + 64];
    std::size_t length = static_cast<std::size_t>(snprintf(path, 32, "/proc/self/fd/"));
    for (unsigned i = 0; i < libraries_; ++i) path[length++] = '.', path[length++] = '/';
    libraries_ = (libraries_ + 1) % kMostDots;
    snprintf(path + length, 32, "%d", file);
    if (whet_library_open(path, 0, &model.library, &error) != 0) return without_path(path, error);
    const whet_api& api = *model.library.api;
    if (WHET_HAS(&api, model_open_device) && api.model_open_device != nullptr)
      return whet_fail(&error, "runs on a GPU; a device elsewhere runs models for its processor alone") == 0;
    const whet_open_options open_options{order.map_weights ? 1u : 0u};
    if (api.model_open(&open_options, &model.model, &error) != 0) return false;
    if ((order.threads != 0 || order.core_count != 0 || !order.pin) && !make_pool(model, order, error)) return false;
    return api.session_create(model.model, model.pool, &model.session, &error) == 0;
  }
  bool make_pool(Opened& model, const Order& order, whet_error& error) {
    const whet_api& api = *model.library.api;
    std::uint32_t* const cores =
        static_cast<std::uint32_t*>(memory_or_end(std::malloc((order.core_count + 1) * sizeof(std::uint32_t))));
    std::memcpy(cores, order.cores, order.core_count * sizeof(std::uint32_t));
    whet_pool_options options{};
    options.threads = order.threads;
    if (options.threads == 0 && order.core_count != 0)
      options.threads = std::min(order.core_count, api.model_info(model.model)->tuned_threads);
    options.cores = order.core_count == 0 ? nullptr : cores;
    options.core_count = order.core_count;
    options.no_pin = !order.pin;
    const bool made = api.pool_create(&options, &model.pool, &error) == 0;
    std::free(cores);
    return made;
  }
  /// The file has another name where whet is. (The loader names it too.)
  static bool without_path(const char* path, whet_error& error) {
    const std::size_t bytes = std::strlen(path);
    while (std::strncmp(error.message, path, bytes) == 0 && std::strncmp(error.message + bytes, ": ", 2) == 0)
      std::memmove(error.message, error.message + bytes + 2, std::strlen(error.message + bytes + 2) + 1);
    return false;
  }

  bool take_inputs(const Order& order, whet_error& error) {
    bool same = order.inputs == input_count_;
    for (std::uint64_t i = 0; same && i < order.inputs; ++i)
      same = std::memcmp(inputs_[i].hash, order.input_hash[i], kHashBytes) == 0;
    for (std::uint64_t i = 0; !same && i < order.inputs; ++i) {
      unmap(inputs_[i]);
      std::memcpy(inputs_[i].hash, order.input_hash[i], kHashBytes);
      map(files_[order.models + i], inputs_[i]);
    }
    input_count_ = order.inputs;
    if (order.work == ModelWork::describe) return true;
    for (std::uint64_t i = 0; i < order.models; ++i) {
      failed_ = static_cast<int>(i);
      if (!give_inputs(at(i), error)) return false;
    }
    return true;
  }
  static void map(int file, Input& input) {
    struct stat found;
    input.data = no_bytes;
    input.bytes = fstat(file, &found) == 0 ? static_cast<std::size_t>(found.st_size) : 0;
    if (input.bytes == 0) return;
    void* const data = mmap(nullptr, input.bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    input.data = memory_or_end(data == MAP_FAILED ? nullptr : data);
  }
  static void unmap(Input& input) {
    if (input.bytes > 0) munmap(input.data, input.bytes);
    input = Input{};
  }
  bool give_inputs(Opened& model, whet_error& error) {
    const whet_api& api = *model.library.api;
    const std::uint32_t count = api.model_info(model.model)->inputs;
    if (count != input_count_)
      return whet_fail(&error, "the model has %u inputs; %u tensors are given", count,
                       static_cast<unsigned>(input_count_)) == 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const whet_tensor_info& info = *api.model_input(model.model, i);
      if (static_cast<std::uint64_t>(info.bytes) != inputs_[i].bytes)
        return whet_fail(&error, "input \"%s\" has %lld bytes; the tensor given has %llu", info.name,
                         static_cast<long long>(info.bytes), static_cast<unsigned long long>(inputs_[i].bytes)) == 0;
      if (api.session_set_input(model.session, i, inputs_[i].data, nullptr, &error) != 0) return false;
    }
    return true;
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
      const Opened& model = at(i);
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
    Opened& model = at(0);
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
    Opened& model = at(0);
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
      for (std::uint64_t i = 0; i < order.models; ++i) {
        failed_ = static_cast<int>(i);
        if (!time_burst(at(i), i, order.timed_seconds, error)) return false;
      }
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
  int failed_ = -1;  ///< the model at hand
  unsigned libraries_ = 0;
  GrowingBytes answer_, options_;
  Opened opened_[kMostModels] = {};
  std::size_t place_[kMostModels] = {};
  int files_[kMostModels + kMostModelInputs] = {};  ///< of the order at hand
  Input inputs_[kMostModelInputs] = {};
  std::uint64_t input_count_ = 0;
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
