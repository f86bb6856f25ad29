#include "runtime/cuda/testing/scripted_state.h"

#include <algorithm>
#include <cstdlib>

namespace whet::testing::scripted {
namespace {

std::string word_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.find_first_not_of(' ', at + word.size());
  return text.substr(begin, text.find_first_of(" \n;(", begin) - begin);
}

/// "7.8" as 78.
int ptx_number(const std::string& version) {
  const std::size_t dot = version.find('.');
  if (dot == std::string::npos) return 0;
  return std::atoi(version.c_str()) * 10 + std::atoi(version.c_str() + dot + 1);
}

CUresult check_image(const std::string& image, const ScriptedDevice& device, std::string* log) {
  const int arch = std::atoi(word_after(image, "sm_").c_str());
  if (image.rfind("cubin", 0) == 0) {
    return arch / 10 == device.arch / 10 && arch <= device.arch ? kSuccess : kNoBinary;
  }
  const std::string version = word_after(image, ".version");
  if (version.empty()) return kInvalidImage;
  // CUDA 11.8 reads PTX 7.8, 12.4 reads 8.4.
  if (ptx_number(version) > (state->script.version / 1000 - 4) * 10 + state->script.version % 1000 / 10) {
    *log = "ptxas application ptx input, line 1; fatal   : Unsupported .version " + version;
    return kUnsupportedPtx;
  }
  if (arch > device.arch) {
    *log = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
    return kNoBinary;
  }
  return kSuccess;
}

}  // namespace
}  // namespace whet::testing::scripted

using namespace whet;                     // NOLINT: the driver's functions are global
using namespace whet::testing;            // NOLINT
using namespace whet::testing::scripted;  // NOLINT

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
  char* log = nullptr;
  std::size_t log_bytes = 0;
  bool split = false;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) log_bytes = reinterpret_cast<std::size_t>(values[i]);
    if (options[i] == CU_JIT_SPLIT_COMPILE) split = true;
  }
  ENTER_IN_CONTEXT(cuModuleLoadDataEx);
  if (split && !state->script.split_compile) return kInvalidValue;
  auto loaded = std::make_unique<CUmod_st>();
  loaded->context = current_context();
  loaded->image = static_cast<const char*>(image);
  std::string why;
  const CUresult code =
      check_image(loaded->image, state->script.devices[static_cast<std::size_t>(loaded->context->device)], &why);
  if (log != nullptr) snprintf(log, log_bytes, "%s", why.c_str());
  if (code != kSuccess) return code;
  *module = loaded.get();
  const std::lock_guard<std::mutex> guard(state->lock);
  state->modules.insert(std::move(loaded));
  return kSuccess;
}

CUresult cuModuleUnload(CUmodule module) {
  ENTER_IN_CONTEXT(cuModuleUnload);
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto owner = std::find_if(state->modules.begin(), state->modules.end(),
                                  [&](const std::unique_ptr<CUmod_st>& m) { return m.get() == module; });
  if (owner == state->modules.end()) return kInvalidHandle;
  state->modules.erase(owner);
  return kSuccess;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  ENTER_IN_CONTEXT(cuModuleGetFunction);
  const std::lock_guard<std::mutex> guard(state->lock);
  const auto kernel = state->kernels.find(name);
  if (kernel == state->kernels.end()) return kNotFound;
  if (module->image.find("entry " + std::string(name) + "\n") == std::string::npos) return kNotFound;
  state->functions.push_back(
      std::make_unique<CUfunc_st>(CUfunc_st{module, name, kernel->second.first, kernel->second.second}));
  *function = state->functions.back().get();
  return kSuccess;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  ENTER_IN_CONTEXT(cuFuncGetAttribute);
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK              ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS                         ? 32
           : attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES    ? function->dynamic_memory
           : attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ? function->percent_of_memory
                                                                             : 0;
  return kSuccess;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  ENTER_IN_CONTEXT(cuFuncSetAttribute);
  if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= 0 && value <= 100) {
    function->percent_of_memory = value;
    return kSuccess;
  }
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 227 << 10)
    return kInvalidValue;
  function->dynamic_memory = value;
  return kSuccess;
}

CUresult cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState*) {
  ENTER_IN_CONTEXT(cuLinkCreate_v2);
  return 221;
}
CUresult cuLinkAddData_v2(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**) {
  ENTER_IN_CONTEXT(cuLinkAddData_v2);
  return kInvalidHandle;
}
CUresult cuLinkComplete(CUlinkState, void**, size_t*) {
  ENTER_IN_CONTEXT(cuLinkComplete);
  return kInvalidHandle;
}
CUresult cuLinkDestroy(CUlinkState) {
  ENTER_IN_CONTEXT(cuLinkDestroy);
  return kInvalidHandle;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t block_memory) {
  ENTER_IN_CONTEXT(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  if (threads <= 0 || threads > 1024) return kInvalidValue;
  *blocks = std::min({32, 2048 / threads, static_cast<int>((228u << 10) / (block_memory + 1024))});
  return kSuccess;
}

}  // extern "C"
