#pragma once

// The part of NVIDIA's driver API that whet calls. The declarations are our own, with NVIDIA's names: nothing of the CUDA
// toolkit is needed to build or to run. Where cuda.h is installed, header_test.cc compares every function, number and
// struct with it.

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include <cstdint>

#include "whet/model_file.h"

// The driver's own objects. cuda.h leaves them incomplete as well.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUlinkState_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUkern_st;
struct CUarray_st;

namespace whet {

using CUresult = std::int32_t;  ///< 0: success; errors.h has the others
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = CUctx_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;
using CUlinkState = CUlinkState_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
using CUgraph = CUgraph_st*;
using CUgraphNode = CUgraphNode_st*;
using CUgraphExec = CUgraphExec_st*;
using CUmemGenericAllocationHandle = unsigned long long;

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,  ///< kHz
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,        ///< kHz
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,  ///< bits
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,            ///< bytes
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
};
enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,  ///< percent of what an SM has; a hint
};
enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
enum CUmemorytype : int { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
  CU_JIT_OPTIMIZATION_LEVEL = 7,
  CU_JIT_TARGET = 9,
  CU_JIT_SPLIT_COMPILE = 34,
};
enum CUjitInputType : int { CU_JIT_INPUT_CUBIN = 0, CU_JIT_INPUT_PTX = 1 };
enum CUmemAllocationType : int { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationHandleType : int { CU_MEM_HANDLE_TYPE_NONE = 0 };
enum CUmemLocationType : int { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAccess_flags : int { CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3 };
enum CUmemAllocationGranularity_flags : int { CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0 };
enum CUevent_flags : unsigned { CU_EVENT_DEFAULT = 0, CU_EVENT_DISABLE_TIMING = 2 };
enum CUstream_flags : unsigned { CU_STREAM_NON_BLOCKING = 1 };
enum CUgraphDependencyType : unsigned char { CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1 };
constexpr unsigned char kGraphKernelNodePortProgrammatic = 1;  ///< CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC

struct CUuuid {
  char bytes[16];
};

struct CUDA_KERNEL_NODE_PARAMS_v2 {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;  ///< the address of each parameter; copied when the node is made
  void** extra;
  CUkern_st* kern;
  CUcontext ctx;
};

struct CUDA_MEMCPY3D_v2 {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void* srcHost;
  CUdeviceptr srcDevice;
  CUarray_st* srcArray;
  void* reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void* dstHost;
  CUdeviceptr dstDevice;
  CUarray_st* dstArray;
  void* reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type;
  unsigned char reserved[5];
};

struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};
struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType, gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int number;
  } value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

