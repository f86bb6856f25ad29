/* Running a model that whet compiled, from C.
 *
 * A compiled model is one shared library that exports one symbol, `whet_model_v1`: a table of functions. This header
 * needs nothing else: `whet_library_open` and the other `static inline` functions below find the table with dlopen
 * (link with -ldl where the C library asks for it), or a program linked with the model calls `whet_model_v1()` itself.
 *
 *   whet_library library;  whet_error error;  whet_model* model;  whet_session* session;
 *   if (whet_library_open("model.so", 0, &library, &error) != 0) { puts(error.message); exit(1); }
 *   const whet_api* whet = library.api;
 *   whet->model_open(NULL, &model, &error);                  // check each
 *   whet->session_create(model, NULL, &session, &error);
 *   whet->session_set_input(session, 0, image, NULL, &error);
 *   whet->session_run(session, &error);
 *   const float* answer = (const float*)whet->session_output(session, 0);
 *
 * whet_library_open_memory opens a library that the program holds as bytes. A library whose weights are in a file of their own
 * (whet compile --weights-file) is opened with that file by model_open_from; model_open gives a sentence there.
 *
 * Errors: functions that can fail give 0 for success and -1 with a sentence in `error`, which may be null.
 * Threads: a model may be used from many threads. A session, with its inputs and outputs, belongs to one thread at a
 * time. A pool may be shared by sessions and models; one run holds it, others wait their turn.
 * Lifetime: sessions die before their model and their pool, models and pools before their library is closed.
 * A child after fork() may go on using what it inherited, whatever its parent's threads did: a pool starts its threads
 * again there.
 * A run computes in one floating-point mode (to the nearest, with subnormal numbers, stopped by no exception), whatever
 * the caller's is; the caller has its own again afterwards. 16 KiB of stack are enough for any function. */
#ifndef WHET_MODEL_H
#define WHET_MODEL_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "whet/model_file.h"

