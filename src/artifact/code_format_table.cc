#include "artifact/code_format.h"

namespace whet {
namespace {

constexpr TargetCode kCodes[] = {
    {"cpu", CodeFormat::elf_object},
};

}  // namespace

std::span<const TargetCode> target_codes() { return kCodes; }

}  // namespace whet
