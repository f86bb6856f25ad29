#include "runtime/cuda/errors.h"

#include <stdarg.h>
#include <stdio.h>

namespace whet {
namespace {

#define WHET_CUDA_ERROR_ROW(code, name, kind, words) {code, "CUDA_ERROR_" #name, CudaErrorClass::kind, words},
constexpr CudaErrorRow kRows[] = {WHET_CUDA_ERRORS(WHET_CUDA_ERROR_ROW)};
#undef WHET_CUDA_ERROR_ROW

}  // namespace

CudaErrorFate fate_of(CudaErrorClass kind) {
  switch (kind) {
    case CudaErrorClass::no_device:
      return {OutcomeCode::device_lost, ErrorKind::not_found, false};
    case CudaErrorClass::memory:
      return {OutcomeCode::out_of_memory, ErrorKind::limit, false};
    case CudaErrorClass::refused_code:
      return {OutcomeCode::compile_device, ErrorKind::unsupported, false};
    case CudaErrorClass::rejected:
      return {OutcomeCode::rejected, ErrorKind::limit, false};
    case CudaErrorClass::crash:
      return {OutcomeCode::crash, ErrorKind::internal, true};
    case CudaErrorClass::timeout:
      return {OutcomeCode::run_timeout, ErrorKind::limit, true};
    case CudaErrorClass::hardware:
      return {OutcomeCode::device_lost, ErrorKind::io, true};
    case CudaErrorClass::other:
      break;
  }
  return {OutcomeCode::unknown, ErrorKind::internal, false};
}

CudaErrorRow cuda_error_row(CUresult code) {
  for (const CudaErrorRow& row : kRows) {
    if (row.code == code) return row;
  }
  return {code, "an unknown error", CudaErrorClass::other, ""};
}

int cuda_fail(whet_error* error, CUresult code, const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const CudaErrorRow row = cuda_error_row(code);
  const char* end = fate_of(row.kind).sticky ? "; the process must end" : "";
  if (row.words[0] == '\0') return whet_fail(error, "%s: %s, %d%s", text, row.name, code, end);
  return whet_fail(error, "%s: %s (%s, %d)%s", text, row.words, row.name, code, end);
}

}  // namespace whet
