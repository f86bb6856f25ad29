#include "device/protocol/cpu/model_messages.h"

#include <algorithm>

#include "base/sha256.h"
#include "device/protocol/bounds.h"
#include "runner/wire.h"

namespace whet {
namespace {

/// Texts of a model: names of nodes that fusion has joined are long.
constexpr std::size_t kMostModelText = 16384;
constexpr std::size_t kMostRank = 64, kMostPoolCores = 1024, kMostLayers = 64;
/// The most bytes of a file. Sums of files do not overflow.
constexpr std::uint64_t kMostBlobBytes = std::uint64_t{1} << 50;

/// What a terminal would act on becomes '?'. Letters of all languages stay.
std::string without_controls(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return text;
}
/// False where the text is too long.
bool take_model_text(Unpacker& u, std::string& text) {
  text = without_controls(u.text());
  return text.size() <= kMostModelText;
}

void pack(Packer& p, const std::vector<BlobName>& blobs) {
  p.u64(blobs.size());
  for (const BlobName& blob : blobs) p.text(blob.hash), p.u64(blob.bytes);
}
bool take_blobs(Unpacker& u, std::vector<BlobName>& blobs) {
  const std::size_t count = u.count(kSha256Digits + 16);
  if (!u.ok() || count > kMostBlobs) return false;
  for (std::size_t i = 0; i < count; ++i) {
    std::string hash = u.text();
    const std::uint64_t bytes = u.u64();
    if (!u.ok() || !is_sha256(hash) || bytes > kMostBlobBytes) return false;
    blobs.push_back({std::move(hash), bytes});
  }
  return true;
}

void pack(Packer& p, const std::vector<DescribedTensor>& tensors) {
  p.u64(tensors.size());
  for (const DescribedTensor& tensor : tensors) {
    p.text(tensor.name);
    p.u8(static_cast<std::uint8_t>(tensor.type.dtype));
    p.u64(tensor.type.shape.size());
    for (const std::int64_t extent : tensor.type.shape) p.i64(extent);
  }
}
bool take_tensors(Unpacker& u, std::vector<DescribedTensor>& tensors) {
  for (std::size_t count = u.count(17); count > 0; --count) {
    DescribedTensor tensor;
    if (!take_model_text(u, tensor.name)) return false;
    tensor.type.dtype = static_cast<DType>(u.u8());
    const std::size_t rank = u.count(8);
    if (!u.ok() || tensor.type.dtype > DType::boolean || rank > kMostRank) return false;
    std::int64_t bytes = size_of(tensor.type.dtype);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t extent = u.i64();
      if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return false;
      tensor.type.shape.push_back(extent);
    }
    tensors.push_back(std::move(tensor));
  }
  return u.ok();
}

void pack(Packer& p, const DescribedModel& model) {
  for (const std::string* text : {&model.name, &model.target, &model.required_isa, &model.records, &model.compiler,
                                  &model.pool_note, &model.note})
    p.text(*text);
  p.u32(model.steps);
  p.u32(model.tuned_threads);
  p.i64(model.arena_bytes);
  p.i64(model.weights_bytes);
  p.f64(model.flops);
  p.f64(model.predicted_seconds);
  pack(p, model.inputs);
  pack(p, model.outputs);
  p.u32(model.threads);
  p.u64(model.cores.size());
  for (const std::uint32_t core : model.cores) p.u32(core);
}
bool take_model(Unpacker& u, DescribedModel& model) {
  for (std::string* text : {&model.name, &model.target, &model.required_isa, &model.records, &model.compiler,
                            &model.pool_note, &model.note})
    if (!take_model_text(u, *text)) return false;
  model.steps = u.u32();
  model.tuned_threads = u.u32();
  model.arena_bytes = u.i64();
  model.weights_bytes = u.i64();
  model.flops = u.f64();
  model.predicted_seconds = u.f64();
  if (!take_tensors(u, model.inputs) || !take_tensors(u, model.outputs)) return false;
  model.threads = u.u32();
  const std::size_t cores = u.count(4);
  if (cores > kMostPoolCores || (cores != 0 && cores != model.threads)) return false;
  for (std::size_t i = 0; i < cores; ++i) model.cores.push_back(u.u32());
  return u.ok();
}

void pack(Packer& p, const ModelProfile& profile) {
  for (const std::uint64_t number :
       {profile.runs, profile.min_ns, profile.total_ns, profile.copy_min_ns, profile.copy_total_ns})
    p.u64(number);
  p.u64(profile.steps.size());
  for (const ProfiledStep& step : profile.steps) {
    p.text(step.node);
    p.text(step.op);
    p.f64(step.flops);
    p.f64(step.bytes);
    p.f64(step.predicted_seconds);
    p.u64(step.min_ns);
    p.u64(step.total_ns);
    p.u8(step.parallel);
  }
}
bool take_profile(Unpacker& u, ModelProfile& profile) {
  for (std::uint64_t* number :
       {&profile.runs, &profile.min_ns, &profile.total_ns, &profile.copy_min_ns, &profile.copy_total_ns})
    *number = u.u64();
  for (std::size_t count = u.count(57); count > 0; --count) {
    ProfiledStep step;
    if (!take_model_text(u, step.node) || !take_model_text(u, step.op)) return false;
    step.flops = u.f64();
    step.bytes = u.f64();
    step.predicted_seconds = u.f64();
    step.min_ns = u.u64();
    step.total_ns = u.u64();
    step.parallel = u.u8() != 0;
    profile.steps.push_back(std::move(step));
  }
  return u.ok();
}

}  // namespace

