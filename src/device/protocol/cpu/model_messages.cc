#include "device/protocol/cpu/model_messages.h"

#include <algorithm>

#include "base/sha256.h"
#include "device/protocol/bounds.h"
#include "runner/messages.h"

namespace whet {
namespace {

/// Texts of a model: names of nodes that fusion has joined are long.
constexpr std::size_t kMostModelText = 16384;
constexpr std::size_t kMostRank = 64, kMostPoolCores = 1024, kMostLayers = 64;

/// What a terminal would act on becomes '?'. Letters of all languages stay.
bool mend_model_text(std::string& text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return text.size() <= kMostModelText;
}
/// Sums of files do not overflow.
bool is_file_size(std::uint64_t bytes) { return bytes <= std::uint64_t{1} << 50; }
bool is_piece(const SessionBlob& blob) {
  return blob.bytes.size() + blob.made != 0 && blob.bytes.size() <= kBlobPiece && blob.made <= kMadePiece;
}
bool has_a_size(const TensorType& type) {
  std::int64_t bytes = size_of(type.dtype);
  return std::ranges::none_of(
      type.shape, [&](std::int64_t extent) { return extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes); });
}
bool are_on_cores(const DescribedModel& model) { return model.cores.empty() || model.cores.size() == model.threads; }
bool are_layers(const ModelAnswer& answer) { return std::ranges::all_of(answer.sandbox, is_short_text); }
bool are_times(const std::vector<double>& seconds) { return std::ranges::all_of(seconds, is_session_time); }
bool is_burst(const ModelAnswer& answer) { return answer.seconds.size() == 2; }

/// What an answer has behind its kind.
struct FieldsOfKind {
  static void write(Packer& p, const ModelAnswer& answer) {
    of(answer.kind, [&](auto fields) { fields.write(p, answer); });
  }
  static void read(Unpacker& u, ModelAnswer& answer) {
    of(answer.kind, [&](auto fields) { fields.read(u, answer); });
  }

 private:
  template <typename Take>
  static void of(ModelAnswerKind kind, const Take& take) {
    constexpr auto times = where<are_times, &ModelAnswer::seconds>;
    switch (kind) {
      case ModelAnswerKind::over:
        return;
      case ModelAnswerKind::failed:
        return take(row<&ModelAnswer::model, where<mend_model_text, &ModelAnswer::sentence>>);
      case ModelAnswerKind::opened:
        return take(
            row<&ModelAnswer::model, &ModelAnswer::opened, at_most<kMostLayers, &ModelAnswer::sandbox>, are_layers>);
      case ModelAnswerKind::outputs:
        return take(row<&ModelAnswer::outputs>);
      case ModelAnswerKind::profile:
        return take(row<&ModelAnswer::profile>);
      case ModelAnswerKind::burst:
        return take(row<&ModelAnswer::model, times, is_burst>);
      case ModelAnswerKind::times:
        return take(times);
    }
  }
};

}  // namespace

template <>
constexpr auto kLast<ModelAnswerKind> = ModelAnswerKind::burst;

template <>
constexpr auto kRow<BlobName> = row<where<is_sha256, &BlobName::hash>, where<is_file_size, &BlobName::bytes>>;
template <>
constexpr auto kRow<SessionNeed> = row<at_most<kMostBlobs, &SessionNeed::blobs>>;
template <>
constexpr auto kRow<SessionHave> =
    row<where<is_short_text, &SessionHave::refused>, at_most<kMostBlobs, &SessionHave::bytes>>;
template <>
constexpr auto kRow<SessionBlob> =
    row<where<is_sha256, &SessionBlob::hash>, &SessionBlob::offset, &SessionBlob::bytes, &SessionBlob::made, is_piece>;
template <>
constexpr auto kRow<ModelOrder> =
    row<where<is_session_time, &ModelOrder::seconds>, at_most<kMostBlobs, &ModelOrder::models>,
        at_most<kMostBlobs, &ModelOrder::inputs>, &ModelOrder::threads, at_most<kMostPoolCores, &ModelOrder::cores>,
        &ModelOrder::pin, &ModelOrder::map_weights, &ModelOrder::work,
        where<is_session_time, &ModelOrder::warmup_seconds>, &ModelOrder::warmup_runs,
        where<is_session_time, &ModelOrder::timed_seconds>, &ModelOrder::runs>;
template <>
constexpr auto kRow<TensorType> = row<&TensorType::dtype, at_most<kMostRank, &TensorType::shape>, has_a_size>;
template <>
constexpr auto kRow<DescribedTensor> = row<where<mend_model_text, &DescribedTensor::name>, &DescribedTensor::type>;
template <>
constexpr auto kRow<DescribedModel> =
    row<where<mend_model_text, &DescribedModel::name, &DescribedModel::target, &DescribedModel::required_isa,
              &DescribedModel::records, &DescribedModel::compiler, &DescribedModel::pool_note, &DescribedModel::note>,
        &DescribedModel::steps, &DescribedModel::tuned_threads, &DescribedModel::arena_bytes,
        &DescribedModel::weights_bytes, &DescribedModel::flops, &DescribedModel::predicted_seconds,
        &DescribedModel::inputs, &DescribedModel::outputs, &DescribedModel::threads,
        at_most<kMostPoolCores, &DescribedModel::cores>, are_on_cores>;
template <>
constexpr auto kRow<ProfiledStep> =
    row<where<mend_model_text, &ProfiledStep::node, &ProfiledStep::op>, &ProfiledStep::flops, &ProfiledStep::bytes,
        &ProfiledStep::predicted_seconds, &ProfiledStep::min_ns, &ProfiledStep::total_ns, &ProfiledStep::parallel>;
template <>
constexpr auto kRow<ModelProfile> = row<&ModelProfile::runs, &ModelProfile::min_ns, &ModelProfile::total_ns,
                                        &ModelProfile::copy_min_ns, &ModelProfile::copy_total_ns, &ModelProfile::steps>;
template <>
constexpr auto kRow<ModelAnswer> = row<&ModelAnswer::kind, FieldsOfKind{}>;

template struct Codec<SessionNeed>;
template struct Codec<SessionHave>;
template struct Codec<SessionBlob>;
template struct Codec<ModelOrder>;
template struct Codec<ModelAnswer>;

}  // namespace whet
