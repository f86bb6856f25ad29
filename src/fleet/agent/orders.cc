#include "fleet/agent/orders.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/version.h"
#include "device/protocol/bounds.h"
#include "fleet/names.h"

namespace whet {
namespace {

/// The longest wait for an answer that an order may ask for, and the longest order [s].
constexpr double kMostOrderSilence = 600, kMostOrderSeconds = 3600;
/// A broker that gives no piece of a file for so long is away [s].
constexpr double kFilePatience = 20;
constexpr auto kFileNap = std::chrono::milliseconds(100);

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A file as the broker has it.
class KeptFile {
 public:
  KeptFile(NatsConnection& nats, RemoteSession& session, const std::string& user, BlobName name,
           const std::function<bool()>& stops)
      : nats_(nats), session_(session), user_(user), name_(std::move(name)), stops_(stops) {}

  /// Fewer bytes where the broker lacks a piece, or does not give it.
  std::string read(std::uint64_t offset, std::size_t bytes) {
    std::string text;
    while (text.size() < bytes && offset < name_.bytes) {
      const auto number = static_cast<std::uint32_t>(offset / kFilePieceBytes);
      if (!load(number)) break;
      const std::string part = piece_.substr(static_cast<std::size_t>(offset % kFilePieceBytes), bytes - text.size());
      text += part;
      offset += part.size();
    }
    return text;
  }
  const BlobName& name() const { return name_; }
  bool is_lacking() const { return lacking_; }
  /// Why the broker does not give it; "" where it does, or lacks it.
  const std::string& why() const { return why_; }

 private:
  bool load(std::uint32_t number) {
    if (number_ == number) return true;
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
      const auto stored = nats_.last(file_stream(user_), file_subject(user_, name_.hash, number));
      if (stored.ok()) return *stored ? accept(number, (*stored)->bytes) : !(lacking_ = true);
      if (stored.error().kind != ErrorKind::io || seconds_from(start) > kFilePatience)
        return why_ = stored.error().message, false;
      // The device hears of this end meanwhile.
      if (stops_() || !session_.keep_alive()) return false;
      std::this_thread::sleep_for(kFileNap);
    }
  }
  bool accept(std::uint32_t number, const std::string& message) {
    const std::uint64_t left = name_.bytes - number * std::uint64_t{kFilePieceBytes};
    auto piece = decode_file_piece(message, static_cast<std::size_t>(std::min<std::uint64_t>(left, kFilePieceBytes)));
    if (!piece) return !(lacking_ = true);
    piece_ = std::move(*piece);
    number_ = number;
    return true;
  }

  NatsConnection& nats_;
  RemoteSession& session_;
  const std::string& user_;
  BlobName name_;
  const std::function<bool()>& stops_;
  std::optional<std::uint32_t> number_;  ///< of `piece_`
  std::string piece_;
  bool lacking_ = false;
  std::string why_;
};

std::string why_order_refused(const std::optional<ModelOrder>& order) {
  if (!order || order->models.empty()) return "the order makes no sense to whet-agent " + version();
  if (!(order->seconds > 0) || order->seconds > kMostOrderSilence)
    return "an order may take " + std::to_string(static_cast<int>(kMostOrderSilence)) + " s without an answer at most";
  for (const std::vector<BlobName>* blobs : {&order->models, &order->inputs})
    for (const BlobName& blob : *blobs)
      if (blob.bytes > kMostCarriedBytes)
        return "a fleet carries files of " + std::to_string(kMostCarriedBytes >> 20) + " MiB at most";
  return "";
}

std::vector<std::shared_ptr<KeptFile>> files_of(const ModelOrder& order, NatsConnection& nats, RemoteSession& session,
                                                const std::string& user, const std::function<bool()>& stops) {
  std::vector<std::shared_ptr<KeptFile>> files;
  for (const std::vector<BlobName>* blobs : {&order.models, &order.inputs})
    for (const BlobName& blob : *blobs)
      if (std::ranges::none_of(files, [&](const auto& file) { return file->name().hash == blob.hash; }))
        files.push_back(std::make_shared<KeptFile>(nats, session, user, blob, stops));
  return files;
}

/// What the end of bringing files means, where they are not there.
FleetAnswer answer_without_files(const OrderEnd& end, const std::vector<std::shared_ptr<KeptFile>>& files) {
  FleetAnswer answer;
  answer.message = printable(end.message);
  answer.kind = end.kind == OrderEnd::Kind::lost ? FleetAnswer::Kind::lost : FleetAnswer::Kind::refused;
  for (const auto& file : files) {
    if (end.kind != OrderEnd::Kind::lost && file->is_lacking()) {
      answer.kind = FleetAnswer::Kind::lacks;
      answer.items.push_back(file->name().hash);
    } else if (!file->why().empty()) {
      answer.message = printable(
          "the broker gives no files of compiled models (whet-agent --setup, and --join SETUP, "
          "of this version prepare it for them): " +
          file->why());
    }
  }
  return answer;
}

}  // namespace

ServedOrder serve_order(NatsConnection& nats, RemoteSession& session, const std::string& user, const std::string& bytes,
                        const std::function<bool()>& stops) {
  ServedOrder served;
  const auto order = decode<ModelOrder>(bytes);
  served.answer.message = why_order_refused(order);
  if (!served.answer.message.empty()) return served.answer.kind = FleetAnswer::Kind::refused, served;
  const auto start = std::chrono::steady_clock::now();
  bool asked = false, too_long = false;
  const std::function<bool()> ends = [&] {
    too_long = too_long || seconds_from(start) > kMostOrderSeconds;
    return asked = asked || stops(), asked || too_long;
  };
  const auto files = files_of(*order, nats, session, user, ends);
  std::vector<BlobSource> sources;
  for (const auto& file : files)
    sources.push_back({file->name(), "", {}, [file](std::uint64_t at, std::size_t n) { return file->read(at, n); }});
  OrderEnd end = bring_blobs(session, sources, ends);
  if (end.kind == OrderEnd::Kind::done) {
    end = carry_out(session, *order, ends);
    for (const ModelAnswer& each : end.answers) served.answer.items.push_back(encode(each));
    // The next job finds the device without them.
    if (end.kind == OrderEnd::Kind::done) carry_out(session, {}, stops);
  } else if (!asked && !too_long) {
    return served.answer = answer_without_files(end, files), served;
  }
  served.interrupted = asked;
  if (!asked && too_long) {
    served.answer.kind = FleetAnswer::Kind::refused;
    served.answer.message = "the order took more than an hour";
  } else if (end.kind == OrderEnd::Kind::lost) {
    served.answer.kind = FleetAnswer::Kind::lost;
    served.answer.message = printable(end.message);
  }
  return served;
}

}  // namespace whet
