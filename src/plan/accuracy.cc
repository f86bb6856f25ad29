#include "plan/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tensor/compare.h"

namespace whet {
namespace {

constexpr double kInfiniteShare = std::numeric_limits<double>::infinity();

/// How a limit is written. The first row has no word: "1%".
struct MeasureRow {
  Measure measure;
  std::string_view word, sign, name;
  bool percent;  ///< is printed as such
};
constexpr MeasureRow kMeasures[] = {{Measure::relative, "", "", "relative L2", true},
                                    {Measure::largest, "max", "<=", "largest difference to largest magnitude", false},
                                    {Measure::absolute, "abs", "<=", "largest difference", false},
                                    {Measure::cosine, "cos", ">=", "cosine", false},
                                    {Measure::psnr, "psnr", ">=", "PSNR", false},
                                    {Measure::top1, "top1", ">=", "top1", true}};
static_assert(std::size(kMeasures) == static_cast<std::size_t>(Measure::top1) + 1);

const MeasureRow& row_of(Measure measure) { return kMeasures[static_cast<std::size_t>(measure)]; }

/// "0.5%", "2": finite, not negative.
std::optional<double> parse_amount(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(number) || number < 0)
    return std::nullopt;
  return percent ? number / 100 : number;
}

/// The limit without a name of an output; nothing where it is none.
std::optional<Allowed> parse_limit(std::string_view text) {
  for (const MeasureRow& row : kMeasures) {
    if (!row.word.empty() && !(text.starts_with(row.word) && text.substr(row.word.size()).starts_with(row.sign)))
      continue;
    if (const auto amount = parse_amount(text.substr(row.word.size() + row.sign.size())))
      return Allowed{"", row.measure, *amount};
  }
  return std::nullopt;
}

std::string amount_text(const MeasureRow& row, double amount) {
  return row.percent ? fmt::format("{:.4g}%", 100 * amount) : fmt::format("{:.6g}", amount);
}

/// What one sample gives.
struct Figure {
  double measured = 0, share = 0;
};

double ratio(double measured, double allowed) {
  if (measured == 0) return 0;
  return allowed > 0 ? measured / allowed : kInfiniteShare;
}

Figure figure_of(const Allowed& allowed, const Tensor& got, const Tensor& want) {
  constexpr double kNoise = 20;  // decibels that a tenth of the noise brings
  double measured = 0;
  switch (allowed.measure) {
    case Measure::relative:
      measured = relative_l2(got, want);
      return {measured, ratio(measured, allowed.limit)};
    case Measure::largest:
      measured = compare(got, want).relative;
      return {measured, ratio(measured, allowed.limit)};
    case Measure::absolute:
      measured = compare(got, want).max_abs;
      return {measured, ratio(measured, allowed.limit)};
    case Measure::cosine:
      measured = cosine(got, want);
      // An error of e turns by about e, and 1 - cos is half its square.
      return {measured, std::sqrt(ratio(1 - measured, 1 - allowed.limit))};
    case Measure::psnr:
      measured = psnr(got, want);
      return {measured, std::pow(10, (allowed.limit - measured) / kNoise)};
    case Measure::top1:
      break;
  }
  const Top1 rows = top1(got, want);
  measured = rows.rows == 0 ? 1 : static_cast<double>(rows.same) / static_cast<double>(rows.rows);
  return {measured, ratio(1 - measured, 1 - allowed.limit)};
}

bool is_zero(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (tensor.get(i) != 0) return false;
  return true;
}

///   samples  "sample 3"
Error no_scale(const std::string& output, const std::string& samples) {
  return {
      fmt::format("output {} is all zeros for {}, so that nothing is small beside it: give an absolute limit, like "
                  "\"{}:abs<=0.01\"",
                  output, samples, output)};
}

bool is_finite(const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (!std::isfinite(tensor.get(i))) return false;
  return true;
}

/// The limit on one output over all samples.
Result<JudgedLimit> judge_output(const Allowed& allowed, const std::string& name, std::size_t output,
                                 const std::vector<std::vector<Tensor>>& got,
                                 const std::vector<std::vector<Tensor>>& want) {
  JudgedLimit judged{name, allowed};
  Top1 rows;
  for (std::size_t sample = 0; sample < want.size(); ++sample) {
    const Tensor &is = got[sample][output], &should = want[sample][output];
    if (allowed.measure == Measure::top1) {
      const Top1 own = top1(is, should);
      rows.same += own.same, rows.rows += own.rows;
      continue;
    }
    const Figure figure = figure_of(allowed, is, should);
    if (allowed.measure == Measure::relative && std::isinf(figure.measured) && is_zero(should))
      return no_scale(name, fmt::format("sample {}", sample));
    if (sample > 0 && !(figure.share > judged.share)) continue;
    judged.measured = figure.measured, judged.share = figure.share, judged.sample = sample;
  }
  if (allowed.measure != Measure::top1) return judged;
  judged.measured = rows.rows == 0 ? 1 : static_cast<double>(rows.same) / static_cast<double>(rows.rows);
  judged.share = ratio(1 - judged.measured, 1 - allowed.limit);
  return judged;
}

}  // namespace

