#include "runner/messages.h"

#include <algorithm>
#include <cmath>

#include "runner/timing.h"
#include "runner/wire.h"

namespace whet {
namespace {

constexpr std::size_t kArgumentBytes = 1 + 1 + 8 + 8 + 8 + 8 + 8;
constexpr std::size_t kLaunchBytes = 8 + 1 + 6 * 4 + 8;  ///< with an entry of no name
constexpr std::uint32_t kMaxThreads = 1024;
/// Of a kernel: as each takes more memory than it has bytes, a stranger may name no more.
constexpr std::size_t kMostArguments = 4096, kMostLaunches = 4096;

void pack(Packer& p, const Dim3& d) {
  p.u32(d.x);
  p.u32(d.y);
  p.u32(d.z);
}

Dim3 unpack_dim3(Unpacker& u) {
  Dim3 d;
  d.x = u.u32();
  d.y = u.u32();
  d.z = u.u32();
  return d;
}

void pack(Packer& p, const Launch& l) {
  p.text(l.entry);
  p.u8(l.parallel);
  pack(p, l.grid);
  pack(p, l.block);
  p.i64(l.block_memory);
}

Launch unpack_launch(Unpacker& u) {
  Launch l;
  l.entry = u.text();
  l.parallel = u.u8() != 0;
  l.grid = unpack_dim3(u);
  l.block = unpack_dim3(u);
  l.block_memory = u.i64();
  return l;
}

void pack(Packer& p, const Kernel& k) {
  p.u8(static_cast<std::uint8_t>(k.format));
  p.text(k.code);
  p.u64(k.launches.size());
  for (const Launch& launch : k.launches) pack(p, launch);
  p.i64(k.workspace);
  p.i64(k.worker_workspace);
  p.u64(k.argument_bytes.size());
  for (auto bytes : k.argument_bytes) p.i64(bytes);
}

Kernel unpack_kernel(Unpacker& u) {
  Kernel k;
  k.format = static_cast<CodeFormat>(u.u8());
  k.code = u.text();
  for (std::size_t n = u.count(kLaunchBytes, kMostLaunches); n > 0 && u.ok(); --n)
    k.launches.push_back(unpack_launch(u));
  k.workspace = u.i64();
  k.worker_workspace = u.i64();
  for (std::size_t n = u.count(8, kMostArguments); n > 0; --n) k.argument_bytes.push_back(u.i64());
  return k;
}

void pack(Packer& p, const ArgumentSpec& a) {
  p.u8(static_cast<std::uint8_t>(a.role));
  p.u8(static_cast<std::uint8_t>(a.dtype));
  p.i64(a.bytes);
  p.u64(a.seed);
  p.i64(a.index_bound);
  p.f64(a.low);
  p.f64(a.high);
}

ArgumentSpec unpack_argument(Unpacker& u) {
  ArgumentSpec a;
  a.role = static_cast<ArgumentRole>(u.u8());
  a.dtype = static_cast<DType>(u.u8());
  a.bytes = u.i64();
  a.seed = u.u64();
  a.index_bound = u.i64();
  a.low = u.f64();
  a.high = u.f64();
  return a;
}

void pack(Packer& p, const KernelJob& job) {
  pack(p, job.kernel);
  p.u64(job.arguments.size());
  for (const auto& a : job.arguments) pack(p, a);
  p.u32(job.threads);
  pack(p, job.cpu);
  p.u32(job.device);
}

KernelJob unpack_job(Unpacker& u) {
  KernelJob job;
  job.kernel = unpack_kernel(u);
  for (std::size_t n = u.count(kArgumentBytes, kMostArguments); n > 0; --n) job.arguments.push_back(unpack_argument(u));
  job.threads = u.u32();
  job.cpu = unpack_cpu_placement(u);
  job.device = u.u32();
  return job;
}

/// Numbers that the runner may rely on.
bool sane(const KernelJob& job) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto size = [](std::int64_t bytes) { return bytes >= 0 && bytes <= kMost; };
  if (job.threads < 1 || job.threads > kMaxThreads || !has_room_for(job.cpu, job.threads)) return false;
  if (!is_code_format(static_cast<std::uint8_t>(job.kernel.format))) return false;
  if (!size(job.kernel.worker_workspace) || !size(job.kernel.workspace)) return false;
  for (const Launch& launch : job.kernel.launches)
    if (!size(launch.block_memory)) return false;
  for (const auto& a : job.arguments) {
    if (a.role > ArgumentRole::output || a.dtype > DType::boolean || !size(a.bytes) || a.index_bound < 0) return false;
    if (!std::isfinite(a.low) || !std::isfinite(a.high) || a.low >= a.high || a.bytes % size_of(a.dtype) != 0)
      return false;
  }
  return true;
}

void pack(Packer& p, const TimingPolicy& t) {
  p.u8(t.classic);
  p.u32(t.min_runs);
  p.f64(t.min_seconds);
  p.f64(t.max_seconds);
  p.f64(t.incumbent_seconds);
  p.f64(t.truncate_ratio);
  p.u32(t.repeat);
  p.u32(t.number);
  p.f64(t.min_repeat_seconds);
  p.u8(static_cast<std::uint8_t>(t.cache));
  p.i64(t.network_bytes);
  p.u8(t.guard);
}

TimingPolicy unpack_policy(Unpacker& u) {
  TimingPolicy t;
  t.classic = u.u8() != 0;
  t.min_runs = u.u32();
  t.min_seconds = u.f64();
  t.max_seconds = u.f64();
  t.incumbent_seconds = u.f64();
  t.truncate_ratio = u.f64();
  t.repeat = u.u32();
  t.number = u.u32();
  t.min_repeat_seconds = u.f64();
  t.cache = static_cast<CacheMode>(u.u8());
  t.network_bytes = u.i64();
  t.guard = u.u8() != 0;
  return t;
}

/// Of an answer, without figures and outputs: its code, its message, the ticket and counts.
constexpr std::uint64_t kMostAnswerHead = std::uint64_t{64} << 10;
/// Repeats of a classic measurement: more figures than anybody looks at.
constexpr std::uint32_t kMostRepeats = 1u << 20;

bool sane(const TimingPolicy& t) {
  return t.repeat <= kMostRepeats && t.cache <= CacheMode::network && t.network_bytes >= 0 &&
         t.network_bytes <= (std::int64_t{1} << 40);
}

/// An argument that another kernel's output can be.
bool fits(const KernelJob& job, std::uint32_t index, const KernelJob& packing, std::uint32_t output) {
  if (index >= job.arguments.size() || output >= packing.arguments.size()) return false;
  const ArgumentSpec &to = job.arguments[index], &from = packing.arguments[output];
  return to.role != ArgumentRole::output && from.role == ArgumentRole::output && to.bytes == from.bytes;
}

}  // namespace

