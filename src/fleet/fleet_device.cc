#include "fleet/fleet_device.h"

#include <algorithm>
#include <utility>

#include "artifact/code_format.h"
#include "device/remote/session_jobs.h"
#include "trial/outcome.h"

namespace whet {
namespace {

/// Units that may be lost over one request before its kernel is blamed.
constexpr int kUnitsToLose = 2;
/// Of a job's message beside the session's job.
constexpr std::size_t kJobHeader = 1024;

/// Of a job: as many as take a device about half a second.
constexpr int kCandidatesOfJob = 16;
/// How often the broker gets one file for one order: it forgets the oldest where many are sent at once.
constexpr int kMostKept = 3;
/// A unit: one runs, and one is in the queue when it ends.
constexpr int kJobsOfUnit = 2;

/// The requests of a job that have no answer yet, as a job.
struct JobPart {
  SessionJob job;
  std::vector<std::size_t> numbers;  ///< of its items in the whole job
};

JobPart unanswered(const SessionJob& whole, const SessionItems& items, bool champion) {
  JobPart part{{whole.kernel_seconds, {}, champion}, {}};
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    if (items[i]) continue;
    part.numbers.push_back(i);
    part.job.requests.push_back(whole.requests[i]);
  }
  part.numbers.push_back(whole.requests.size());  // the champion's second
  return part;
}

/// What of an answer fits the part: it goes to its places, and is given by its numbers in the part.
std::vector<const SessionItem*> take_items(const FleetAnswer& answer, const JobPart& part, SessionItems& items) {
  std::vector<const SessionItem*> taken(part.job.items());
  for (const std::string& bytes : answer.items) {
    auto item = decode<SessionItem>(bytes);
    if (!item || item->number >= part.job.items()) continue;
    auto& place = items[part.numbers[item->number]];
    if (place || item->reply.index() != part.job.request(item->number).index()) continue;
    const std::uint32_t number = item->number;
    place = std::move(*item);
    if (auto* reply = std::get_if<MeasureReply>(&place->reply)) reply->conditions.unit = answer.device;
    taken[number] = &*place;
  }
  return taken;
}

/// The first request without an answer; as many as there are requests where all have one. A champion's second time is not
/// worth another attempt.
std::size_t first_unanswered(const SessionJob& job, const SessionItems& items) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(job.requests.size());
  return static_cast<std::size_t>(std::find_if(items.begin(), end, [](const auto& item) { return !item; }) -
                                  items.begin());
}

}  // namespace

FleetDevice::FleetDevice(FleetDeviceOptions options, const DeviceDescription& unit, const Target& target)
    : options_(std::move(options)),
      address_("fleet:" + options_.key),
      unit_(unit),
      most_bytes_(std::min<std::uint64_t>(unit.limits.message_bytes, kMostJobBytes - kJobHeader)) {
  unit_.name = address_;
  // The times of an emulator are no device's: records are marked as they are of the emulated device.
  info_.name = unit.emulator.empty() ? address_ : std::string(kEmulatedDevice);
  info_.memory = unit.memory_bytes;
  info_.beside_builders = options_.beside_builders;
  info_.job_candidates = std::clamp(static_cast<int>(unit.limits.kernels) - 1, 1, kCandidatesOfJob);
  info_.jobs_at_once = kJobsOfUnit;
  info_.target = target;
  info_.code = code_format(target);
}

FleetDevice::Answers FleetDevice::ask(const SessionJob& job) {
  Answers answers;
  answers.items.resize(job.items());
  std::vector<int> units_lost(job.items());
  std::vector<bool> blamed(job.items());
  while (first_unanswered(job, answers.items) < job.requests.size()) {
    const JobPart part = unanswered(job, answers.items, job.champion && !blamed[0]);
    const std::string bytes = encode(part.job);
    if (bytes.size() > most_bytes_)
      return {
          std::move(answers.items), OutcomeCode::rejected,
          "the request has " + std::to_string(bytes.size()) + " bytes; the fleet takes " + std::to_string(most_bytes_)};
    const auto answer =
        options_.queue->run(options_.key, options_.priority, FleetJob::Kind::kernels, bytes, options_.interrupted);
    if (!answer.ok()) return {std::move(answers.items), OutcomeCode::device_lost, answer.error().message};
    options_.tally->count(*answer, part.job, take_items(*answer, part, answers.items));
    const std::size_t first = first_unanswered(job, answers.items);
    if (first == job.requests.size()) break;
    if (answer->kind == FleetAnswer::Kind::refused)
      return {std::move(answers.items), OutcomeCode::device_lost, answer->unit + " refuses: " + answer->message};
    const std::string why =
        answer->kind == FleetAnswer::Kind::lost ? answer->message : "a unit gave a job back without an answer";
    const auto started = static_cast<std::size_t>(std::max(answer->started, 0));
    const bool knows =
        answer->started >= 0 && started < part.job.requests.size() && !answers.items[part.numbers[started]];
    const std::size_t culprit = knows ? part.numbers[started] : first;
    if (++units_lost[culprit] >= kUnitsToLose) {
      answers.items[culprit] = crashed_item(job.request(culprit), culprit, "two units were lost while it ran: " + why);
      blamed[culprit] = true;
    }
    // Another unit runs what is left: the times beside its champion's must be its own.
    for (std::size_t i = 0; job.champion && i < answers.items.size(); ++i)
      if (!blamed[i]) answers.items[i].reset();
  }
  return answers;
}

