// The payload of a frame: no message, or one that encodes and decodes as the same. The first byte chooses the message.

#include "fuzz.h"
#include "runner/messages.h"

using namespace whet;

namespace {

template <typename Message>
void there_and_back(std::optional<Message> (*decode)(std::string_view), std::string_view bytes) {
  const auto message = decode(bytes);
  if (!message) return;
  const std::string encoded = encode(*message);
  fuzz::require(encoded.size() == bytes.size(), "a message takes the bytes it was read from");
  const auto again = decode(encoded);
  fuzz::require(again.has_value() && encode(*again) == encoded, "an encoded message is decoded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      there_and_back(decode<MeasureRequest>, bytes);
      break;
    case 1:
      there_and_back(decode<MeasureReply>, bytes);
      break;
    case 2:
      there_and_back(decode<CheckRequest>, bytes);
      break;
    case 3:
      there_and_back(decode<CheckReply>, bytes);
      break;
    case 4:
      there_and_back(decode<KernelJob>, bytes);
      break;
  }
  return 0;
}
