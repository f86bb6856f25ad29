// Compares the declarations of driver.h with NVIDIA's, where cuda.h is installed. What differs does not compile.

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "runtime/cuda/errors.h"

#if __has_include(<cuda.h>) && __has_include(<cudaTypedefs.h>)
#include <cuda.h>
#if CUDA_VERSION >= 13000
#define WHET_COMPARES 1
#include <cudaTypedefs.h>
// Names that cuda.h makes those of later versions.
#undef cuDeviceGetUuid
#undef cuEventElapsedTime
#undef cuGraphAddDependencies
#endif
#endif

namespace whet {
namespace {

#ifdef WHET_COMPARES

/// Equal as far as a call is concerned: the same type, or two of the same kind and size. Handles are the same type, since
/// both headers declare them.
template <typename Ours, typename Theirs>
constexpr bool same_argument() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using To = std::remove_pointer_t<Ours>;
    using ToTheirs = std::remove_pointer_t<Theirs>;
    return std::is_const_v<To> == std::is_const_v<ToTheirs> &&
           same_argument<std::remove_const_t<To>, std::remove_const_t<ToTheirs>>();
  } else if constexpr (std::is_enum_v<Theirs>) {
    return (std::is_enum_v<Ours> || std::is_integral_v<Ours>) && sizeof(Ours) == sizeof(Theirs);
  } else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);  // the members are compared below
  } else {
    return false;
  }
}

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
struct SameFunction<R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return same_argument<R, S>() && (same_argument<A, B>() && ...);
  }();
};

#define COMPARE(name, suffix, version, parameters) \
  static_assert(SameFunction<decltype(CudaFunctions::name##suffix), PFN_##name##_v##version>::value, #name #suffix);
WHET_CUDA_FUNCTIONS(COMPARE, COMPARE)
#undef COMPARE

#define COMPARE(number, name, kind, words) static_assert(::CUDA_ERROR_##name == (number), #name);
WHET_CUDA_ERRORS(COMPARE)
#undef COMPARE

#define SAME_NUMBER(name) static_assert(static_cast<long>(whet::name) == static_cast<long>(::name), #name)
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_NUMBER(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_NUMBER(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_NUMBER(CU_MEMORYTYPE_HOST);
SAME_NUMBER(CU_MEMORYTYPE_DEVICE);
SAME_NUMBER(CU_JIT_INFO_LOG_BUFFER);
SAME_NUMBER(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME_NUMBER(CU_JIT_ERROR_LOG_BUFFER);
SAME_NUMBER(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_NUMBER(CU_JIT_OPTIMIZATION_LEVEL);
SAME_NUMBER(CU_JIT_TARGET);
SAME_NUMBER(CU_JIT_SPLIT_COMPILE);
SAME_NUMBER(CU_JIT_INPUT_CUBIN);
SAME_NUMBER(CU_JIT_INPUT_PTX);
SAME_NUMBER(CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_NUMBER(CU_MEM_HANDLE_TYPE_NONE);
SAME_NUMBER(CU_MEM_LOCATION_TYPE_DEVICE);
SAME_NUMBER(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_NUMBER(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME_NUMBER(CU_EVENT_DEFAULT);
SAME_NUMBER(CU_EVENT_DISABLE_TIMING);
SAME_NUMBER(CU_STREAM_NON_BLOCKING);
SAME_NUMBER(CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
static_assert(kGraphKernelNodePortProgrammatic == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);

#define SAME_MEMBER(type, member) static_assert(offsetof(whet::type, member) == offsetof(::type, member), #member)
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, func);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, gridDimZ);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, blockDimX);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, blockDimZ);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, extra);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, kern);
SAME_MEMBER(CUDA_KERNEL_NODE_PARAMS_v2, ctx);
SAME_MEMBER(CUDA_MEMCPY3D_v2, srcXInBytes);
SAME_MEMBER(CUDA_MEMCPY3D_v2, srcMemoryType);
SAME_MEMBER(CUDA_MEMCPY3D_v2, srcHost);
SAME_MEMBER(CUDA_MEMCPY3D_v2, srcDevice);
SAME_MEMBER(CUDA_MEMCPY3D_v2, srcArray);
SAME_MEMBER(CUDA_MEMCPY3D_v2, srcPitch);
SAME_MEMBER(CUDA_MEMCPY3D_v2, dstXInBytes);
SAME_MEMBER(CUDA_MEMCPY3D_v2, dstMemoryType);
SAME_MEMBER(CUDA_MEMCPY3D_v2, dstHost);
SAME_MEMBER(CUDA_MEMCPY3D_v2, dstDevice);
SAME_MEMBER(CUDA_MEMCPY3D_v2, dstArray);
SAME_MEMBER(CUDA_MEMCPY3D_v2, dstPitch);
SAME_MEMBER(CUDA_MEMCPY3D_v2, WidthInBytes);
SAME_MEMBER(CUDA_MEMCPY3D_v2, Depth);
SAME_MEMBER(CUgraphEdgeData, from_port);
SAME_MEMBER(CUgraphEdgeData, to_port);
SAME_MEMBER(CUgraphEdgeData, type);
SAME_MEMBER(CUmemAllocationProp, type);
SAME_MEMBER(CUmemAllocationProp, requestedHandleTypes);
SAME_MEMBER(CUmemAllocationProp, location);
SAME_MEMBER(CUmemAllocationProp, win32HandleMetaData);
SAME_MEMBER(CUmemAllocationProp, allocFlags);
SAME_MEMBER(CUmemAccessDesc, location);
SAME_MEMBER(CUmemAccessDesc, flags);
SAME_MEMBER(CUlaunchAttribute, id);
SAME_MEMBER(CUlaunchAttribute, value);
SAME_MEMBER(CUlaunchConfig, sharedMemBytes);
SAME_MEMBER(CUlaunchConfig, hStream);
SAME_MEMBER(CUlaunchConfig, attrs);
SAME_MEMBER(CUlaunchConfig, numAttrs);

#endif

TEST(CudaHeader, AgreesWithOurDeclarations) {
#ifdef WHET_COMPARES
  SUCCEED() << "compared with cuda.h " << CUDA_VERSION << " while this was compiled";
#else
  GTEST_SKIP() << "no cuda.h of CUDA 13 here: the declarations are not compared";
#endif
}

}  // namespace
}  // namespace whet
