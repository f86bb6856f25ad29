// What comes from a fleet's broker, and the file that lets a user in. The first byte chooses.

#include "fleet/access.h"
#include "fleet/messages.h"
#include "fleet/names.h"
#include "fuzz.h"

using namespace whet;

namespace {

template <typename Message>
void reads_back(const std::optional<Message>& message, std::string_view bytes) {
  if (message) fuzz::require(encode(*message) == bytes, "a message that is read is written alike");
}

void read_subject(std::string_view subject) {
  if (const auto job = parse_job_subject(subject)) fuzz::require(job_subject(*job) == subject, "a job has one name");
  if (const auto unit = parse_unit_subject(subject))
    fuzz::require(unit_subject(*unit) == subject, "a unit has one name");
  const FleetSession ann{"ann", "0123abcd"};
  if (const auto part = parse_answer_subject(subject, ann))
    fuzz::require(answer_subject(ann, part->number, part->part) == subject, "a part has one name");
  if (const auto number = parse_note_subject(subject, ann))
    fuzz::require(note_subject(ann, *number) == subject, "a note has one name");
  if (const auto user = user_of_job_stream(subject))
    fuzz::require(job_stream(*user) == subject, "a stream has one name");
  if (const auto key = key_of_queue(subject))
    fuzz::require(subject == queue_name(*key, Priority::high) || subject == queue_name(*key, Priority::low),
                  "a queue is urgent or not");
  if (const auto key = key_of_subject(subject)) fuzz::require(is_fleet_word(*key), "a key is a word");
}

void read_access(std::string_view text) {
  const auto access = parse_fleet_access(text);
  if (!access.ok()) return fuzz::require_sentence(access.error().message);
  const auto again = parse_fleet_access(to_text(*access));
  fuzz::require(again.ok() && to_text(*again) == to_text(*access), "a file that is read is written alike");
}

/// A piece of a file of any size.
void read_piece(std::string_view bytes) {
  for (const std::size_t size : {std::size_t{0}, bytes.size(), std::size_t{20000}, kFilePieceBytes}) {
    const auto piece = decode_file_piece(bytes, size);
    if (piece)
      fuzz::require(decode_file_piece(encode_file_piece(*piece), size) == piece, "a piece is written and read");
  }
}

/// Parts of two bytes of head each: their number, and how long they are.
void read_parts(std::string_view bytes) {
  AnswerParts parts;
  while (bytes.size() > 2) {
    const std::size_t length = static_cast<unsigned char>(bytes[1]);
    if (const auto answer = parts.add(static_cast<unsigned char>(bytes[0]), bytes.substr(2, length)))
      fuzz::require(decode<FleetAnswer>(encode(*answer)).has_value(), "an answer that is whole is one");
    fuzz::require(parts.parts() <= kMostAnswerParts, "an answer is as long as is allowed at most");
    bytes.remove_prefix(std::min(bytes.size(), 2 + length));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::text_of(data + 1, size - 1);
  switch (data[0]) {
    case 'j':
      reads_back(decode<FleetJob>(bytes), bytes);
      break;
    case 'a':
      reads_back(decode<FleetAnswer>(bytes), bytes);
      break;
    case 'p':
      reads_back(decode<FleetPart>(bytes), bytes);
      break;
    case 'u':
      if (const auto presence = decode<Presence>(bytes))
        fuzz::require(decode<Presence>(encode(*presence)).has_value(), "an encoded presence is decoded");
      break;
    case 'm':
      read_piece(bytes);
      break;
    case 's':
      read_subject(bytes);
      break;
    case 'f':
      read_access(bytes);
      break;
    default:
      read_parts(bytes);
  }
  return 0;
}