// Every function: its name, the suffix of the symbol's version, the driver that brought it (11040: CUDA 11.4), and its
// parameters. `required` ones are in every driver from kLeastDriver on; `optional` ones may be null in the table.
// clang-format off
#define WHET_CUDA_FUNCTIONS(required, optional)                                                                       \
  required(cuInit, , 2000, (unsigned flags))                                                                          \
  required(cuDriverGetVersion, , 2020, (int* version))                                                                \
  required(cuDeviceGetCount, , 2000, (int* count))                                                                    \
  required(cuDeviceGet, , 2000, (CUdevice* device, int ordinal))                                                      \
  required(cuDeviceGetName, , 2000, (char* name, int bytes, CUdevice device))                                         \
  required(cuDeviceGetAttribute, , 2000, (int* value, CUdevice_attribute attribute, CUdevice device))                 \
  required(cuDeviceTotalMem, _v2, 3020, (size_t* bytes, CUdevice device))                                             \
  required(cuDeviceGetUuid, _v2, 11040, (CUuuid* uuid, CUdevice device))                                              \
  required(cuDeviceGetPCIBusId, , 4010, (char* id, int bytes, CUdevice device))                                       \
  required(cuDevicePrimaryCtxRetain, , 7000, (CUcontext* context, CUdevice device))                                   \
  required(cuDevicePrimaryCtxRelease, _v2, 11000, (CUdevice device))                                                  \
  required(cuCtxPushCurrent, _v2, 4000, (CUcontext context))                                                          \
  required(cuCtxPopCurrent, _v2, 4000, (CUcontext* context))                                                          \
  required(cuCtxSynchronize, , 2000, ())                                                                              \
  required(cuGetErrorName, , 6000, (CUresult code, const char** name))                                                \
  required(cuModuleLoadDataEx, , 2010, (CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values)) \
  required(cuModuleUnload, , 2000, (CUmodule module))                                                                 \
  required(cuModuleGetFunction, , 2000, (CUfunction* function, CUmodule module, const char* name))                    \
  required(cuFuncGetAttribute, , 2020, (int* value, CUfunction_attribute attribute, CUfunction function))             \
  required(cuFuncSetAttribute, , 9000, (CUfunction function, CUfunction_attribute attribute, int value))              \
  required(cuLinkCreate, _v2, 6050, (unsigned count, CUjit_option* options, void** values, CUlinkState* state))       \
  required(cuLinkAddData, _v2, 6050, (CUlinkState state, CUjitInputType type, void* data, size_t bytes, const char* name, unsigned count, CUjit_option* options, void** values)) \
  required(cuLinkComplete, , 5050, (CUlinkState state, void** cubin, size_t* bytes))                                  \
  required(cuLinkDestroy, , 5050, (CUlinkState state))                                                                \
  required(cuOccupancyMaxActiveBlocksPerMultiprocessor, , 6050, (int* blocks, CUfunction function, int threads, size_t block_memory)) \
  required(cuMemAlloc, _v2, 3020, (CUdeviceptr* pointer, size_t bytes))                                               \
  required(cuMemFree, _v2, 3020, (CUdeviceptr pointer))                                                               \
  required(cuMemAllocHost, _v2, 3020, (void** pointer, size_t bytes))                                                 \
  required(cuMemFreeHost, , 2000, (void* pointer))                                                                    \
  required(cuMemGetInfo, _v2, 3020, (size_t* free, size_t* total))                                                    \
  required(cuMemcpyHtoDAsync, _v2, 3020, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))           \
  required(cuMemcpyDtoHAsync, _v2, 3020, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                 \
  required(cuMemcpyDtoDAsync, _v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))           \
  required(cuMemsetD32Async, , 3020, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                 \
  required(cuPointerGetAttribute, , 4000, (void* value, CUpointer_attribute attribute, CUdeviceptr pointer))          \
  required(cuStreamCreate, , 2000, (CUstream* stream, unsigned flags))                                                \
  required(cuStreamDestroy, _v2, 4000, (CUstream stream))                                                             \
  required(cuStreamSynchronize, , 2000, (CUstream stream))                                                            \
  required(cuStreamWaitEvent, , 3020, (CUstream stream, CUevent event, unsigned flags))                               \
  required(cuEventCreate, , 2000, (CUevent* event, unsigned flags))                                                   \
  required(cuEventDestroy, _v2, 4000, (CUevent event))                                                                \
  required(cuEventRecord, , 2000, (CUevent event, CUstream stream))                                                   \
  required(cuEventQuery, , 2000, (CUevent event))                                                                     \
  required(cuEventSynchronize, , 2000, (CUevent event))                                                               \
  required(cuEventElapsedTime, , 2000, (float* milliseconds, CUevent begin, CUevent end))                             \
  required(cuLaunchKernel, , 4000, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned block_memory, CUstream stream, void** parameters, void** extra)) \
  required(cuGraphCreate, , 10000, (CUgraph* graph, unsigned flags))                                                  \
  required(cuGraphDestroy, , 10000, (CUgraph graph))                                                                  \
  required(cuGraphAddKernelNode, _v2, 12000, (CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* parameters)) \
  required(cuGraphAddMemcpyNode, , 10000, (CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, const CUDA_MEMCPY3D_v2* copy, CUcontext context)) \
  required(cuGraphAddEventRecordNode, , 11010, (CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count, CUevent event)) \
  required(cuGraphAddDependencies, , 10000, (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count)) \
  required(cuGraphInstantiateWithFlags, , 11040, (CUgraphExec* exec, CUgraph graph, unsigned long long flags))        \
  required(cuGraphUpload, , 11010, (CUgraphExec exec, CUstream stream))                                               \
  required(cuGraphLaunch, , 10000, (CUgraphExec exec, CUstream stream))                                               \
  required(cuGraphExecDestroy, , 10000, (CUgraphExec exec))                                                           \
  required(cuGraphExecKernelNodeSetParams, _v2, 12000, (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* parameters)) \
  required(cuGraphExecMemcpyNodeSetParams, , 10020, (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D_v2* copy, CUcontext context)) \
  optional(cuLaunchKernelEx, , 11060, (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra)) \
  optional(cuGraphAddDependencies, _v2, 12030, (CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* edges, size_t count)) \
  optional(cuMemAddressReserve, , 10020, (CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr wanted, unsigned long long flags)) \
  optional(cuMemAddressFree, , 10020, (CUdeviceptr pointer, size_t bytes))                                            \
  optional(cuMemCreate, , 10020, (CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* properties, unsigned long long flags)) \
  optional(cuMemRelease, , 10020, (CUmemGenericAllocationHandle handle))                                              \
  optional(cuMemMap, , 10020, (CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)) \
  optional(cuMemUnmap, , 10020, (CUdeviceptr pointer, size_t bytes))                                                  \
  optional(cuMemSetAccess, , 10020, (CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count)) \
  optional(cuMemGetAllocationGranularity, , 10020, (size_t* bytes, const CUmemAllocationProp* properties, CUmemAllocationGranularity_flags flags))