std::string encode(const SessionNeed& need) {
  Packer p;
  pack(p, need.blobs);
  return p.take();
}
std::optional<SessionNeed> decode_session_need(std::string_view bytes) {
  Unpacker u(bytes);
  SessionNeed need;
  if (!take_blobs(u, need.blobs) || !u.done()) return std::nullopt;
  return need;
}

std::string encode(const SessionHave& have) {
  Packer p;
  p.text(have.refused);
  p.u64(have.bytes.size());
  for (const std::uint64_t bytes : have.bytes) p.u64(bytes);
  return p.take();
}
std::optional<SessionHave> decode_session_have(std::string_view bytes) {
  Unpacker u(bytes);
  SessionHave have;
  have.refused = u.text();
  for (std::size_t count = u.count(8); count > 0; --count) have.bytes.push_back(u.u64());
  if (!u.done() || !is_short_text(have.refused) || have.bytes.size() > kMostBlobs) return std::nullopt;
  return have;
}

std::string encode(const SessionBlob& blob) {
  Packer p;
  p.text(blob.hash);
  p.u64(blob.offset);
  p.text(blob.bytes);
  p.u64(blob.made);
  return p.take();
}
std::optional<SessionBlob> decode_session_blob(std::string_view bytes) {
  Unpacker u(bytes);
  SessionBlob blob;
  blob.hash = u.text();
  blob.offset = u.u64();
  blob.bytes = u.text();
  blob.made = u.u64();
  if (!u.done() || !is_sha256(blob.hash) || blob.bytes.size() + blob.made == 0 || blob.bytes.size() > kBlobPiece ||
      blob.made > kMadePiece)
    return std::nullopt;
  return blob;
}

