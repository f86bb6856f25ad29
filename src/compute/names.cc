#include "compute/names.h"

#include <array>
#include <cctype>

namespace whet {
namespace {

/// In the order of the enumerations.
constexpr std::array<std::string_view, 19> kMathFns = {
    "exp",   "log",  "sqrt",  "rsqrt", "tanh",    "erf",           "sigmoid",    "sin",       "cos",       "pow",
    "floor", "ceil", "round", "abs",   "bits_of", "float_of_bits", "round_tf32", "round_f16", "round_bf16"};
constexpr std::array<std::string_view, 10> kRoles = {"other",  "batch",       "group",      "depth", "row",
                                                     "column", "out_channel", "in_channel", "tap",   "channel"};
constexpr std::array<std::string_view, 12> kFamilies = {"other",  "elementwise", "injective", "pad",
                                                        "conv",   "depthwise",   "matmul",    "pool",
                                                        "reduce", "softmax",     "resize",    "unfold"};
constexpr std::array<std::string_view, 4> kReducerSigns = {"+=", "*=", "max=", "min="};
constexpr std::array<std::string_view, 16> kReserved = {"return", "for",  "in",   "PLACEHOLDER", "true", "false",
                                                        "where",  "inff", "infd", "infh",        "infb", "nanf",
                                                        "nand",   "nanh", "nanb", "const"};

template <typename T, std::size_t N>
std::optional<T> find(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<T>(i);
  }
  return {};
}

bool plain(std::string_view name) {
  if (name.empty() || find<int>(kReserved, name)) return false;
  if (!std::isalpha(static_cast<unsigned char>(name[0])) && name[0] != '_') return false;
  for (char c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return false;
  }
  return true;
}

}  // namespace

std::string_view name_of(MathFn fn) { return kMathFns[static_cast<std::size_t>(fn)]; }
std::optional<MathFn> parse_math_fn(std::string_view name) { return find<MathFn>(kMathFns, name); }
std::string_view name_of(AxisRole role) { return kRoles[static_cast<std::size_t>(role)]; }
std::optional<AxisRole> parse_axis_role(std::string_view name) { return find<AxisRole>(kRoles, name); }
std::string_view name_of(OpFamily family) { return kFamilies[static_cast<std::size_t>(family)]; }
std::optional<OpFamily> parse_op_family(std::string_view name) { return find<OpFamily>(kFamilies, name); }
std::string_view sign_of(Reducer reducer) { return kReducerSigns[static_cast<std::size_t>(reducer)]; }

std::string dag_word(std::string_view name) {
  if (plain(name)) return std::string(name);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 32 || byte == 127) {
      out += "\\x";
      out += digits[byte / 16];
      out += digits[byte % 16];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace whet