std::string_view name_of(Measure measure) { return row_of(measure).name; }

std::string to_text(const Allowed& allowed) {
  const MeasureRow& row = row_of(allowed.measure);
  const std::string limit = std::string(row.word) + std::string(row.sign) + amount_text(row, allowed.limit);
  return allowed.output.empty() ? limit : allowed.output + ":" + limit;
}

Result<Allowed> parse_allowed(const std::string& text) {
  const Error unknown{
      "\"" + text +
      "\" is no limit on answers; expected 1%, max<=2e-5, abs<=2, cos>=0.999, psnr>=40 or top1>=99%, perhaps "
      "behind the name of an output, as in scores:top1>=99%"};
  const std::size_t colon = text.rfind(':');
  std::optional<Allowed> allowed = parse_limit(colon == text.npos ? text : std::string_view(text).substr(colon + 1));
  if (!allowed || colon == 0) return unknown;
  if (colon != text.npos) allowed->output = text.substr(0, colon);
  const bool is_part = allowed->measure == Measure::cosine || allowed->measure == Measure::top1;
  if (is_part && allowed->limit > 1)
    return Error{"\"" + text + "\" asks for more than equal answers have: " + std::string(name_of(allowed->measure)) +
                 " is 1 at the most"};
  return *allowed;
}

Result<Accuracy> parse_accuracy(const std::vector<std::string>& limits) {
  Accuracy accuracy;
  for (const std::string& limit : limits) {
    WHET_TRY(Allowed allowed, parse_allowed(limit));
    accuracy.allowed.push_back(std::move(allowed));
  }
  return accuracy;
}

std::string to_text(const JudgedLimit& limit) {
  const MeasureRow& row = row_of(limit.allowed.measure);
  const bool errs = row.sign != ">=";
  return fmt::format("{} {} {} ({}), {} is {}", limit.output, errs ? "errs by" : "has",
                     amount_text(row, limit.measured), row.name, amount_text(row, limit.allowed.limit),
                     errs ? "allowed" : "asked for");
}

const JudgedLimit& Judged::worst() const {
  return *std::max_element(limits.begin(), limits.end(),
                           [](const JudgedLimit& a, const JudgedLimit& b) { return a.share < b.share; });
}

Result<Judged> judge(const Accuracy& accuracy, const std::vector<std::string>& outputs,
                     const std::vector<std::vector<Tensor>>& got, const std::vector<std::vector<Tensor>>& want) {
  WHET_CHECK(got.size() == want.size());
  if (want.empty()) return Error{"there is no sample to compare"};
  Judged judged;
  for (const Allowed& allowed : accuracy.allowed) {
    bool found = false;
    for (std::size_t output = 0; output < outputs.size(); ++output) {
      if (!allowed.output.empty() && allowed.output != outputs[output]) continue;
      found = true;
      WHET_TRY(JudgedLimit limit, judge_output(allowed, outputs[output], output, got, want));
      judged.share = std::max(judged.share, limit.share);
      judged.limits.push_back(std::move(limit));
    }
    if (!found)
      return Error{fmt::format("\"{}\" is about an output that the model does not have; its outputs are {}",
                               to_text(allowed), fmt::join(outputs, ", "))};
  }
  return judged;
}

Result<std::vector<double>> shares_by_sample(const Accuracy& accuracy, const std::vector<std::string>& outputs,
                                             const std::vector<std::vector<Tensor>>& got,
                                             const std::vector<std::vector<Tensor>>& want) {
  Accuracy of_samples = accuracy;
  std::erase_if(of_samples.allowed, [](const Allowed& allowed) { return allowed.measure == Measure::top1; });
  std::vector<double> shares;
  if (of_samples.allowed.empty()) return shares;
  for (std::size_t sample = 0; sample < want.size(); ++sample) {
    WHET_TRY(const Judged judged, judge(of_samples, outputs, {got[sample]}, {want[sample]}));
    shares.push_back(judged.share);
  }
  return shares;
}

Status check_reference(const Accuracy& accuracy, const std::vector<std::string>& outputs,
                       const std::vector<std::vector<Tensor>>& want) {
  for (std::size_t output = 0; output < outputs.size(); ++output) {
    bool judged = false, is_relative = false, has_numbers = false;
    for (const Allowed& allowed : accuracy.allowed) {
      if (!allowed.output.empty() && allowed.output != outputs[output]) continue;
      judged = true, is_relative = is_relative || allowed.measure == Measure::relative;
    }
    for (std::size_t sample = 0; sample < want.size() && judged; ++sample) {
      const Tensor& answer = want[sample][output];
      if (!is_finite(answer))
        return Error{fmt::format("output {} of the f32 network is not finite for sample {}: nothing compares with it",
                                 outputs[output], sample)};
      has_numbers = has_numbers || !is_zero(answer);
    }
    if (is_relative && !has_numbers && !want.empty()) return no_scale(outputs[output], "every sample");
  }
  return ok_status();
}

}  // namespace whet
