#include "artifact/code_format.h"

namespace whet {
namespace {

constexpr CodeFormatRow kFormats[] = {
    {CodeFormat::native_object, "native_object", 8},
    {CodeFormat::ptx, "ptx", 3},
    {CodeFormat::emulated, "emulated", 1},
    {CodeFormat::cubin, "cubin", 3},
};

constexpr TargetCode kCodes[] = {
    {"cpu", CodeFormat::native_object},
    {"cuda", CodeFormat::ptx},
};

}  // namespace

std::span<const CodeFormatRow> code_formats() { return kFormats; }
std::span<const TargetCode> target_codes() { return kCodes; }

}  // namespace whet
