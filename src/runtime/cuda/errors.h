#pragma once

#include <cstdint>

#include "artifact/outcome_code.h"
#include "base/result.h"
#include "runtime/cuda/driver.h"

namespace whet {

/// The class of an error of the driver, which decides how it is treated.
enum class CudaErrorClass : std::uint8_t {
  no_device,     ///< no driver or no device that can be used
  memory,        ///< of the device, used up
  refused_code,  ///< an image is not for this device or driver
  rejected,      ///< a launch asks for more than the device has
  crash,         ///< a kernel failed
  timeout,       ///< a kernel took too long
  hardware,      ///< the device is broken
  other,
};

/// How a class of errors is reported.
struct CudaErrorFate {
  OutcomeCode outcome;  ///< of a trial
  ErrorKind kind;
  bool sticky;  ///< the context is lost: every later call in this process fails
};
CudaErrorFate fate_of(CudaErrorClass);

/// Every error of the driver API of CUDA 13.0: number, name behind CUDA_ERROR_, class, and in plain words. The words are
/// empty where the name tells as much. A new number of a later driver is `other`.
// clang-format off
#define WHET_CUDA_ERRORS(row) \
  row(1, INVALID_VALUE, other, "") \
  row(2, OUT_OF_MEMORY, memory, "the device has no memory left") \
  row(3, NOT_INITIALIZED, other, "the driver is not initialised") \
  row(4, DEINITIALIZED, other, "the driver is shutting down") \
  row(5, PROFILER_DISABLED, other, "") \
  row(6, PROFILER_NOT_INITIALIZED, other, "") \
  row(7, PROFILER_ALREADY_STARTED, other, "") \
  row(8, PROFILER_ALREADY_STOPPED, other, "") \
  row(34, STUB_LIBRARY, no_device, "the driver library is a stub for linking") \
  row(36, CALL_REQUIRES_NEWER_DRIVER, no_device, "the driver is too old for this call") \
  row(46, DEVICE_UNAVAILABLE, no_device, "another process has the device to itself, or it is switched off") \
  row(100, NO_DEVICE, no_device, "the driver finds no device") \
  row(101, INVALID_DEVICE, no_device, "there is no device of this number") \
  row(102, DEVICE_NOT_LICENSED, no_device, "the device has no license") \
  row(200, INVALID_IMAGE, refused_code, "the device code is no valid image") \
  row(201, INVALID_CONTEXT, other, "") \
  row(202, CONTEXT_ALREADY_CURRENT, other, "") \
  row(205, MAP_FAILED, other, "") \
  row(206, UNMAP_FAILED, other, "") \
  row(207, ARRAY_IS_MAPPED, other, "") \
  row(208, ALREADY_MAPPED, other, "") \
  row(209, NO_BINARY_FOR_GPU, refused_code, "the device code is for another architecture") \
  row(210, ALREADY_ACQUIRED, other, "") \
  row(211, NOT_MAPPED, other, "") \
  row(212, NOT_MAPPED_AS_ARRAY, other, "") \
  row(213, NOT_MAPPED_AS_POINTER, other, "") \
  row(214, ECC_UNCORRECTABLE, hardware, "the device has a memory error that it cannot correct") \
  row(215, UNSUPPORTED_LIMIT, other, "") \
  row(216, CONTEXT_ALREADY_IN_USE, other, "") \
  row(217, PEER_ACCESS_UNSUPPORTED, other, "") \
  row(218, INVALID_PTX, refused_code, "the driver's compiler refuses the PTX") \
  row(219, INVALID_GRAPHICS_CONTEXT, other, "") \
  row(220, NVLINK_UNCORRECTABLE, hardware, "the link between devices has an error that it cannot correct") \
  row(221, JIT_COMPILER_NOT_FOUND, refused_code, "the driver has no compiler for PTX (libnvidia-ptxjitcompiler)") \
  row(222, UNSUPPORTED_PTX_VERSION, refused_code, "the PTX is of a newer version than the driver reads") \
  row(223, JIT_COMPILATION_DISABLED, refused_code, "compiling PTX is switched off here (CUDA_DISABLE_PTX_JIT)") \
  row(224, UNSUPPORTED_EXEC_AFFINITY, other, "") \
  row(225, UNSUPPORTED_DEVSIDE_SYNC, other, "") \
  row(226, CONTAINED, crash, "a kernel failed on the device") \
  row(300, INVALID_SOURCE, refused_code, "the device code is no valid source") \
  row(301, FILE_NOT_FOUND, other, "") \
  row(302, SHARED_OBJECT_SYMBOL_NOT_FOUND, other, "") \
  row(303, SHARED_OBJECT_INIT_FAILED, other, "") \
  row(304, OPERATING_SYSTEM, other, "") \
  row(400, INVALID_HANDLE, other, "") \
  row(401, ILLEGAL_STATE, other, "") \
  row(402, LOSSY_QUERY, other, "") \
  row(500, NOT_FOUND, other, "the device code lacks a function") \
  row(600, NOT_READY, other, "") \
  row(700, ILLEGAL_ADDRESS, crash, "a kernel used memory that is not its own") \
  row(701, LAUNCH_OUT_OF_RESOURCES, rejected, "the kernel needs more registers or block memory than the device has") \
  row(702, LAUNCH_TIMEOUT, timeout, "a kernel took longer than the system allows") \
  row(703, LAUNCH_INCOMPATIBLE_TEXTURING, other, "") \
  row(704, PEER_ACCESS_ALREADY_ENABLED, other, "") \
  row(705, PEER_ACCESS_NOT_ENABLED, other, "") \
  row(708, PRIMARY_CONTEXT_ACTIVE, other, "") \
  row(709, CONTEXT_IS_DESTROYED, other, "") \
  row(710, ASSERT, crash, "a kernel failed an assertion") \
  row(711, TOO_MANY_PEERS, other, "") \
  row(712, HOST_MEMORY_ALREADY_REGISTERED, other, "") \
  row(713, HOST_MEMORY_NOT_REGISTERED, other, "") \
  row(714, HARDWARE_STACK_ERROR, crash, "a kernel overflowed its stack") \
  row(715, ILLEGAL_INSTRUCTION, crash, "a kernel came to an illegal instruction") \
  row(716, MISALIGNED_ADDRESS, crash, "a kernel used a misaligned address") \
  row(717, INVALID_ADDRESS_SPACE, crash, "a kernel used an address of the wrong memory") \
  row(718, INVALID_PC, crash, "a kernel jumped to an invalid address") \
  row(719, LAUNCH_FAILED, crash, "a kernel failed on the device") \
  row(720, COOPERATIVE_LAUNCH_TOO_LARGE, other, "") \
  row(721, TENSOR_MEMORY_LEAK, crash, "a kernel kept tensor memory") \
  row(800, NOT_PERMITTED, other, "") \
  row(801, NOT_SUPPORTED, other, "") \
  row(802, SYSTEM_NOT_READY, no_device, "the system is not ready to use its devices") \
  row(803, SYSTEM_DRIVER_MISMATCH, no_device, "the driver's library and its kernel module differ in version") \
  row(804, COMPAT_NOT_SUPPORTED_ON_DEVICE, no_device, "the compatibility package does not support this device") \
  row(805, MPS_CONNECTION_FAILED, no_device, "the MPS server does not answer") \
  row(806, MPS_RPC_FAILURE, other, "") \
  row(807, MPS_SERVER_NOT_READY, no_device, "the MPS server is not ready") \
  row(808, MPS_MAX_CLIENTS_REACHED, other, "") \
  row(809, MPS_MAX_CONNECTIONS_REACHED, other, "") \
  row(810, MPS_CLIENT_TERMINATED, other, "") \
  row(811, CDP_NOT_SUPPORTED, other, "") \
  row(812, CDP_VERSION_MISMATCH, other, "") \
  row(900, STREAM_CAPTURE_UNSUPPORTED, other, "") \
  row(901, STREAM_CAPTURE_INVALIDATED, other, "") \
  row(902, STREAM_CAPTURE_MERGE, other, "") \
  row(903, STREAM_CAPTURE_UNMATCHED, other, "") \
  row(904, STREAM_CAPTURE_UNJOINED, other, "") \
  row(905, STREAM_CAPTURE_ISOLATION, other, "") \
  row(906, STREAM_CAPTURE_IMPLICIT, other, "") \
  row(907, CAPTURED_EVENT, other, "") \
  row(908, STREAM_CAPTURE_WRONG_THREAD, other, "") \
  row(909, TIMEOUT, other, "") \
  row(910, GRAPH_EXEC_UPDATE_FAILURE, other, "") \
  row(911, EXTERNAL_DEVICE, other, "") \
  row(912, INVALID_CLUSTER_SIZE, other, "") \
  row(913, FUNCTION_NOT_LOADED, other, "") \
  row(914, INVALID_RESOURCE_TYPE, other, "") \
  row(915, INVALID_RESOURCE_CONFIGURATION, other, "") \
  row(916, KEY_ROTATION, other, "") \
  row(999, UNKNOWN, other, "the driver knows no reason")
// clang-format on

struct CudaErrorRow {
  CUresult code;
  const char* name;  ///< "CUDA_ERROR_OUT_OF_MEMORY"; of an unknown code "an unknown error"
  CudaErrorClass kind;
  const char* words;  ///< "" where the name tells as much
};
CudaErrorRow cuda_error_row(CUresult code);
inline CudaErrorFate fate_of(CUresult code) { return fate_of(cuda_error_row(code).kind); }

/// Fills `error` with "<text>: <the code's words> (<its name>, <its number>)" and gives -1. A sticky code adds that the
/// process must end.
__attribute__((format(printf, 3, 4))) int cuda_fail(whet_error* error, CUresult code, const char* format, ...);

}  // namespace whet