// clang-format on

/// The functions, by the names of their symbols.
struct CudaFunctions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): `parameters` is a list in parentheses
#define WHET_CUDA_MEMBER(name, suffix, version, parameters) CUresult(*name##suffix) parameters;
  WHET_CUDA_FUNCTIONS(WHET_CUDA_MEMBER, WHET_CUDA_MEMBER)
#undef WHET_CUDA_MEMBER
};

/// The oldest driver that will do, as cuDriverGetVersion counts: CUDA 12.0. It came with the release R525.
constexpr int kLeastDriver = 12000;

constexpr int kMostCudaDevices = 64;  ///< whose failures are remembered

/// Which table of functions this is. Another whet may have another one: a model and the program that gives it a driver
/// compare them.
constexpr std::uint64_t kCudaTable = std::uint64_t{1} << 32 | sizeof(CudaFunctions);

struct CudaDriver {
  std::uint64_t table = kCudaTable;
  CudaFunctions call = {};
  int version = 0;        ///< 12040: CUDA 12.4
  bool emulated = false;  ///< it runs images of format emulated, and no others

  // What became of it in this process; device.h has the functions. The lock guards the rest.
  mutable pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  mutable pid_t started_by = 0;                    ///< the process that called cuInit
  mutable whet_error lost[kMostCudaDevices] = {};  ///< of each device: the sentence with which it failed for good
};

/// Opens the library at `path` (as dlopen finds it) and looks its functions up. Nothing is initialised. The library
/// stays open. Gives 0, or -1 and a sentence that says whether the library, its version or a function is missing.
int open_cuda_driver(const char* path, CudaDriver* driver, whet_error* error);

/// libcuda.so.1, opened when it is first asked for. A failure is not remembered. Any thread may call it.
int system_cuda_driver(const CudaDriver** driver, whet_error* error);

/// Writes "12.4" for 12040. `text` has 16 bytes.
void write_cuda_version(int version, char* text);

}  // namespace whet
