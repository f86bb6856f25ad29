/* The outside of a compiled model's file: an ELF shared library followed by a trailer of 64 bytes.
 *
 * Everything here is plain C99 in this header alone, so that a program can judge a file before it maps any of it. */
#ifndef WHET_MODEL_FILE_H
#define WHET_MODEL_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the file: the trailer, and what the table of functions means. The plan inside is read by the model's own
 *  runtime and has a version of its own. */
#define WHET_MODEL_FORMAT_VERSION 1
/** Version of a weights file, which holds the weights of a model whose library has none. */
#define WHET_WEIGHTS_FORMAT_VERSION 1
/** Where the weights begin in such a file: behind its header, and zeros, page aligned. */
#define WHET_WEIGHTS_BEGIN 4096

/** What went wrong, as one sentence. Functions that fail fill it when it is given, and never need it. */
typedef struct whet_error {
  char message[512];
} whet_error;

/** The last 64 bytes of a compiled model. Little-endian. */
typedef struct whet_file_trailer {
  char magic[8];        /**< "whet.so\n" */
  uint32_t version;     /**< WHET_MODEL_FORMAT_VERSION */
  uint32_t machine;     /**< ELF machine: 62 x86-64, 183 AArch64 */
  uint64_t file_bytes;  /**< the whole file, trailer included */
  uint64_t checksum;    /**< whet_checksum of everything before the trailer */
  uint64_t weights_key; /**< 0: the weights are in the library; else in a file of their own, which has this number */
  uint64_t reserved[3];
} whet_file_trailer;

/** The first 64 bytes of a weights file. Little-endian. */
typedef struct whet_weights_header {
  char magic[8];            /**< "whet.wts" */
  uint32_t version;         /**< WHET_WEIGHTS_FORMAT_VERSION */
  uint32_t begin;           /**< WHET_WEIGHTS_BEGIN */
  uint64_t file_bytes;      /**< the whole file */
  uint64_t weights_bytes;   /**< from `begin` to its end: a multiple of 64 */
  uint64_t key;             /**< of the compile that lays weights out so: that of the library's trailer, never 0 */
  uint64_t checksum;        /**< whet_checksum of everything behind this header */
  uint64_t reserved;        /**< 0 */
  uint64_t header_checksum; /**< whet_checksum of the header before this */
} whet_weights_header;

/** A running checksum: four lanes, so that a model is checked as fast as it is read. */
typedef struct whet_checksum_state {
  uint64_t lane[4];
  uint64_t bytes;
} whet_checksum_state;

static inline void whet_checksum_begin(whet_checksum_state* state) {
  state->lane[0] = 0x243f6a8885a308d3ull;
  state->lane[1] = 0x13198a2e03707344ull;
  state->lane[2] = 0xa4093822299f31d0ull;
  state->lane[3] = 0x082efa98ec4e6c89ull;
  state->bytes = 0;
}

static inline uint64_t whet_checksum_mix(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * 0x9e3779b97f4a7c15ull;
  return lane ^ (lane >> 29);
}

/** Adds bytes. Every call but the last takes a multiple of 32 bytes. */
static inline void whet_checksum_add(whet_checksum_state* state, const void* data, uint64_t bytes) {
  const unsigned char* at = (const unsigned char*)data;
  uint64_t words[4];
  state->bytes += bytes;
  while (bytes > 0) {
    const uint64_t take = bytes < 32 ? bytes : 32;
    int i;
    if (take < 32) memset(words, 0, sizeof words);
    memcpy(words, at, (size_t)take);
    for (i = 0; i < 4; ++i) state->lane[i] = whet_checksum_mix(state->lane[i], words[i]);
    at += take;
    bytes -= take;
  }
}

static inline uint64_t whet_checksum_end(const whet_checksum_state* state) {
  uint64_t sum = whet_checksum_mix(0x452821e638d01377ull, state->bytes);
  int i;
  for (i = 0; i < 4; ++i) sum = whet_checksum_mix(sum, state->lane[i]);
  return sum;
}

static inline uint64_t whet_checksum(const void* data, uint64_t bytes) {
  whet_checksum_state state;
  whet_checksum_begin(&state);
  whet_checksum_add(&state, data, bytes);
  return whet_checksum_end(&state);
}

/** Fills `error` (which may be null) and gives -1, so that `return whet_fail(error, ...)` reads well. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline int
whet_fail(whet_error* error, const char* format, ...) {
  if (error != NULL) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return -1;
}

/** The ELF machine that this program is compiled for; 0 where whet has no code generator. */
static inline uint32_t whet_this_machine(void) {
#if defined(__x86_64__)
  return 62;
#elif defined(__aarch64__)
  return 183;
#else
  return 0;
#endif
}

static inline const char* whet_machine_name(uint32_t machine) {
  return machine == 62 ? "x86-64" : machine == 183 ? "AArch64" : "an unknown processor";
}