MeasureReply FleetDevice::measure(const MeasureRequest& request) { return std::move(run({{request}}).replies[0]); }

JobReply FleetDevice::run(const MeasureJob& job) {
  Answers answers = ask(session_job(job, options_.run_timeout));
  return {measure_replies(std::move(answers.items), answers.code, answers.why)};
}

CheckReply FleetDevice::check(const CheckRequest& request) {
  Answers answers = ask({options_.run_timeout, {request}});
  return check_reply(std::move(answers.items), answers.code, answers.why);
}

SpotsReply FleetDevice::check_spots(const SpotsRequest& request) {
  Answers answers = ask({options_.run_timeout, {request}});
  return spots_reply(std::move(answers.items), answers.code, answers.why);
}

Result<std::vector<ModelTimes>> FleetDevice::time_models(const std::vector<ModelLibrary>& files, const ModelRun& run) {
  if (files.empty()) return std::vector<ModelTimes>{};
  return time_on(*this, files, run);
}

Status FleetDevice::keep_file(const BlobSource& source) {
  const std::uint64_t bytes = source.name.bytes;
  std::uint64_t sent = 0;
  for (std::uint32_t piece = 0; piece < file_pieces(bytes); ++piece) {
    const std::uint64_t offset = piece * std::uint64_t{kFilePieceBytes};
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kFilePieceBytes, bytes - offset));
    const std::string content = read_blob(source, offset, size);
    if (content.size() != size) return Error{source.path + ": it was changed while it was sent"};
    const std::string message = encode_file_piece(content);
    sent += message.size();
    if (sent > kMostCarriedMessages)
      return Error{source.path + ": a fleet carries " + std::to_string(kMostCarriedMessages >> 20) +
                   " MiB of a file; the compiled model has more (--weights seed makes a small one that is only timed)"};
    WHET_RETURN_IF_ERROR(options_.queue->keep(source.name.hash, piece, message, options_.interrupted));
  }
  return ok_status();
}

Status FleetDevice::keep_lacking(const FleetAnswer& answer, const std::vector<BlobSource>& sources,
                                 std::map<std::string, int>& kept) {
  for (const std::string& hash : answer.items) {
    const auto source = std::ranges::find(sources, hash, [](const BlobSource& s) { return s.name.hash; });
    if (source == sources.end()) return Error{answer.unit + " lacks a file that it was not told of"};
    if (++kept[hash] > kMostKept)
      return Error{"the broker does not keep the files of compiled models until a unit has them"};
    WHET_RETURN_IF_ERROR(keep_file(*source));
  }
  return answer.items.empty() ? Status(Error{answer.unit + " does not say which file it lacks"}) : ok_status();
}

Result<std::vector<ModelAnswer>> FleetDevice::run_models(const std::vector<ModelLibrary>& files,
                                                         const std::vector<Tensor>& inputs, ModelOrder order) {
  const std::lock_guard<std::mutex> lock(models_);
  WHET_TRY(const std::vector<BlobSource> sources, files_.name(*this, files, inputs));
  for (const BlobSource& source : sources)
    if (source.name.bytes > kMostCarriedBytes)
      return Error{(source.path.empty() ? address_ + ": an input" : source.path) + " has " +
                   std::to_string(source.name.bytes >> 20) + " MiB; a fleet carries files of " +
                   std::to_string(kMostCarriedBytes >> 20) + " MiB at most"};
  order.seconds = options_.model_timeout;
  name_in(order, sources, files.size());
  const std::string bytes = encode(order);
  std::map<std::string, int> kept;
  std::string why;
  for (int lost = 0; lost < kUnitsToLose;) {
    const auto answer =
        options_.queue->run(options_.key, options_.priority, FleetJob::Kind::models, bytes, options_.interrupted);
    if (!answer.ok()) return answer.error().at(address_);
    if (answer->kind == FleetAnswer::Kind::lacks) {
      if (const Status sent = keep_lacking(*answer, sources, kept); !sent.ok()) return sent.error().at(address_);
      continue;
    }
    options_.tally->count(*answer, {}, {});
    if (answer->kind == FleetAnswer::Kind::refused)
      return Error{address_ + ": " + answer->unit + " refuses: " + answer->message};
    if (answer->kind == FleetAnswer::Kind::done) {
      std::vector<ModelAnswer> answers;
      for (const std::string& item : answer->items) {
        auto decoded = decode<ModelAnswer>(item);
        if (!decoded) return Error{address_ + ": what " + answer->unit + " says of compiled models makes no sense"};
        answers.push_back(std::move(*decoded));
      }
      return without_failure(*this, files, std::move(answers));
    }
    why = answer->message;
    ++lost;
  }
  return Error{address_ + ": two units were lost over a compiled model: " + why, ErrorKind::io};
}

}  // namespace whet
