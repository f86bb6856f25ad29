#include "runner/messages.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "runner/timing.h"
#include "runner/wire.h"

namespace whet {
namespace {

constexpr std::uint32_t kMaxThreads = 1024;
/// Of a kernel: as each takes more memory than it has bytes, a stranger may name no more.
constexpr std::size_t kMostArguments = 4096, kMostLaunches = 4096;

/// Sizes are numbers of 31 bits: two are the halves of `seed`, the third is `high`.
constexpr int kSizeBits = 32;
constexpr std::int64_t kLargestSizeOfAKernel = (std::int64_t{1} << 31) - 1;

bool sane_sizes(const ArgumentSpec& spec) {
  constexpr std::int64_t kMostBytes = kMostSizesOfAKernel * sizeof(std::int64_t);
  if (spec.dtype != DType::i64 || spec.bytes < std::int64_t{sizeof(std::int64_t)} || spec.bytes > kMostBytes ||
      !(spec.high >= 0 && spec.high <= static_cast<double>(kLargestSizeOfAKernel)))
    return false;
  return std::ranges::all_of(sizes_in(spec),
                             [](std::int64_t size) { return size >= 1 && size <= kLargestSizeOfAKernel; });
}

/// Numbers that the runner may rely on.
bool sane_job(const KernelJob& job) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto size = [](std::int64_t bytes) { return bytes >= 0 && bytes <= kMost; };
  if (job.threads < 1 || job.threads > kMaxThreads || !has_room_for(job.cpu, job.threads)) return false;
  if (!is_code_format(static_cast<std::uint8_t>(job.kernel.format))) return false;
  if (!size(job.kernel.worker_workspace) || !size(job.kernel.workspace)) return false;
  for (const Launch& launch : job.kernel.launches)
    if (!size(launch.block_memory)) return false;
  for (const auto& a : job.arguments) {
    const bool has_bound = a.index_bound >= 0 || a.is_given() || (a.is_sizes() && sane_sizes(a));
    if (!size(a.bytes) || !has_bound || !std::isfinite(a.low) || !std::isfinite(a.high) || a.low >= a.high ||
        a.bytes % size_of(a.dtype) != 0)
      return false;
  }
  return true;
}

/// Of an answer, without figures and outputs: its code, its message, the ticket and counts.
constexpr std::uint64_t kMostAnswerHead = std::uint64_t{64} << 10;
/// Repeats of a classic measurement: more figures than anybody looks at.
constexpr std::uint32_t kMostRepeats = 1u << 20;

bool sane_policy(const TimingPolicy& t) {
  return t.repeat <= kMostRepeats && t.network_bytes >= 0 && t.network_bytes <= (std::int64_t{1} << 40);
}

/// An argument that another kernel's output can be.
bool fits(const KernelJob& job, std::uint32_t index, const KernelJob& packing, std::uint32_t output) {
  if (index >= job.arguments.size() || output >= packing.arguments.size()) return false;
  const ArgumentSpec &to = job.arguments[index], &from = packing.arguments[output];
  return to.role != ArgumentRole::output && from.role == ArgumentRole::output && to.bytes == from.bytes;
}

bool sane_check(const CheckRequest& r) {
  return std::ranges::all_of(r.contents,
                             [&](const auto& content) {
                               return content.first < r.job.arguments.size() &&
                                      static_cast<std::int64_t>(content.second.size()) ==
                                          r.job.arguments[content.first].bytes;
                             }) &&
         std::ranges::all_of(r.packed, [&](const auto& packed) {
           return r.packing && fits(r.job, packed.first, *r.packing, packed.second);
         });
}

}  // namespace

template <>
constexpr auto kLast<CodeFormat> = CodeFormat{255};  // is_code_format knows
template <>
constexpr auto kLast<ArgumentRole> = ArgumentRole::output;
template <>
constexpr auto kLast<CacheMode> = CacheMode::network;

template <>
constexpr auto kRow<Dim3> = row<&Dim3::x, &Dim3::y, &Dim3::z>;
template <>
constexpr auto kRow<Launch> =
    row<&Launch::entry, &Launch::parallel, &Launch::grid, &Launch::block, &Launch::block_memory>;