/** Reads exactly `bytes` at `offset`; 0, or -1 where the file ends before that. */
static inline int whet_read_at(int file, void* data, uint64_t bytes, uint64_t offset) {
  char* at = (char*)data;
  while (bytes > 0) {
    const ssize_t got = pread(file, at, (size_t)bytes, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    at += got;
    bytes -= (uint64_t)got;
    offset += (uint64_t)got;
  }
  return 0;
}

/** The checksum of the file's first `end` bytes, through a buffer of `bytes` bytes, a multiple of 32. */
static inline int whet_checksum_file(int file, const char* path, uint64_t end, void* buffer, uint64_t bytes,
                                     uint64_t* checksum, whet_error* error) {
  uint64_t offset = 0;
  whet_checksum_state state;
  whet_checksum_begin(&state);
  while (offset < end) {
    const uint64_t take = end - offset < bytes ? end - offset : bytes;
    if (whet_read_at(file, buffer, take, offset) != 0) {
      return whet_fail(error, "%s: cannot read %llu bytes at offset %llu: %s", path, (unsigned long long)take,
                       (unsigned long long)offset, strerror(errno));
    }
    whet_checksum_add(&state, buffer, take);
    offset += take;
  }
  *checksum = whet_checksum_end(&state);
  return 0;
}

static inline int whet_check_contents(int file, const char* path, const whet_file_trailer* trailer, whet_error* error) {
  const uint64_t bytes = (uint64_t)1 << 15;
  uint64_t checksum = 0;
  int result;
  void* const buffer = malloc((size_t)bytes); /* the caller's stack may be small */
  if (buffer == NULL) return whet_fail(error, "%s: no memory to check the file", path);
  result = whet_checksum_file(file, path, trailer->file_bytes - sizeof *trailer, buffer, bytes, &checksum, error);
  free(buffer);
  if (result != 0) return -1;
  if (checksum != trailer->checksum) {
    return whet_fail(error,
                     "%s: the contents do not have the checksum that was written with them; expected a file as "
                     "whet compile wrote it (was it changed or damaged?)",
                     path);
  }
  return 0;
}

static inline int whet_check_open_file(int file, const char* path, int contents, whet_error* error) {
  struct stat status;
  whet_file_trailer trailer;
  uint64_t bytes;
  if (fstat(file, &status) != 0) return whet_fail(error, "%s: %s", path, strerror(errno));
  if (!S_ISREG(status.st_mode)) return whet_fail(error, "%s: is not a regular file; expected a compiled model", path);
  bytes = (uint64_t)status.st_size;
  if (bytes < sizeof trailer || whet_read_at(file, &trailer, sizeof trailer, bytes - sizeof trailer) != 0 ||
      memcmp(trailer.magic, "whet.so\n", 8) != 0) {
    return whet_fail(error,
                     "%s: the last %d bytes (of %llu) are not whet's trailer; expected a compiled model of whet "
                     "(it may be truncated, stripped, or another kind of file)",
                     path, (int)sizeof trailer, (unsigned long long)bytes);
  }
  if (trailer.version != WHET_MODEL_FORMAT_VERSION) {
    return whet_fail(error, "%s: has model format version %u; this program reads version %d (compile the model again)",
                     path, trailer.version, WHET_MODEL_FORMAT_VERSION);
  }
  if (trailer.file_bytes != bytes) {
    return whet_fail(error, "%s: has %llu bytes; its trailer says %llu (it may be truncated)", path,
                     (unsigned long long)bytes, (unsigned long long)trailer.file_bytes);
  }
  if (trailer.machine != whet_this_machine()) {
    return whet_fail(error, "%s: is compiled for %s; this program runs on %s", path, whet_machine_name(trailer.machine),
                     whet_machine_name(whet_this_machine()));
  }
  return contents ? whet_check_contents(file, path, &trailer, error) : 0;
}

/** Judges the header of a weights file of `file_bytes`, before any of it is used. Callers compare the key.
 *  Gives 0, or -1 and a sentence. */
static inline int whet_check_weights_header(const whet_weights_header* header, uint64_t file_bytes, const char* path,
                                            whet_error* error) {
  if (file_bytes < sizeof *header || memcmp(header->magic, "whet.wts", 8) != 0) {
    return whet_fail(error,
                     "%s: does not begin as a weights file of whet does; expected one that whet compile wrote with "
                     "--weights-file",
                     path);
  }
  if (header->version != WHET_WEIGHTS_FORMAT_VERSION) {
    return whet_fail(error, "%s: has version %u of a weights file; this program reads version %d (compile it again)",
                     path, header->version, WHET_WEIGHTS_FORMAT_VERSION);
  }
  if (header->header_checksum != whet_checksum(header, offsetof(whet_weights_header, header_checksum))) {
    return whet_fail(error, "%s: its header does not have the checksum that was written with it (is it damaged?)",
                     path);
  }
  if (header->file_bytes != file_bytes) {
    return whet_fail(error, "%s: has %llu bytes; its header says %llu (it may be truncated)", path,
                     (unsigned long long)file_bytes, (unsigned long long)header->file_bytes);
  }
  if (header->begin != WHET_WEIGHTS_BEGIN || file_bytes < WHET_WEIGHTS_BEGIN ||
      header->weights_bytes != file_bytes - WHET_WEIGHTS_BEGIN || header->weights_bytes % 64 != 0 || header->key == 0) {
    return whet_fail(error, "%s: its header contradicts itself; expected a file as whet compile wrote it", path);
  }
  return 0;
}

/** Says whether `path` is a whole compiled model for this kind of processor, without mapping or running any of it.
 *  contents: 1 reads the whole file and compares its checksum; 0 looks at the trailer alone.
 *  Gives 0, or -1 and a sentence. */
static inline int whet_check_file(const char* path, int contents, whet_error* error) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is refused, not waited for */
  int result;
  if (file < 0) return whet_fail(error, "%s: %s; expected the path of a compiled model", path, strerror(errno));
  result = whet_check_open_file(file, path, contents, error);
  close(file);
  return result;
}

#ifdef __cplusplus
}
#endif

#endif
