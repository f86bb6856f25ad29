#include "target/precision.h"

#include <array>

namespace whet {
namespace {

struct Format {
  std::string_view name;
  double unit;  ///< 0: nothing is rounded
};

// By Precision.
constexpr std::array kFormats = {Format{"f32", 0}, Format{"tf32", 0x1p-11}, Format{"f16", 0x1p-11},
                                 Format{"bf16", 0x1p-8}};

constexpr double kUnits = 8;

const Format& format_of(Precision precision) { return kFormats[static_cast<std::size_t>(precision)]; }

}  // namespace

std::string_view name_of(Precision precision) { return format_of(precision).name; }

std::optional<Precision> parse_precision(std::string_view name) {
  for (std::size_t i = 0; i < kFormats.size(); ++i)
    if (kFormats[i].name == name) return static_cast<Precision>(i);
  return std::nullopt;
}

bool allows(Precision asked, Precision precision) {
  return precision == Precision::f32 || precision == asked || (precision == Precision::tf32 && asked != Precision::f32);
}

double tolerance_of(Precision precision) { return kUnits * format_of(precision).unit; }

}  // namespace whet