std::string encode(const ModelOrder& order) {
  Packer p;
  p.f64(order.seconds);
  pack(p, order.models);
  pack(p, order.inputs);
  p.u32(order.threads);
  p.u64(order.cores.size());
  for (const std::uint32_t core : order.cores) p.u32(core);
  p.u8(order.pin);
  p.u8(order.map_weights);
  p.u8(static_cast<std::uint8_t>(order.work));
  p.f64(order.warmup_seconds);
  p.u32(order.warmup_runs);
  p.f64(order.timed_seconds);
  p.u32(order.runs);
  return p.take();
}
std::optional<ModelOrder> decode_model_order(std::string_view bytes) {
  Unpacker u(bytes);
  ModelOrder order;
  order.seconds = u.f64();
  if (!take_blobs(u, order.models) || !take_blobs(u, order.inputs)) return std::nullopt;
  order.threads = u.u32();
  const std::size_t cores = u.count(4);
  if (cores > kMostPoolCores) return std::nullopt;
  for (std::size_t i = 0; i < cores; ++i) order.cores.push_back(u.u32());
  order.pin = u.u8() != 0;
  order.map_weights = u.u8() != 0;
  order.work = static_cast<ModelWork>(u.u8());
  order.warmup_seconds = u.f64();
  order.warmup_runs = u.u32();
  order.timed_seconds = u.f64();
  order.runs = u.u32();
  const bool times_are_sane =
      is_session_time(order.seconds) && is_session_time(order.warmup_seconds) && is_session_time(order.timed_seconds);
  if (!u.done() || !times_are_sane || order.work > ModelWork::bursts) return std::nullopt;
  return order;
}

std::string encode(const ModelAnswer& answer) {
  Packer p;
  p.u8(static_cast<std::uint8_t>(answer.kind));
  switch (answer.kind) {
    case ModelAnswerKind::over:
      break;
    case ModelAnswerKind::failed:
      p.u32(static_cast<std::uint32_t>(answer.model));
      p.text(answer.sentence);
      break;
    case ModelAnswerKind::opened:
      p.u32(static_cast<std::uint32_t>(answer.model));
      pack(p, answer.opened);
      p.u64(answer.sandbox.size());
      for (const std::string& layer : answer.sandbox) p.text(layer);
      break;
    case ModelAnswerKind::outputs:
      p.u64(answer.outputs.size());
      for (const std::string& output : answer.outputs) p.text(output);
      break;
    case ModelAnswerKind::profile:
      pack(p, answer.profile);
      break;
    case ModelAnswerKind::burst:
      p.u32(static_cast<std::uint32_t>(answer.model));
      [[fallthrough]];
    case ModelAnswerKind::times:
      p.u64(answer.seconds.size());
      for (const double seconds : answer.seconds) p.f64(seconds);
      break;
  }
  return p.take();
}
std::optional<ModelAnswer> decode_model_answer(std::string_view bytes) {
  Unpacker u(bytes);
  ModelAnswer answer;
  answer.kind = static_cast<ModelAnswerKind>(u.u8());
  switch (answer.kind) {
    case ModelAnswerKind::over:
      break;
    case ModelAnswerKind::failed:
      answer.model = static_cast<std::int32_t>(u.u32());
      if (!take_model_text(u, answer.sentence)) return std::nullopt;
      break;
    case ModelAnswerKind::opened:
      answer.model = static_cast<std::int32_t>(u.u32());
      if (!take_model(u, answer.opened)) return std::nullopt;
      for (std::size_t count = u.count(8); count > 0; --count) {
        answer.sandbox.push_back(u.text());
        if (!is_short_text(answer.sandbox.back()) || answer.sandbox.size() > kMostLayers) return std::nullopt;
      }
      break;
    case ModelAnswerKind::outputs:
      for (std::size_t count = u.count(8); count > 0; --count) answer.outputs.push_back(u.text());
      break;
    case ModelAnswerKind::profile:
      if (!take_profile(u, answer.profile)) return std::nullopt;
      break;
    case ModelAnswerKind::burst:
      answer.model = static_cast<std::int32_t>(u.u32());
      [[fallthrough]];
    case ModelAnswerKind::times:
      for (std::size_t count = u.count(8); count > 0; --count) {
        answer.seconds.push_back(u.f64());
        if (!is_session_time(answer.seconds.back())) return std::nullopt;
      }
      if (answer.kind == ModelAnswerKind::burst && answer.seconds.size() != 2) return std::nullopt;
      break;
    default:
      return std::nullopt;
  }
  return u.done() ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace whet
