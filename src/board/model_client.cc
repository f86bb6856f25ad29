#include "board/model_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "device/protocol/bounds.h"
#include "runner/hello.h"

extern "C" const char whet_model_begin[], whet_model_end[];

namespace whet {
namespace {

constexpr int kNotStarted = 127;
/// How often the other end is listened to while a model runs.
constexpr int kModelTickMilliseconds = 50;
constexpr double kMostAnswerSeconds = 3600;
constexpr std::size_t kMostFault = 500;
/// Of an answer: outputs as long as an answer may be, on boards with little memory less; names and times.
constexpr std::uint64_t kMostOutputs = std::uint64_t{1} << 30, kMostOther = std::uint64_t{16} << 20;

/// Set once, before any process or thread.
std::string model_runner;

/// The descriptor of a file in memory that is the program; -1 where the system has none.
int program_in_memory() {
  constexpr unsigned kMayBeExecuted = 0x10;  // MFD_EXEC, which kernels before 6.3 do not know
  int file = memfd_create("whet-model", kMayBeExecuted);
  if (file < 0) file = memfd_create("whet-model", 0);
  const char* at = whet_model_begin;
  while (file >= 0 && at < whet_model_end) {
    const ssize_t n = write(file, at, static_cast<std::size_t>(whet_model_end - at));
    if (n <= 0) return close(file), -1;
    at += n;
  }
  return file;
}

/// Becomes whet-model, unless something is missing for that.
int become_whet_model(int fd, const char* sandbox) {
  if (!send_hello(fd)) return 0;
  const int program = program_in_memory(), socket = dup(fd);  // which stays open
  std::vector<std::string> words;
  for (std::size_t at = 0; at < model_runner.size();) {
    const std::size_t end = std::min(model_runner.find(' ', at), model_runner.size());
    if (end > at) words.push_back(model_runner.substr(at, end - at));
    at = end + 1;
  }
  words.push_back("/proc/self/fd/" + std::to_string(program));
  words.push_back(std::to_string(socket));
  words.emplace_back(sandbox);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* no_environment[] = {nullptr};
  // (Not by PATH alone: execvpe hands what the system does not know to a shell.)
  if (program >= 0 && model_runner.empty()) execve(arguments[0], arguments.data(), no_environment);
  if (program >= 0 && !model_runner.empty()) execvpe(arguments[0], arguments.data(), no_environment);
  std::string why = std::string("compiled models cannot run there: ") + std::strerror(errno);
  if (errno == ENOENT && model_runner.empty()) why += " (of the loader of programs that are not static)";
  if (errno == ENOEXEC) why += " (an emulator that runs whet-device has to be named: --model-runner)";
  send_frame(fd, FrameType::fault, why);
  // Until it was read.
  char byte;
  while (recv(fd, &byte, 1, 0) > 0) {
  }
  return kNotStarted;
}

bool send_file(int socket, int file) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  ssize_t n;
  while ((n = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return n == 1;
}

double seconds_passed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string failed(std::string sentence) {
  ModelAnswer answer;
  answer.kind = ModelAnswerKind::failed;
  answer.sentence = std::move(sentence);
  return encode(answer);
}

bool is_last(const std::string& answer) {
  const auto kind = static_cast<ModelAnswerKind>(answer.empty() ? 0 : answer[0]);
  return kind == ModelAnswerKind::over || kind == ModelAnswerKind::failed;
}

}  // namespace

const Life kStrictModels{"whet-model", [](int fd) { return become_whet_model(fd, "strict"); }, true};
const Life kBestModels{"whet-model", [](int fd) { return become_whet_model(fd, "best"); }, true};
const Life kModels{"whet-model", [](int fd) { return become_whet_model(fd, "off"); }, true};
void set_model_runner(std::string command) { model_runner = std::move(command); }

Result<std::string> ModelClient::need(std::string_view payload) {
  const auto need = decode<SessionNeed>(payload);
  if (!need) return Error{"what is said of files makes no sense"};
  SessionHave have;
  Result<std::vector<std::uint64_t>> there = store_.expect(need->blobs);
  if (there.ok())
    have.bytes = std::move(*there);
  else
    have.refused = printable(there.error().message);
  return encode(have);
}

Result<std::string> ModelClient::add_blob(std::string_view payload) {
  const auto blob = decode<SessionBlob>(payload);
  if (!blob) return Error{"a piece of a file makes no sense"};
  SessionHave have;
  const Result<std::uint64_t> there = store_.add(*blob);
  if (there.ok())
    have.bytes = {*there};
  else if (there.error().kind == ErrorKind::invalid_input)
    return there.error();
  else
    have.refused = printable(there.error().message);
  return encode(have);
}

std::string ModelClient::why_refused(const ModelOrder& order) const {
  if (order.models.size() > kMostModels || order.inputs.size() > kMostModelInputs)
    return "the device opens " + std::to_string(kMostModels) + " models with " + std::to_string(kMostModelInputs) +
           " inputs at most";
  if (order.threads > board_.limits.threads)
    return "the model is to have " + std::to_string(order.threads) + " threads; the device has " +
           std::to_string(board_.limits.threads) + " usable cores";
  for (const std::uint32_t core : order.cores) {
    const auto found = std::ranges::find(board_.cores, core, &DeviceCore::id);
    if (found == board_.cores.end() || !found->usable)
      return "the model is to run on core " + std::to_string(core) + ", which the device may not use";
  }
  return "";
}

std::uint64_t ModelClient::most_answer_bytes(ModelWork work) const {
  if (work != ModelWork::run) return kMostOther;
  return std::min(kMostOutputs, static_cast<std::uint64_t>(board_.memory_bytes) / kShareOfMemory);
}

/// "" or why there is no process. One that says what nobody asked for is of no use.
std::string ModelClient::start() {
  if (process_.alive() && has_bytes(process_.fd)) zygote_.end(process_, true);
  if (process_.alive()) return "";
  Result<WorkerProcess> process = zygote_.spawn(life_);
  if (!process.ok()) return process.error().message;
  process_ = *process;
  return "";
}

/// False where the process is gone, or a file is: `why` says which.
bool ModelClient::send_files(const ModelOrder& order, std::string& why) {
  for (const std::vector<BlobName>* blobs : {&order.models, &order.inputs})
    for (const BlobName& blob : *blobs) {
      const int file = store_.open(blob.hash);
      if (file < 0) why = "the file " + blob.hash.substr(0, 12) + " is not on the device";
      const bool sent = file >= 0 && send_file(process_.fd, file);
      if (file >= 0) close(file);
      if (!sent) return false;
    }
  return true;
}

Status ModelClient::carry_out(std::string_view payload, const std::function<void(std::string)>& answer,
                              const std::function<bool()>& unwanted) {
  const auto order = decode<ModelOrder>(payload);
  if (!order || !(order->seconds > 0) || order->seconds > kMostAnswerSeconds)
    return Error{"an order for models makes no sense"};
  std::string why = why_refused(*order);
  if (order->models.empty() && why.empty()) {  // an order of no models closes the open ones
    zygote_.end(process_, false);
    answer(encode(ModelAnswer{}));
    return ok_status();
  }
  // A process that died while it was idle is no fault of this order: a fresh one gets it.
  for (int attempt = 0; attempt < 2 && why.empty(); ++attempt) {
    why = start();
    if (!why.empty()) break;
    const auto goes_on = [&] { return !unwanted(); };
    if (send_frame(process_.fd, FrameType::model_order, payload, goes_on) && send_files(*order, why)) {
      why = hand_over(*order, answer, unwanted);
      if (why.empty()) return ok_status();
    } else if (!why.empty() || attempt > 0) {
      if (why.empty()) why = ended();
    } else {
      zygote_.end(process_, true);
    }
  }
  zygote_.end(process_, true);
  if (!unwanted()) answer(failed(std::move(why)));
  return ok_status();
}

/// The process closed its end.
std::string ModelClient::ended() {
  const ProcessEnd end = zygote_.end(process_, false);
  if (end.by_signal && end.number == SIGKILL)
    return "the models' process was killed from outside (SIGKILL), as the system does when memory ends";
  return end.by_signal ? "the compiled model crashed: " + end.text() : "the models' process ended: " + end.text();
}

/// "" once the last answer went out; else why there is none.
std::string ModelClient::hand_over(const ModelOrder& order, const std::function<void(std::string)>& answer,
                                   const std::function<bool()>& unwanted) {
  FrameAssembler frames(most_answer_bytes(order.work));
  for (auto since = std::chrono::steady_clock::now();;) {
    pollfd wait{process_.fd, POLLIN, 0};
    const bool ready = ::poll(&wait, 1, kModelTickMilliseconds) > 0;
    if (unwanted()) return "it is wanted no more";
    if (ready && frames.poll(process_.fd)) {
      Frame frame = frames.take();
      if (frame.type == FrameType::fault) return printable(frame.payload, kMostFault);
      if (frame.type != FrameType::model_answer) return "the answer of the models' process makes no sense";
      const bool last = is_last(frame.payload);
      answer(std::move(frame.payload));
      if (last) return "";
      since = std::chrono::steady_clock::now();
    }
    if (frames.failed()) return frames.error().empty() ? ended() : "the answer of the models' process makes no sense";
    if (seconds_passed_since(since) > order.seconds) {
      char limit[32];
      std::snprintf(limit, sizeof limit, "%g s", order.seconds);
      return "the compiled model did not finish within " + std::string(limit);
    }
  }
}

}  // namespace whet
