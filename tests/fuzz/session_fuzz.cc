// What one end of a device session gets. The first byte chooses: a stream of frames, or the payload of a message of that type.

#include "device/protocol/cpu/model_messages.h"
#include "device/protocol/messages.h"
#include "fuzz.h"

using namespace whet;

namespace {

constexpr std::size_t kMostOfMessage = std::size_t{1} << 20;

void read_stream(std::string_view bytes) {
  SessionReader reader(kMostOfMessage);
  // In two pieces, cut somewhere.
  const std::size_t cut = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.back()) % bytes.size();
  for (const std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    reader.add(piece);
    while (const auto message = reader.next()) {
      fuzz::require(message->payload.size() <= kMostOfMessage, "a message is as long as is allowed at most");
      SessionReader again(kMostOfMessage);
      again.add(frames_of(*message, 100));
      const auto same = again.next();
      fuzz::require(same && same->type == message->type && same->payload == message->payload,
                    "a message comes as it was sent");
    }
  }
  if (!reader.error().empty()) fuzz::require_sentence(reader.error());
}

template <typename Message>
void reads_back(const std::optional<Message>& message, std::optional<Message> (*decode)(std::string_view)) {
  if (!message) return;
  const std::string encoded = encode(*message);
  const auto again = decode(encoded);
  fuzz::require(again && encode(*again) == encoded, "an encoded message is decoded");
}

std::optional<SessionJob> decode_job(std::string_view bytes) { return decode_session_job(bytes, 16); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  switch (static_cast<SessionType>(data[0])) {
    case SessionType::hello:
      reads_back(decode<SessionHello>(bytes), decode<SessionHello>);
      break;
    case SessionType::open:
      reads_back(decode<SessionOpen>(bytes), decode<SessionOpen>);
      break;
    case SessionType::job:
      reads_back(decode_job(bytes), decode_job);
      break;
    case SessionType::item:
      reads_back(decode<SessionItem>(bytes), decode<SessionItem>);
      break;
    case SessionType::waiting:
      reads_back(decode<SessionWaiting>(bytes), decode<SessionWaiting>);
      break;
    case SessionType::need:
      reads_back(decode<SessionNeed>(bytes), decode<SessionNeed>);
      break;
    case SessionType::have:
      reads_back(decode<SessionHave>(bytes), decode<SessionHave>);
      break;
    case SessionType::blob:
      reads_back(decode<SessionBlob>(bytes), decode<SessionBlob>);
      break;
    case SessionType::order:
      reads_back(decode<ModelOrder>(bytes), decode<ModelOrder>);
      break;
    case SessionType::answer:
      reads_back(decode<ModelAnswer>(bytes), decode<ModelAnswer>);
      break;
    case SessionType::pong:
      reads_back(decode<DeviceDescription>(bytes), decode<DeviceDescription>);
      break;
    default:
      read_stream(bytes);
  }
  return 0;
}