#ifdef __cplusplus
extern "C" {
#else
extern long syscall(long number, ...); /* which unistd.h has for _DEFAULT_SOURCE alone */
#endif

/** Raised when a function of the table changes its meaning. Functions added at the end leave it. */
#define WHET_API_VERSION 1

typedef struct whet_model whet_model;
typedef struct whet_session whet_session;
typedef struct whet_pool whet_pool;

/** Element types; the numbers are stored in files. bool is one byte, 0 or 1. */
typedef enum whet_dtype {
  WHET_F32 = 0,
  WHET_F64 = 1,
  WHET_F16 = 2,
  WHET_I8 = 3,
  WHET_U8 = 4,
  WHET_I32 = 5,
  WHET_I64 = 6,
  WHET_BOOL = 7,
  WHET_BF16 = 8, /**< the upper 16 bits of an f32 */
  WHET_I16 = 9
} whet_dtype;

typedef struct whet_tensor_info {
  const char* name; /**< of the model's file */
  whet_dtype dtype;
  uint32_t rank;
  const int64_t* shape; /**< `rank` extents, outermost first */
  int64_t bytes;        /**< of the contiguous row-major tensor */
} whet_tensor_info;

/** A size that shapes may have: the extent of dimension `dimension` of input `input`, and of what follows from it. */
typedef struct whet_size_info {
  uint32_t struct_bytes;     /**< of the struct that the library has; fields are only added at its end */
  uint32_t input, dimension; /**< counted from 0 */
  uint32_t count;            /**< of `values`; 0: it may be each step-th from min to max */
  const char* name;          /**< "x.0" */
  int64_t min, max;
  int64_t step;          /**< 0 where `values` has them all */
  int64_t usual;         /**< with which a session begins, and which model_input and model_output describe */
  const int64_t* values; /**< ascending; null where count is 0 */
} whet_size_info;

typedef struct whet_model_info {
  const char* name;         /**< of the network */
  const char* target;       /**< what it was compiled for: "cpu -mcpu=znver5 -threads=2" */
  const char* required_isa; /**< "avx2,fma,...": checked against this processor when the model is opened */
  const char* records;      /**< what its kernels came from: "12 of 24 tasks from records, 12 by default schedules" */
  const char* compiler;     /**< "whet 0.1.0" */
  uint32_t inputs, outputs, steps;
  uint32_t tuned_threads;   /**< workers that its schedules were chosen for */
  int64_t arena_bytes;      /**< activations, one a session */
  int64_t weights_bytes;    /**< shared by all sessions */
  double flops;             /**< of one inference, by the direct algorithms */
  double predicted_seconds; /**< sum over steps; 0 where nothing was measured */
} whet_model_info;

/** Zero is the default of every field. */
typedef struct whet_open_options {
  uint32_t map_weights; /**< 1: weights stay in the file's mapping (shared between processes) instead of huge pages */
} whet_open_options;

/** The weights of a library that has none: either a file or bytes. Zero is the default of every field but the first. */
typedef struct whet_open_source {
  uint32_t struct_bytes; /**< sizeof(whet_open_source) of the program: fields behind it are not read */
  uint32_t flags;        /**< WHET_SKIP_CHECKSUM: look at the header alone */
  const char* weights_path;
  const void*
      weights; /**< a whole weights file in memory; with map_weights it stays as it is until the model is closed */
  uint64_t weights_bytes; /**< of `weights` */
} whet_open_source;

/** Zero is the default of every field. */
typedef struct whet_pool_options {
  uint32_t threads;      /**< workers, the caller included; 0: WHET_NUM_THREADS, else one a physical big core that this
                              process may use, within its cgroup's CPU quota */
  const uint32_t* cores; /**< where the workers are pinned, worker 0's first (which is the caller's and never moved);
                              null: chosen among the cores that this process may use */
  uint32_t core_count;   /**< 0, or at least `threads` */
  uint32_t no_pin;       /**< 1: workers go where the system puts them */
  uint32_t spin_microseconds; /**< how long a worker looks for work before it sleeps; 0: 2000, and none under a quota */
} whet_pool_options;

/** What a pool really uses. */
typedef struct whet_pool_info {
  uint32_t threads;
  const uint32_t* cores; /**< `threads` numbers, the caller's first; null when not pinned */
  uint32_t pinned;       /**< 1: every worker but the caller stands on its core */
  uint32_t spin_microseconds;
  const char* note; /**< why it is so, one sentence: "2 threads: WHET_NUM_THREADS says so"; never null */
} whet_pool_info;

/** How a model compiled for a device is opened. Zero is the default of every field but the first. */
typedef struct whet_device_options {
  uint32_t struct_bytes; /**< sizeof(whet_device_options) of the program: fields behind it are not read */
  int32_t device;        /**< as the device's driver counts, from 0 */
  uint32_t flags;        /**< WHET_DEVICE_... */
  /** Null for the system's driver. Whet's own programs and tests give another one: a CudaDriver of
   *  runtime/cuda/driver.h, of the same version. It outlives the model. */
  const void* driver;
} whet_device_options;

enum {
  WHET_DEVICE_NO_GRAPH = 1, /**< kernels are launched one by one, for debugging */
  WHET_DEVICE_CHAIN = 2,    /**< steps run one after another, also where they could run at the same time */
  WHET_DEVICE_NO_EARLY = 4  /**< no kernel starts before those that it waits for have ended */
};

/** The device of an open model; strings live as long as the model. */
typedef struct whet_device_info {
  uint32_t struct_bytes;    /**< of the struct that the library has; fields are only added at its end */
  int32_t number;           /**< as its driver counts */
  const char* name;         /**< "NVIDIA H100 80GB HBM3" */
  const char* uuid;         /**< "GPU-1f0e2d3c-..." */
  const char* driver;       /**< version of its API: "12.4" */
  const char* image;        /**< the code that was loaded: "cubin for sm_90" */
  uint32_t arch;            /**< 90 for sm_90 */
  uint32_t multiprocessors; /**< streaming multiprocessors */
  uint64_t memory_bytes;
  double load_seconds; /**< that opening took: compiling PTX and uploading the weights */
} whet_device_info;

/** A tensor as DLPack lays it out (the same fields as its DLTensor, so that a pointer to one may be given). */
typedef struct whet_dltensor {
  void* data;
  struct {
    int32_t device_type, device_id;
  } device; /**< device_type 1: CPU, 2: CUDA, 3: host memory that CUDA has pinned */
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype; /**< code 0 int, 1 uint, 2 float, 4 bfloat, 6 bool */
  int64_t* shape;
  int64_t* strides; /**< in elements; null: row-major */
  uint64_t byte_offset;
} whet_dltensor;

/** One step of the plan, as measured by worker 0 between barriers. */
typedef struct whet_step_profile {
  const char* node;         /**< the graph's nodes that it computes: "Conv_0+Relu_1" */
  const char* op;           /**< what it is: "conv2d+bias+relu" */
  double flops, bytes;      /**< by the direct algorithm; of inputs and outputs, each once */
  double predicted_seconds; /**< what tuning measured; 0 where it was not tuned */
  uint64_t min_ns, total_ns;
  uint32_t parallel; /**< 1: all workers run it; 0: worker 0 alone */
} whet_step_profile;

typedef struct whet_profile {
  uint64_t runs;                       /**< since profiling was last switched on */
  uint64_t min_ns, total_ns;           /**< whole runs, input copies included */
  uint64_t copy_min_ns, copy_total_ns; /**< copying inputs and outputs that are not contiguous or not 64-byte aligned */
  uint32_t steps;
  const whet_step_profile* step; /**< valid until the session's next call */
} whet_profile;

typedef struct whet_api {
  uint32_t struct_bytes; /**< of the table that the library has; later functions are only added at its end: WHET_HAS */
  uint32_t api_version;  /**< WHET_API_VERSION */
  uint32_t format_version; /**< WHET_MODEL_FORMAT_VERSION */
  uint32_t reserved;

  /** Checks plan, weights and processor, and makes the weights ready. `options` may be null. */
  int (*model_open)(const whet_open_options* options, whet_model** model, whet_error* error);
  void (*model_close)(whet_model* model);
  /** Valid until the model is closed. */
  const whet_model_info* (*model_info)(const whet_model* model);
  /** The i-th input or output; null outside 0 .. count-1. */
  const whet_tensor_info* (*model_input)(const whet_model* model, uint32_t i);
  const whet_tensor_info* (*model_output)(const whet_model* model, uint32_t i);

  /** `options` may be null. A pool is not tied to a model and may serve models of other libraries. */
  int (*pool_create)(const whet_pool_options* options, whet_pool** pool, whet_error* error);
  void (*pool_destroy)(whet_pool* pool);
  const whet_pool_info* (*pool_info)(const whet_pool* pool);

  /** `pool` null: the model's own pool of default size (as many threads as it was tuned for, where there are as many
   *  cores), made when first needed and shared by its sessions. */
  int (*session_create)(whet_model* model, whet_pool* pool, whet_session** session, whet_error* error);
  void (*session_destroy)(whet_session* session);
  /** The pool that the session runs on. */
  whet_pool* (*session_pool)(const whet_session* session);
  /** How threads agree with what the model was tuned for, one sentence; "" where they agree. */
  const char* (*session_note)(const whet_session* session);
  /** Names the memory that input `i` is read from at every run, until it is set again; it stays the caller's.
   *  strides: in bytes, one a dimension, or null for contiguous row-major. What is not contiguous or not 64-byte
   * aligned is copied at every run. */
  int (*session_set_input)(whet_session* session, uint32_t i, const void* data, const int64_t* strides,
                           whet_error* error);
  /** The same from a DLPack tensor on the CPU; dtype and shape must be the input's. */
  int (*session_set_input_dlpack)(whet_session* session, uint32_t i, const whet_dltensor* tensor, whet_error* error);
  /** Memory for output `i`, contiguous row-major, written at every run; null: the session's own again. It must not
   *  overlap an input or another output. Where it is not 64-byte aligned the answer is copied there. */
  int (*session_bind_output)(whet_session* session, uint32_t i, void* data, whet_error* error);
  /** One inference. */
  int (*session_run)(whet_session* session, whet_error* error);
  /** Output `i` of the last run, contiguous row-major; valid until the next run, or until other shapes are set: it is null
   *  then, up to the next run, where no memory is bound. Null outside 0 .. count-1. */
  const void* (*session_output)(const whet_session* session, uint32_t i);
  /** The same as a DLPack tensor; `shape` is valid until the shapes change or the session is gone, and as long as the model where
   *  it is for one size. */
  int (*session_output_dlpack)(const whet_session* session, uint32_t i, whet_dltensor* tensor, whet_error* error);
  /** 1: measure every step from now on, from zero (each step then ends in a barrier); 0: stop, keeping the numbers. */
  void (*session_set_profiling)(whet_session* session, int on);
  void (*session_profile)(whet_session* session, whet_profile* profile);

  /* Models for a device have what follows: ask WHET_HAS(api, device_count). There,
   *   model_open opens device 0, and runs no kernel on the CPU: a pool that is given is not used;
   *   session_set_input_dlpack takes tensors on the host (1, 3), and contiguous ones on the model's device (2), which are
   *     read in place where they are 256-byte aligned;
   *   session_output is host memory, and null for an output that is bound to the device; session_output_dlpack is the
   *     tensor on the device, where it was made;
   *   session_run is session_enqueue and session_wait. After fork() a child cannot use what it inherited.
   * A device that failed is lost to the process: every later call gives the same sentence. */

  /** Number of devices here that can run this model; 0, without an error, where no driver works: model_open_device tells
   *  why. */
  int (*device_count)(uint32_t* count, whet_error* error);
  /** model_open on the device that `device` names; both options may be null. */
  int (*model_open_device)(const whet_open_options* options, const whet_device_options* device, whet_model** model,
                           whet_error* error);
  const whet_device_info* (*model_device)(const whet_model* model);
  /** session_bind_output with a contiguous DLPack tensor, on the host or on the device; null: the session's own. Both
   *  wait for an inference that was started. */
  int (*session_bind_output_dlpack)(whet_session* session, uint32_t i, const whet_dltensor* tensor, whet_error* error);
  /** The CUstream, of the device's primary context, that later runs are put on; null: the session's own. */
  int (*session_set_stream)(whet_session* session, void* cu_stream, whet_error* error);
  /** Starts an inference and returns. Inputs on the host are copied before it returns, unless they are pinned (3): those,
   *  and all memory on the device, stay as they are until the inference is over. The next enqueue waits for one that has
   *  inputs or outputs on the host. */
  int (*session_enqueue)(whet_session* session, whet_error* error);
  /** Waits for the last inference; outputs on the host are there then. */
  int (*session_wait)(whet_session* session, whet_error* error);

  /* Libraries for several sizes have what follows: ask WHET_HAS(api, session_set_shapes). Such a library for the CPU has
   * the functions of the part above too: device_count gives 0, model_device null, the others fail; model_open_device is
   * null. A session begins at the usual sizes, so that a program that asks nothing here runs the library as one for one
   * size. */

  /** Sizes that shapes may have. */
  uint32_t (*model_size_count)(const whet_model* model);
  /** Valid until the model is closed; null outside 0 .. count-1. */
  const whet_size_info* (*model_size)(const whet_model* model, uint32_t k);
  /** One shape an input, checked together. A null one, and an extent of -1, follow from the sizes that the others have; a
   *  size that none has stays as it is. Inputs that are set and outputs that are bound are kept: from
   *  now on their memory has the shapes that follow, contiguous. Profiling begins from zero. What fails leaves the session as it
   *  was. Memory is allocated, here and in the next run, where activations, an output of the session's own or an input's
   *  copy were never so large. */
  int (*session_set_shapes)(whet_session* session, const int64_t* const* shapes, whet_error* error);
  /** Memory for these shapes and all sizes that are not larger: no later call allocates there (on a GPU where
   *  they are 16 at most). Null: for all of the model. Without it memory grows step by step, and a pool keeps what it has lent.
   *  Outputs of the last run are lost. */
  int (*session_reserve)(whet_session* session, const int64_t* const* shapes, whet_error* error);
  /** Input or output `i` at the shapes that are set; valid until they change. Null outside 0 .. count-1. */
  const whet_tensor_info* (*session_input_info)(const whet_session* session, uint32_t i);
  const whet_tensor_info* (*session_output_info)(const whet_session* session, uint32_t i);

  /* Libraries whose weights are in a file of their own have what follows: ask WHET_HAS(api, model_open_from). Such a library has all
   * functions before, too, also where it is for one size. */

  /** model_open with weights that whet compile wrote beside this library, or later for it (--weights-only). They are read into
   *  memory, unless the options map them: a mapped file must stay as it is (whet compile replaces files, and changes none); where
   *  it was cut, the next run gives a sentence. `options` may be null. */
  int (*model_open_from)(const whet_open_options* options, const whet_open_source* source, whet_model** model,
                         whet_error* error);
} whet_api;

/** Whether the library's table goes as far as `member`. Every library has the functions up to session_profile; ask
 *  before you call one that stands behind it. */
#define WHET_HAS(api, member) ((api)->struct_bytes >= offsetof(whet_api, member) + sizeof((api)->member))

/** The one symbol of a compiled model. */
const whet_api* whet_model_v1(void);

/* ---- The loader: static inline functions, for programs that open a model by its path. */

typedef struct whet_library {
  void* handle;
  const whet_api* api;
  int memory_file; /**< of a library in memory: 1 + the descriptor that it is loaded from, which nobody else may have meanwhile; else 0 */
} whet_library;

enum {
  WHET_SKIP_CHECKSUM = 1 /**< whet_library_open and whet_library_open_memory: look at the trailer alone */
};

/** Says whether a program with this header can use the table. It may be shorter than this header's, as far as functions
 *  that version 1 began with are there, or longer. Gives 0, or -1 and a sentence. */
static inline int whet_check_table(const whet_api* api, const char* path, whet_error* error) {
  if (api == NULL) {
    return whet_fail(error, "%s: exports no table of functions (whet_model_v1); expected a compiled model of whet",
                     path);
  }
  if (api->api_version != WHET_API_VERSION || !WHET_HAS(api, session_profile)) {
    return whet_fail(error,
                     "%s: has version %u (%u bytes) of the table of functions; this program needs version %d (%d bytes "
                     "or more)",
                     path, api->api_version, api->struct_bytes, WHET_API_VERSION,
                     (int)(offsetof(whet_api, session_profile) + sizeof(api->session_profile)));
  }
  return 0;
}

/** dlopen, for which a path has a slash; null and a sentence where it fails. */
static inline void* whet_open_handle(const char* path, whet_error* error) {
  const size_t bytes = strlen(path) + 3;
  char* const with_slash = (char*)malloc(bytes); /* the caller's stack may be small */
  void* handle = NULL;
  if (with_slash == NULL) {
    whet_fail(error, "%s: no memory to open the file", path);
    return NULL;
  }
  snprintf(with_slash, bytes, "%s%s", strchr(path, '/') != NULL ? "" : "./", path);
  handle = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) whet_fail(error, "%s: %s", path, dlerror());
  free(with_slash);
  return handle;
}

