#include "workflow/tuning_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/counted.h"

namespace whet {
namespace {

constexpr std::size_t kTypical = 4;
constexpr double kRequests = 100;
/// Each is tuned for itself.
constexpr std::size_t kMostTuningSizes = 64;
/// Points of even requests, over all sizes.
constexpr int kEvenPoints = 64;

double product_of(const SizeValues& values) {
  return std::accumulate(values.begin(), values.end(), 1.0,
                         [](double product, std::int64_t value) { return product * static_cast<double>(value); });
}

/// The value of a range that is nearest to x.
std::int64_t nearest_in(const SizeRange& range, double x) {
  const double steps = std::round((x - static_cast<double>(range.min)) / static_cast<double>(range.step));
  return range.min + std::clamp<std::int64_t>(static_cast<std::int64_t>(steps), 0, count_of(range) - 1) * range.step;
}

/// `count` values of a range, at equal distances of the logarithm, small ones more than once; of a list all.
std::vector<std::int64_t> even_values(const WantedSize& size, int count) {
  if (!size.listed.empty()) return size.listed;
  std::vector<std::int64_t> values;
  const double low = std::log(static_cast<double>(size.range.min)),
               high = std::log(static_cast<double>(size.range.max));
  for (int i = 0; i < count; ++i)
    values.push_back(nearest_in(size.range, std::exp(low + (high - low) * i / (count - 1))));
  return values;
}

std::vector<SizeValues> combinations_of(const std::vector<std::vector<std::int64_t>>& values) {
  std::vector<SizeValues> all = {{}};
  for (const std::vector<std::int64_t>& of_size : values) {
    std::vector<SizeValues> longer;
    for (const SizeValues& each : all)
      for (const std::int64_t value : of_size) longer.push_back(each), longer.back().push_back(value);
    all = std::move(longer);
  }
  return all;
}

/// `parts` points, each in the middle of an equal part of what the weights are together.
std::vector<SizeValues> middles(std::vector<RequestCount> requests, std::size_t parts) {
  std::ranges::stable_sort(requests, {}, [](const RequestCount& each) { return product_of(each.at); });
  const auto weight = [](const RequestCount& each) {
    return static_cast<double>(each.count) * std::sqrt(product_of(each.at));
  };
  double all = 0, before = 0;
  for (const RequestCount& each : requests) all += weight(each);
  std::set<SizeValues> chosen;
  std::size_t next = 0;
  for (const RequestCount& each : requests) {
    before += weight(each);
    for (; next < parts && before >= all * (static_cast<double>(next) + 0.5) / static_cast<double>(parts); ++next)
      chosen.insert(each.at);
  }
  return {chosen.begin(), chosen.end()};
}

/// The power of two that is nearest, where the range has it: its tiles have no remainders there.
std::int64_t rounded(const SizeRange& range, std::int64_t value) {
  const auto power = std::int64_t{1} << std::lround(std::log2(static_cast<double>(value)));
  return nearest_in(range, static_cast<double>(power)) == power ? power : value;
}

/// Of one size: where nothing is said, and nothing was counted.
std::vector<std::int64_t> usual_values(const WantedSize& size, std::size_t count) {
  if (!size.listed.empty()) return size.listed;
  std::set<std::int64_t> values;
  for (const SizeValues& each : middles(even_requests({size}), count)) values.insert(rounded(size.range, each[0]));
  return {values.begin(), values.end()};
}

std::vector<SizeValues> usual_sizes(const std::vector<WantedSize>& sizes) {
  const auto open = std::ranges::count_if(
      sizes, [](const WantedSize& size) { return size.listed.empty() && count_of(size.range) > 1; });
  std::vector<std::vector<std::int64_t>> values;
  for (const WantedSize& size : sizes) values.push_back(usual_values(size, open > 1 ? kTypical / 2 : kTypical));
  return combinations_of(values);
}

Result<std::vector<SizeValues>> listed_sizes(const std::vector<WantedSize>& sizes,
                                             const std::vector<std::string>& entries) {
  std::set<SizeValues> listed;
  for (const std::string& entry : entries)
    for (std::string_view rest = entry;; rest.remove_prefix(rest.find(',') + 1)) {
      const std::string_view word = rest.substr(0, rest.find(','));
      const auto values = parse_values(word, sizes.size());
      if (!values)
        return Error{fmt::format("--tuning-sizes is \"{}\"; expected values of {}, like {}", entry,
                                 counted(std::ssize(sizes), "size"), sizes.size() == 1 ? "16,64,256" : "1x16,8x128"),
                     ErrorKind::wrong_use};
      if (const Status fits = check_has(sizes, *values); !fits.ok())
        return Error{"--tuning-sizes: " + fits.error().message, ErrorKind::wrong_use};
      listed.insert(*values);
      if (word.size() == rest.size()) break;
    }
  return std::vector<SizeValues>(listed.begin(), listed.end());
}

}  // namespace

double distance_of(const SizeValues& a, const SizeValues& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    sum += std::abs(std::log(static_cast<double>(a[k]) / static_cast<double>(b[k])));
  return sum;
}

std::vector<RequestCount> even_requests(const std::vector<WantedSize>& sizes) {
  const int each = std::max(2, static_cast<int>(std::pow(kEvenPoints, 1.0 / static_cast<double>(sizes.size()))));
  std::vector<std::vector<std::int64_t>> values;
  for (const WantedSize& size : sizes) values.push_back(even_values(size, each));
  std::map<SizeValues, std::int64_t> counts;
  for (SizeValues& at : combinations_of(values)) ++counts[std::move(at)];
  std::vector<RequestCount> requests;
  for (const auto& [at, count] : counts) requests.push_back({at, count});
  return requests;
}

std::vector<SizeValues> typical_sizes(std::vector<RequestCount> requests) {
  if (requests.size() > kTypical) return middles(std::move(requests), kTypical);
  std::vector<SizeValues> all;
  for (const RequestCount& each : requests) all.push_back(each.at);
  return all;
}

std::vector<TuningSize> shared_out(const std::vector<RequestCount>& requests, const std::vector<SizeValues>& sizes) {
  std::vector<double> shares(sizes.size(), 0);
  double all = 0;
  for (const RequestCount& each : requests) {
    const auto nearest =
        std::ranges::min_element(sizes, {}, [&](const SizeValues& size) { return distance_of(size, each.at); });
    const double share = static_cast<double>(each.count) * product_of(each.at) / product_of(*nearest);
    shares[static_cast<std::size_t>(nearest - sizes.begin())] += share;
    all += share;
  }
  std::vector<TuningSize> out;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double share = all > kRequests ? shares[i] * kRequests / all : shares[i];
    out.push_back({sizes[i], std::max<std::int64_t>(1, std::llround(share))});
  }
  return out;
}

