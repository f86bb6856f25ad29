#include "trial/outcome.h"

#include <algorithm>
#include <limits>

namespace whet {
namespace {

constexpr std::string_view kNumberSign = " #";

}  // namespace

std::string numbered_device(const std::string& name, int number) {
  return number == 1 ? name : name + std::string(kNumberSign) + std::to_string(number);
}

std::string_view without_number(std::string_view device) {
  const std::size_t sign = device.rfind(kNumberSign);
  if (sign == device.npos || sign + kNumberSign.size() == device.size()) return device;
  const std::string_view number = device.substr(sign + kNumberSign.size());
  return number.find_first_not_of("0123456789") == number.npos ? device.substr(0, sign) : device;
}

double Outcome::best_seconds() const {
  if (!ok() || seconds.empty()) return std::numeric_limits<double>::infinity();
  const double best = *std::min_element(seconds.begin(), seconds.end()) / pace;
  return is_kernel_time(best) ? best : std::numeric_limits<double>::infinity();
}

}  // namespace whet
