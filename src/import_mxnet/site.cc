#include "import_mxnet/site.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/nearest.h"
#include "import_mxnet/rows.h"

namespace whet::mxnet {
namespace {

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
  return text;
}

template <typename T>
std::optional<T> number_in(std::string_view text) {
  if (std::is_integral_v<T> && text.ends_with('L')) text.remove_suffix(1);  // as older Python wrote long integers
  T value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}
constexpr auto integer_in = number_in<std::int64_t>;

/// The parts between brackets; one part without them.
Texts parts_of(const std::string& given) {
  std::string text = without_spaces(given);
  const bool bracketed = text.size() >= 2 && (text.front() == '(' || text.front() == '[');
  if (bracketed) text = text.substr(1, text.size() - 2);
  Texts parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Those parts as `read` gives them; none where it gives none of one.
template <typename T, typename Read>
std::optional<std::vector<T>> list_in(const std::string& text, Read read) {
  std::vector<T> values;
  for (const std::string& part : parts_of(text)) {
    const std::optional<T> value = read(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace

std::optional<Ints> shape_in(const std::string& text) {
  return list_in<std::int64_t>(text, [](const std::string& part) {
    return part == "None" ? std::optional<std::int64_t>(-1) : integer_in(part);
  });
}

AttributeNumbers MxSite::attribute_numbers() const {
  AttributeNumbers numbers;
  for (const auto& [name, text] : node_.attributes) {
    const auto list = list_in<double>(text, number_in<double>);
    if (list && !list->empty()) numbers[name] = number_texts(*list);
  }
  return numbers;
}

Status MxSite::import_row() {
  const MxRow* row = find_row(op());
  if (row == nullptr) return error("this operator is not supported" + how_to_define(op()));
  WHET_RETURN_IF_ERROR(bind(row->takes));
  return row->import(*this);
}

Status MxSite::import() {
  const OperatorDefinition* own = graph_.definition_of(op());
  WHET_RETURN_IF_ERROR(own != nullptr ? give_defined(*this, *own, op(), inputs_, attribute_numbers()) : import_row());
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (!graph_.defined(outputs_[i]) && graph_.is_read(outputs_[i]))
      return error("result " + std::to_string(i) + " is not supported");
  return graph_.check_growth(name_);
}
std::string MxSite::written(std::string_view name) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? "" : found->second;
}
bool MxSite::has_attribute(std::string_view name) const {
  const std::string value = without_spaces(written(name));
  return !value.empty() && value != "None" && value != "()" && value != "[]";
}
Error MxSite::wrong(std::string_view name, const char* expected) const {
  return error("attribute " + in_quotes(name) + " is " + written(name).substr(0, 80) + "; expected " + expected);
}
template <typename T>
Result<T> MxSite::checked(std::string_view name, const std::optional<T>& value, const char* expected) const {
  return value ? Result<T>(*value) : wrong(name, expected);
}
Result<std::string> MxSite::text(std::string_view name, std::string fallback) const {
  return has_attribute(name) ? written(name) : fallback;
}
Result<std::int64_t> MxSite::integer(std::string_view name, std::int64_t fallback) const {
  if (!has_attribute(name)) return fallback;
  return checked(name, integer_in(without_spaces(written(name))), "an integer");
}
Result<double> MxSite::number(std::string_view name, double fallback) const {
  if (!has_attribute(name)) return fallback;
  return checked(name, number_in<double>(without_spaces(written(name))), "a number");
}
Result<bool> MxSite::flag(std::string_view name, bool fallback) const {
  if (!has_attribute(name)) return fallback;
  const std::string value = written(name);
  if (value == "True" || value == "true" || value == "1") return true;
  if (value == "False" || value == "false" || value == "0") return false;
  return wrong(name, "True or False");
}
Result<Ints> MxSite::integers(std::string_view name, Ints fallback) const {
  if (!has_attribute(name)) return fallback;
  return checked(name, list_in<std::int64_t>(written(name), integer_in), "integers");
}
Result<OpenInts> MxSite::open_integers(std::string_view name) const {
  using Entry = std::optional<std::int64_t>;
  return checked(name,
                 list_in<Entry>(written(name),
                                [](const std::string& part) {
                                  const Entry entry = integer_in(part);
                                  return entry || part == "None" ? std::optional(entry) : std::nullopt;
                                }),
                 "integers");
}
Result<Numbers> MxSite::numbers(std::string_view name, Numbers fallback) const {
  if (!has_attribute(name)) return fallback;
  return checked(name,
                 list_in<double>(written(name),
                                 [](const std::string& part) {
                                   const auto value = number_in<double>(part);
                                   return value && std::isfinite(*value) ? value : std::nullopt;
                                 }),
                 "numbers");
}
Result<DType> MxSite::type_called(std::string_view name, std::string fallback) const {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"float32", DType::f32},  {"float64", DType::f64}, {"float16", DType::f16},
      {"bfloat16", DType::f32}, {"uint8", DType::u8},    {"int8", DType::i8},
      {"int32", DType::i32},    {"int64", DType::i64},   {"bool", DType::boolean}};
  WHET_TRY(const std::string called, text(name, std::move(fallback)));
  for (const auto& [type_name, type] : kTypes)
    if (type_name == called) return type;
  return wrong(name, "float32, float64, float16, bfloat16, uint8, int8, int32, int64 or bool");
}

}  // namespace whet::mxnet