const char* name_of(CacheMode mode) {
  return mode == CacheMode::warm ? "warm" : mode == CacheMode::cold ? "cold" : "network";
}

std::uint64_t most_answer_bytes(const MeasureRequest& request) {
  const std::uint64_t figures =
      std::max<std::uint64_t>(kMaxFigures, request.policy.classic ? request.policy.repeat : 0);
  return kMostAnswerHead + figures * sizeof(double);
}
std::uint64_t most_answer_bytes(const CheckRequest& request) {
  std::uint64_t bytes = kMostAnswerHead;
  for (const ArgumentSpec& argument : request.job.arguments)
    if (argument.role == ArgumentRole::output)
      bytes = std::min(bytes + sizeof(std::uint64_t) + static_cast<std::uint64_t>(argument.bytes), kMaxFrameBytes);
  return bytes;
}

std::string with_ticket(std::uint64_t ticket, std::string_view message) {
  Packer p;
  p.u64(ticket);
  std::string payload = p.take();
  payload.reserve(kTicketBytes + message.size());
  return payload += message;
}
std::optional<std::uint64_t> take_ticket(std::string_view& payload) {
  Unpacker u(payload);
  const std::uint64_t ticket = u.u64();
  if (!u.ok()) return std::nullopt;
  payload.remove_prefix(kTicketBytes);
  return ticket;
}