/** Loads a file that was checked, and takes its table. */
static inline int whet_library_load(const char* path, const char* name, whet_library* library, whet_error* error) {
  union {
    void* object;
    const whet_api* (*function)(void);
  } symbol;
  library->handle = whet_open_handle(path, error);
  if (library->handle == NULL) return -1;
  symbol.object = dlsym(library->handle, "whet_model_v1");
  if (symbol.object != NULL) library->api = symbol.function();
  if (whet_check_table(library->api, name, error) == 0) return 0;
  dlclose(library->handle);
  library->handle = NULL;
  library->api = NULL;
  return -1;
}

/** Closes the library; its models and the pools made by it are destroyed before. */
static inline void whet_library_close(whet_library* library) {
  if (library->handle != NULL) dlclose(library->handle);
  if (library->memory_file > 0) close(library->memory_file - 1);
  library->handle = NULL;
  library->api = NULL;
  library->memory_file = 0;
}

/** A file without a place that holds the bytes; -1 and a sentence where there is none. */
static inline int whet_memory_file(const void* bytes, uint64_t size, const char* name, whet_error* error) {
  const char* at = (const char*)bytes;
  int file = -1;
#ifdef SYS_memfd_create
  const unsigned close_on_exec = 1; /* MFD_CLOEXEC */
  file = (int)syscall(SYS_memfd_create, "whet model", close_on_exec);
#endif
  if (file < 0) return whet_fail(error, "%s: needs memfd_create, which fails here; write it to a file", name);
  while (size > 0) {
    const size_t most = (size_t)1 << 30;
    const ssize_t written = write(file, at, size < most ? (size_t)size : most);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      whet_fail(error, "%s: cannot copy it: %s", name, strerror(errno));
      close(file);
      return -1;
    }
    at += written;
    size -= (uint64_t)written;
  }
  return file;
}

