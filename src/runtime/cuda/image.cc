#include "runtime/cuda/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/errors.h"

namespace whet {
namespace {

constexpr size_t kLogBytes = 4096;

bool runs(const PlanImage& image, std::uint32_t arch, bool emulated) {
  switch (image.format) {
    case PlanImageFormat::ptx:
      return !emulated && image.arch <= arch;
    case PlanImageFormat::cubin:
      return !emulated && image.arch / 10 == arch / 10 && image.arch <= arch;
    case PlanImageFormat::emulated:
      return emulated;
  }
  return false;
}

/// Whether `a` is to be preferred to `b`: a cubin to PTX, then the newer.
bool better(const PlanImage& a, const PlanImage& b) {
  if (a.format != b.format) return a.format == PlanImageFormat::cubin;
  return a.arch > b.arch;
}

CUresult load(const CudaContext& context, const void* data, bool split, char* log, CUmodule* module) {
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_SPLIT_COMPILE};
  void* values[] = {log, reinterpret_cast<void*>(kLogBytes), nullptr};  // 0 threads: as many as there are
  log[0] = '\0';
  return context.driver->call.cuModuleLoadDataEx(module, data, split ? 3 : 2, options, values);
}

/// The last line of `log` that is not empty.
const char* last_line(char* log) {
  size_t length = strlen(log);
  while (length > 0 && (log[length - 1] == '\n' || log[length - 1] == ' ')) log[--length] = '\0';
  const char* begin = strrchr(log, '\n');
  return begin != nullptr ? begin + 1 : log;
}

/// Writes "7.8" behind ".version" of PTX; "" where it is not found in its first lines.
void write_ptx_version(const char* ptx, std::uint64_t bytes, char* text) {
  char head[512];
  snprintf(head, sizeof head, "%.*s", static_cast<int>(bytes < sizeof head ? bytes : sizeof head - 1), ptx);
  text[0] = '\0';
  if (const char* version = strstr(head, ".version ")) sscanf(version, ".version %15[0-9.]", text);
}

int refuse(const CudaContext& context, const PlanImage& image, const char* data, CUresult code, char* log,
           whet_error* error) {
  const char* said = last_line(log);
  char what[128], version[16], driver[16];
  write_cuda_version(context.driver->version, driver);
  if (image.format == PlanImageFormat::ptx) {
    write_ptx_version(data, image.bytes, version);
    snprintf(what, sizeof what, "load PTX %s for sm_%u on sm_%d with the driver of CUDA %s", version, image.arch,
             context.info.arch, driver);
  } else {
    char name[32];
    write_image_name(image, name, sizeof name);
    snprintf(what, sizeof what, "load a %s on sm_%d", name, context.info.arch);
  }
  if (said[0] == '\0') return cuda_device_fail(context, code, error, "%s", what);
  whet_error first;
  cuda_device_fail(context, code, &first, "%s", what);
  return whet_fail(error, "%s; %s", first.message, said);
}

}  // namespace

const PlanImage* choose_image(const ModelView& view, int arch, bool emulated, bool cubins) {
  const PlanImage* best = nullptr;
  for (std::uint32_t i = 0; i < view.header->images.count; ++i) {
    const PlanImage& image = view.images[i];
    if (image.format == PlanImageFormat::cubin && !cubins) continue;
    if (runs(image, static_cast<std::uint32_t>(arch), emulated) && (best == nullptr || better(image, *best)))
      best = &image;
  }
  return best;
}

void write_image_name(const PlanImage& image, char* text, std::uint64_t bytes) {
  const char* format = image.format == PlanImageFormat::ptx     ? "PTX for sm_%u"
                       : image.format == PlanImageFormat::cubin ? "cubin for sm_%u"
                                                                : "emulated code of sm_%u";
  snprintf(text, bytes, format, image.arch);
}

int load_image(const CudaContext& context, const PlanImage& image, const void* images, CUmodule* module,
               whet_error* error) {
  constexpr CUresult kInvalidValue = 1;
  const char* data = static_cast<const char*>(images) + image.offset;
  const bool ptx = image.format == PlanImageFormat::ptx;
  if (ptx && (image.bytes == 0 || data[image.bytes - 1] != '\0')) {
    return whet_fail(error, "the model's PTX for sm_%u does not end in a zero (was it damaged?)", image.arch);
  }
  *module = nullptr;
  char* const log = static_cast<char*>(malloc(kLogBytes));  // the caller's stack may be small
  if (log == nullptr) return whet_fail(error, "no memory to load the model's code");
  CUresult code = load(context, data, ptx, log, module);
  if (code == kInvalidValue && ptx)
    code = load(context, data, false, log, module);  // an older driver may not know the option
  const int result = code == 0 ? 0 : refuse(context, image, data, code, log, error);
  free(log);
  return result;
}

}  // namespace whet
