#include "target/target.h"

#include "base/nearest.h"
#include "target/kinds.h"

namespace whet {
namespace {

const TargetKind& kind_of(const Target& target) {
  const TargetKind* kind = row_of(target_kinds(), target);
  WHET_CHECK(kind != nullptr, "a target of a kind that is in no table");
  return *kind;
}

/// "cpu", "cpu or cuda"
std::string known_kinds() {
  std::string names;
  for (const TargetKind& known : target_kinds()) names += (names.empty() ? "" : " or ") + std::string(known.kind);
  return names;
}

}  // namespace

std::vector<std::string_view> split_text(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view Target::kind() const {
  if (const PlainTarget* plain = std::get_if<PlainTarget>(&machine)) return plain->kind;
  return is_gpu() ? "cuda" : "cpu";
}

std::string to_string(const Target& target) { return kind_of(target).text(target); }

Result<Target> parse_target(std::string_view text) {
  std::vector<std::string_view> words = split_text(text, ' ');
  std::erase(words, std::string_view());
  const std::string example = in_quotes(target_kinds().front().example);
  if (words.empty()) return Error{"target: the text is empty; expected something like " + example};
  for (const TargetKind& known : target_kinds())
    if (known.kind == words.front()) return known.parse(std::span<const std::string_view>(words).subspan(1));
  if (words.front() == "llvm")  // TVM's word
    return Error{"target: kind is \"llvm\", which is cpu here; write " +
                 in_quotes("cpu" + std::string(text.substr(text.find("llvm") + 4)))};
  return Error{"target: kind is " + in_quotes(words.front()) + "; expected " + known_kinds() + ", as in " + example};
}

std::optional<TargetDistance> target_distance(const Target& has, const Target& want) {
  if (has.kind() != want.kind()) return std::nullopt;
  return kind_of(has).distance(has, want);
}

std::vector<std::string> target_differences(const Target& has, const Target& want) {
  return kind_of(has).differences(has, want);
}

std::int64_t last_cache_bytes(const Target& target) { return kind_of(target).cache_bytes(target); }

Target for_ranges(Target target) {
  if (target.is_cpu()) target.cpu().bf16_tiles = target.cpu().byte_tiles = false;
  return target;
}

}  // namespace whet
