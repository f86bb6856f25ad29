#include "workflow/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "tensor_files/file.h"

namespace whet {
namespace {

constexpr std::uint64_t kMostBytesOfLengths = 64 << 20;
/// Of one line: all together are far from overflow.
constexpr std::int64_t kMostRequests = 1'000'000'000;
/// Of a line that is shown in a message.
constexpr std::size_t kShown = 40;

std::optional<std::int64_t> positive(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole && value >= 1 && value <= most ? std::optional(value) : std::nullopt;
}

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

/// "24 3"; nothing where it is something else.
std::optional<RequestCount> parse_line(std::string_view line, std::size_t sizes) {
  const std::size_t space = line.find_first_of(" \t");
  auto values = parse_values(line.substr(0, space), sizes);
  if (!values) return {};
  RequestCount request{std::move(*values)};
  if (space == std::string_view::npos) return request;
  const auto count = positive(without_space(line.substr(space)), kMostRequests);
  if (!count) return {};
  request.count = *count;
  return request;
}

/// "24 or 24 3", "2x128 or 2x128 3"
std::string examples(std::size_t sizes) {
  std::string values = "24";
  for (std::size_t k = 1; k < sizes; ++k) values = "2x" + values;
  return fmt::format("{0} or {0} 3", values);
}

bool is_of(const WantedSize& size, std::int64_t value) {
  if (!size.listed.empty()) return std::ranges::binary_search(size.listed, value);
  return value >= size.range.min && value <= size.range.max && (value - size.range.min) % size.range.step == 0;
}

}  // namespace

std::optional<SizeValues> parse_values(std::string_view text, std::size_t sizes) {
  SizeValues values;
  while (values.size() < sizes) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const auto value = positive(text.substr(0, end), kLargestSize);
    if (!value) return {};
    values.push_back(*value);
    if (end == text.size()) return values.size() == sizes ? std::optional(std::move(values)) : std::nullopt;
    text.remove_prefix(end + 1);
  }
  return {};
}

Status check_has(const std::vector<WantedSize>& sizes, const SizeValues& values) {
  for (std::size_t k = 0; k < sizes.size(); ++k)
    if (!is_of(sizes[k], values[k]))
      return Error{fmt::format("{0} is {1}; {0} is {2}", sizes[k].name, values[k], to_text(sizes[k])),
                   ErrorKind::wrong_use};
  return ok_status();
}

Result<std::vector<RequestCount>> parse_lengths(std::string_view text, const std::string& file,
                                                const std::vector<WantedSize>& sizes) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // of a file that an editor wrote
  std::map<SizeValues, std::int64_t> counts;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = without_space(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const auto request = parse_line(line, sizes.size());
    if (!request)
      return Error{
          fmt::format("{}, line {}: \"{}\" is no request; expected a size and perhaps how many had it, like {}", file,
                      number, line.substr(0, kShown), examples(sizes.size()))};
    if (const Status fits = check_has(sizes, request->at); !fits.ok())
      return Error{fmt::format("{}, line {}: {}", file, number, fits.error().message)};
    counts[request->at] += request->count;
  }
  if (counts.empty())
    return Error{fmt::format("{}: has no request; expected a size a line, like {}", file, examples(sizes.size()))};
  std::vector<RequestCount> requests;
  for (const auto& [at, count] : counts) requests.push_back({at, count});
  return requests;
}

Result<std::vector<RequestCount>> read_lengths(const std::string& path, const std::vector<WantedSize>& sizes) {
  WHET_TRY(const std::uint64_t bytes, file_size(path));
  if (bytes > kMostBytesOfLengths)
    return Error{fmt::format("{}: has {} bytes; a file of requests has {} at most: give a line a size, with its count",
                             path, bytes, kMostBytesOfLengths),
                 ErrorKind::limit};
  WHET_TRY(const std::string text, read_file(path));
  return parse_lengths(text, path, sizes);
}

}  // namespace whet
