#include "import/mxnet/site.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/nearest.h"
#include "import/mxnet/rows.h"

namespace whet::mxnet {
namespace {

std::string without_spaces(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c != ' ' && c != '\t') result += c;
  return result;
}

std::optional<std::int64_t> integer_in(std::string_view text) {
  if (text.ends_with('L')) text.remove_suffix(1);  // as older Python wrote long integers
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value) : std::nullopt;
}
std::optional<double> number_in(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(value) : std::nullopt;
}

/// The parts between brackets; one part without them.
std::vector<std::string> parts_of(const std::string& given) {
  std::string text = without_spaces(given);
  const bool bracketed = text.size() >= 2 && (text.front() == '(' || text.front() == '[');
  if (bracketed) text = text.substr(1, text.size() - 2);
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::optional<DType> dtype_called(const std::string& name) {
  if (name == "float32") return DType::f32;
  if (name == "float64") return DType::f64;
  if (name == "float16") return DType::f16;
  if (name == "bfloat16") return DType::f32;
  if (name == "uint8") return DType::u8;
  if (name == "int8") return DType::i8;
  if (name == "int32") return DType::i32;
  if (name == "int64") return DType::i64;
  if (name == "bool") return DType::boolean;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> shape_in(const std::string& text) {
  std::vector<std::int64_t> values;
  for (const std::string& part : parts_of(text)) {
    const auto value = part == "None" ? std::optional<std::int64_t>(-1) : integer_in(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Status MxSite::import() {
  const MxRow* row = find_row(node_.op);
  if (row == nullptr) return error("this operator is not supported");
  for (const std::string& input : inputs_)
    if (!graph_.defined(input)) return error("reads " + in_quotes(input) + ", which nothing before it defines");
  WHET_RETURN_IF_ERROR(expect_inputs(row->arity.least, row->arity.most));
  WHET_RETURN_IF_ERROR(row->import(*this));
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (!graph_.defined(outputs_[i]) && graph_.is_read(outputs_[i]))
      return error("result " + std::to_string(i) + " is not supported");
  return graph_.check_growth(name_);
}

Status MxSite::expect_inputs(std::size_t low, std::size_t high) const {
  const std::size_t count = inputs_.size();
  if (count >= low && count <= high) return ok_status();
  return error("has " + std::to_string(count) + " inputs; expected " + std::to_string(low) +
               (low == high ? "" : " to " + std::to_string(high)));
}
ValueId MxSite::in(std::size_t i) const {
  WHET_CHECK(i < inputs_.size(), name_.c_str());
  return graph_.find(inputs_[i]);
}
std::vector<ValueId> MxSite::ins() const {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs_.size(); ++i) values.push_back(in(i));
  return values;
}

bool MxSite::has(const std::string& name) const {
  const auto found = node_.attributes.find(name);
  return found != node_.attributes.end() && found->second != "None";
}
bool MxSite::is_none(const std::string& name) const {
  const auto found = node_.attributes.find(name);
  return found != node_.attributes.end() && found->second == "None";
}
std::string MxSite::text(const std::string& name, const std::string& otherwise) const {
  return has(name) ? node_.attributes.at(name) : otherwise;
}
Error MxSite::wrong(const std::string& name, const char* expected) const {
  return error("attribute " + in_quotes(name) + " is " + text(name, "").substr(0, 80) + "; expected " + expected);
}
Result<std::int64_t> MxSite::integer(const std::string& name, std::int64_t otherwise) const {
  if (!has(name)) return otherwise;
  const auto value = integer_in(without_spaces(text(name, "")));
  return value ? Result<std::int64_t>(*value) : wrong(name, "an integer");
}
Result<double> MxSite::number(const std::string& name, double otherwise) const {
  if (!has(name)) return otherwise;
  const auto value = number_in(without_spaces(text(name, "")));
  return value ? Result<double>(*value) : wrong(name, "a number");
}
Result<bool> MxSite::flag(const std::string& name, bool otherwise) const {
  const std::string value = text(name, otherwise ? "True" : "False");
  if (value == "True" || value == "true" || value == "1") return true;
  if (value == "False" || value == "false" || value == "0") return false;
  return wrong(name, "True or False");
}
Result<std::vector<std::optional<std::int64_t>>> MxSite::open_integers(const std::string& name) const {
  std::vector<std::optional<std::int64_t>> values;
  if (!has(name)) return values;
  for (const std::string& part : parts_of(text(name, ""))) {
    const auto value = integer_in(part);
    if (!value && part != "None") return wrong(name, "integers");
    values.push_back(value);
  }
  return values;
}
Result<std::vector<std::int64_t>> MxSite::integers(const std::string& name) const {
  WHET_TRY(const auto open, open_integers(name));
  std::vector<std::int64_t> values;
  for (const auto& value : open) {
    if (!value) return wrong(name, "integers");
    values.push_back(*value);
  }
  return values;
}
Result<std::vector<double>> MxSite::numbers(const std::string& name, std::vector<double> otherwise) const {
  if (!has(name)) return otherwise;
  std::vector<double> values;
  for (const std::string& part : parts_of(text(name, ""))) {
    const auto value = number_in(part);
    if (!value || !std::isfinite(*value)) return wrong(name, "numbers");
    values.push_back(*value);
  }
  return values.empty() ? Result<std::vector<double>>(wrong(name, "numbers")) : values;
}
Result<std::vector<std::int64_t>> MxSite::entries(const std::string& name, std::size_t count, std::int64_t otherwise,
                                                  std::int64_t low) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  WHET_TRY(std::vector<std::int64_t> values, integers(name));
  if (values.empty()) values.assign(count, otherwise);
  const bool fits = values.size() == count &&
                    std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v >= low && v <= kMost; });
  if (fits) return values;
  return error("attribute " + in_quotes(name) + " is " + text(name, "").substr(0, 80) + "; expected " +
               std::to_string(count) + " integers of " + std::to_string(low) + " or more");
}
Result<DType> MxSite::dtype_attribute(const std::string& name, const std::string& otherwise) const {
  const auto dtype = dtype_called(text(name, otherwise));
  return dtype ? Result<DType>(*dtype)
               : wrong(name, "float32, float64, float16, bfloat16, uint8, int8, int32, int64 or bool");
}
Result<std::vector<std::int64_t>> MxSite::axes(const std::string& name, ValueId x) const {
  WHET_TRY(const std::vector<std::int64_t> given, integers(name));
  if (!given.empty()) return resolve_axes(given, rank(x));
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < rank(x); ++d) all.push_back(static_cast<std::int64_t>(d));
  return all;
}
Result<std::int64_t> MxSite::axis(const std::string& name, std::int64_t otherwise, std::size_t limit) const {
  WHET_TRY(const std::int64_t given, integer(name, otherwise));
  return resolve_axis(given, limit);
}

}  // namespace whet::mxnet