std::optional<CacheMode> parse_cache_mode(std::string_view name) {
  for (CacheMode mode : {CacheMode::warm, CacheMode::cold, CacheMode::network})
    if (name == name_of(mode)) return mode;
  return std::nullopt;
}

std::string encode(const KernelJob& job) {
  Packer p;
  pack(p, job);
  return p.take();
}
std::optional<KernelJob> decode_kernel_job(std::string_view bytes) {
  Unpacker u(bytes);
  KernelJob job = unpack_job(u);
  if (!u.done() || !sane(job)) return std::nullopt;
  return job;
}

std::string encode(const MeasureRequest& r) {
  Packer p;
  pack(p, r.job);
  pack(p, r.policy);
  return p.take();
}
std::optional<MeasureRequest> decode_measure_request(std::string_view bytes) {
  Unpacker u(bytes);
  MeasureRequest r;
  r.job = unpack_job(u);
  r.policy = unpack_policy(u);
  if (!u.done() || !sane(r.job) || !sane(r.policy)) return std::nullopt;
  return r;
}

std::string encode(const MeasureReply& r) {
  Packer p;
  p.u8(static_cast<std::uint8_t>(r.code));
  p.text(r.message);
  p.u64(r.seconds.size());
  for (double s : r.seconds) p.f64(s);
  p.u8(r.truncated);
  p.f64(r.run_seconds);
  return p.take();
}
std::optional<MeasureReply> decode_measure_reply(std::string_view bytes) {
  Unpacker u(bytes);
  MeasureReply r;
  const std::optional<OutcomeCode> code = outcome_code(u.u8());
  r.message = u.text();
  for (std::size_t n = u.count(8); n > 0; --n) r.seconds.push_back(u.f64());
  r.truncated = u.u8() != 0;
  r.run_seconds = u.f64();
  if (!u.done() || !code) return std::nullopt;
  r.code = *code;
  return r;
}

std::string encode(const CheckRequest& r) {
  Packer p;
  pack(p, r.job);
  p.u64(r.contents.size());
  for (const auto& [index, bytes] : r.contents) {
    p.u32(index);
    p.text(bytes);
  }
  p.u8(r.packing.has_value());
  if (r.packing) pack(p, *r.packing);
  p.u64(r.packed.size());
  for (const auto& [index, output] : r.packed) {
    p.u32(index);
    p.u32(output);
  }
  return p.take();
}
std::optional<CheckRequest> decode_check_request(std::string_view bytes) {
  Unpacker u(bytes);
  CheckRequest r;
  r.job = unpack_job(u);
  for (std::size_t n = u.count(12); n > 0 && u.ok(); --n) {
    const std::uint32_t index = u.u32();
    r.contents.emplace_back(index, u.text());
  }
  if (u.u8() != 0) r.packing = unpack_job(u);
  for (std::size_t n = u.count(8); n > 0 && u.ok(); --n) {
    const std::uint32_t index = u.u32();
    r.packed.emplace_back(index, u.u32());
  }
  if (!u.done() || !sane(r.job) || (r.packing && !sane(*r.packing))) return std::nullopt;
  for (const auto& [index, content] : r.contents)
    if (index >= r.job.arguments.size() || static_cast<std::int64_t>(content.size()) != r.job.arguments[index].bytes)
      return std::nullopt;
  for (const auto& [index, output] : r.packed)
    if (!r.packing || !fits(r.job, index, *r.packing, output)) return std::nullopt;
  return r;
}

std::string encode(const CheckReply& r) {
  Packer p;
  p.u8(static_cast<std::uint8_t>(r.code));
  p.text(r.message);
  p.u64(r.outputs.size());
  for (const auto& bytes : r.outputs) p.text(bytes);
  return p.take();
}
std::optional<CheckReply> decode_check_reply(std::string_view bytes) {
  Unpacker u(bytes);
  CheckReply r;
  const std::optional<OutcomeCode> code = outcome_code(u.u8());
  r.message = u.text();
  for (std::size_t n = u.count(8); n > 0 && u.ok(); --n) r.outputs.push_back(u.text());
  if (!u.done() || !code) return std::nullopt;
  r.code = *code;
  return r;
}

}  // namespace whet