Result<std::vector<TuningSize>> tuning_sizes(const std::vector<WantedSize>& sizes, const TuningSizeOptions& options) {
  std::vector<RequestCount> requests;
  if (!options.lengths.empty()) {
    WHET_TRY(requests, read_lengths(options.lengths, sizes));
  }
  std::vector<SizeValues> at;
  if (!options.listed.empty()) {
    WHET_TRY(at, listed_sizes(sizes, options.listed));
  } else {
    at = requests.empty() ? usual_sizes(sizes) : typical_sizes(requests);
  }
  if (at.size() > kMostTuningSizes)
    return Error{fmt::format("--sizes: {} to be tuned; {} at most: name some by --tuning-sizes",
                             counted(std::ssize(at), "combination is", "combinations are"), kMostTuningSizes),
                 ErrorKind::wrong_use};
  if (!requests.empty()) return shared_out(requests, at);
  std::vector<TuningSize> out;
  for (SizeValues& each : at) out.push_back({std::move(each)});
  return out;
}

Result<std::vector<RequestCount>> requests_of(const std::vector<WantedSize>& sizes, const TuningSizeOptions& options) {
  if (options.lengths.empty()) return even_requests(sizes);
  return read_lengths(options.lengths, sizes);
}

Result<std::vector<TuningSize>> ladder_sizes(const std::vector<WantedSize>& sizes, const TuningSizeOptions& options) {
  constexpr std::size_t kRungs = 8;
  WHET_TRY(const std::vector<TuningSize> tuned, tuning_sizes(sizes, options));
  WHET_TRY(const std::vector<RequestCount> requests, requests_of(sizes, options));
  std::set<SizeValues> all;
  for (const TuningSize& each : tuned) all.insert(each.at);
  for (SizeValues& each : middles(requests, kRungs)) all.insert(std::move(each));
  SizeValues largest;
  for (const WantedSize& size : sizes) largest.push_back(size.listed.empty() ? size.range.max : size.listed.back());
  all.insert(std::move(largest));
  return shared_out(requests, {all.begin(), all.end()});
}

std::string requests_text(const std::vector<WantedSize>& sizes, const std::vector<TuningSize>& at) {
  std::int64_t all = 0;
  std::string text;
  for (const TuningSize& size : at) {
    all += size.requests;
    text += fmt::format("{}{} at ", text.empty() ? "" : ", ", size.requests);
    for (std::size_t k = 0; k < sizes.size(); ++k)
      text += fmt::format("{}{}={}", k > 0 ? " " : "", sizes[k].name, size.at[k]);
  }
  return fmt::format("{}: {}", counted(all, "request"), text);
}

}  // namespace whet