/** Opens the compiled model at `path` after checking it (see whet_check_file). A path without a slash is looked for in
 *  the working directory, as files are. */
static inline int whet_library_open(const char* path, uint32_t flags, whet_library* library, whet_error* error) {
  library->handle = NULL;
  library->api = NULL;
  library->memory_file = 0;
  if (whet_check_file(path, (flags & WHET_SKIP_CHECKSUM) == 0, error) != 0) return -1;
  return whet_library_load(path, path, library, error);
}

/** Opens a compiled model that is in memory: in the program itself, or received. The bytes are copied; they are the caller's
 *  again afterwards. It needs memfd_create and /proc. */
static inline int whet_library_open_memory(const void* bytes, uint64_t size, uint32_t flags, whet_library* library,
                                           whet_error* error) {
  static const char* const name = "the library in memory";
  char path[32];
  int file;
  library->handle = NULL;
  library->api = NULL;
  library->memory_file = 0;
  file = whet_memory_file(bytes, size, name, error);
  if (file < 0) return -1;
  library->memory_file = file + 1;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (whet_check_open_file(file, name, (flags & WHET_SKIP_CHECKSUM) == 0, error) == 0 &&
      whet_library_load(path, name, library, error) == 0) {
    return 0;
  }
  whet_library_close(library);
  return -1;
}

/** Bytes of one element; 0 for an unknown type. */
static inline int64_t whet_dtype_bytes(whet_dtype dtype) {
  switch (dtype) {
    case WHET_F64:
    case WHET_I64:
      return 8;
    case WHET_F32:
    case WHET_I32:
      return 4;
    case WHET_F16:
    case WHET_BF16:
    case WHET_I16:
      return 2;
    case WHET_I8:
    case WHET_U8:
    case WHET_BOOL:
      return 1;
  }
  return 0;
}

static inline const char* whet_dtype_name(whet_dtype dtype) {
  switch (dtype) {
    case WHET_F32:
      return "f32";
    case WHET_F64:
      return "f64";
    case WHET_F16:
      return "f16";
    case WHET_I8:
      return "i8";
    case WHET_U8:
      return "u8";
    case WHET_I32:
      return "i32";
    case WHET_I64:
      return "i64";
    case WHET_BOOL:
      return "bool";
    case WHET_BF16:
      return "bf16";
    case WHET_I16:
      return "i16";
  }
  return "unknown";
}

#ifdef __cplusplus
}
#endif

#endif