template <>
constexpr auto kRow<Kernel> =
    row<&Kernel::format, &Kernel::code, at_most<kMostLaunches, &Kernel::launches>, &Kernel::workspace,
        &Kernel::worker_workspace, at_most<kMostArguments, &Kernel::argument_bytes>>;
template <>
constexpr auto kRow<ArgumentSpec> =
    row<&ArgumentSpec::role, &ArgumentSpec::dtype, &ArgumentSpec::bytes, &ArgumentSpec::seed,
        &ArgumentSpec::index_bound, &ArgumentSpec::low, &ArgumentSpec::high>;
template <>
constexpr auto kRow<KernelJob> = row<&KernelJob::kernel, at_most<kMostArguments, &KernelJob::arguments>,
                                     &KernelJob::threads, &KernelJob::cpu, &KernelJob::device, sane_job>;
template <>
constexpr auto kRow<TimingPolicy> =
    row<&TimingPolicy::classic, &TimingPolicy::min_runs, &TimingPolicy::min_seconds, &TimingPolicy::max_seconds,
        &TimingPolicy::incumbent_seconds, &TimingPolicy::truncate_ratio, &TimingPolicy::repeat, &TimingPolicy::number,
        &TimingPolicy::min_repeat_seconds, &TimingPolicy::cache, &TimingPolicy::network_bytes, &TimingPolicy::guard,
        sane_policy>;
template <>
constexpr auto kRow<MeasureRequest> = row<&MeasureRequest::job, &MeasureRequest::policy>;
template <>
constexpr auto kRow<MeasureReply> = row<&MeasureReply::code, &MeasureReply::message, &MeasureReply::seconds,
                                        &MeasureReply::truncated, &MeasureReply::run_seconds>;
template <>
constexpr auto kRow<CheckRequest> =
    row<&CheckRequest::job, &CheckRequest::contents, &CheckRequest::packing, &CheckRequest::packed, sane_check>;
template <>
constexpr auto kRow<CheckReply> = row<&CheckReply::code, &CheckReply::message, &CheckReply::outputs>;

template struct Codec<KernelJob>;
template struct Codec<MeasureRequest>;
template struct Codec<MeasureReply>;
template struct Codec<CheckRequest>;
template struct Codec<CheckReply>;

ArgumentSpec sizes_spec(const std::vector<std::int64_t>& values) {
  WHET_CHECK(!values.empty() && values.size() <= kMostSizesOfAKernel, "sizes of a kernel");
  ArgumentSpec spec{ArgumentRole::activation, DType::i64, std::ssize(values) * std::int64_t{sizeof(std::int64_t)}};
  spec.index_bound = ArgumentSpec::kSizes;
  spec.seed = static_cast<std::uint64_t>(values[0]);
  if (values.size() > 1) spec.seed |= static_cast<std::uint64_t>(values[1]) << kSizeBits;
  if (values.size() > 2) spec.high = static_cast<double>(values[2]);
  return spec;
}

std::vector<std::int64_t> sizes_in(const ArgumentSpec& spec) {
  const std::int64_t all[] = {static_cast<std::int64_t>(spec.seed & 0xffffffffu),
                              static_cast<std::int64_t>(spec.seed >> kSizeBits), static_cast<std::int64_t>(spec.high)};
  const auto count = static_cast<std::size_t>(spec.bytes) / sizeof(std::int64_t);
  return {all, all + std::min(count, kMostSizesOfAKernel)};
}

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
  p.put(ticket);
  std::string payload = p.take();
  payload.reserve(kTicketBytes + message.size());
  return payload += message;
}
std::optional<std::uint64_t> take_ticket(std::string_view& payload) {
  Unpacker u(payload);
  const auto ticket = u.get<std::uint64_t>();
  if (!u.ok()) return std::nullopt;
  payload.remove_prefix(kTicketBytes);
  return ticket;
}

std::optional<CacheMode> parse_cache_mode(std::string_view name) {
  for (CacheMode mode : {CacheMode::warm, CacheMode::cold, CacheMode::network})
    if (name == name_of(mode)) return mode;
  return std::nullopt;
}

}  // namespace whet
