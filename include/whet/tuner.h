/* Tuning and compiling models from a program: libwhet.so, in C99.
 *
 * The library exports one symbol, `whet_tuner_v1`: a table of functions. Link with -lwhet, or open the library with dlopen.
 *
 *   const whet_tuner_api* whet = whet_tuner_v1();
 *   whet_error error;  whet_tuner* tuner;  whet_problem* problem;
 *   whet_tune_options tune = {sizeof tune};  whet_compile_options compile = {sizeof compile};
 *   whet->tuner_create(NULL, &tuner, &error);                              // check each
 *   whet->problem_load(tuner, "model.onnx", NULL, &problem, &error);
 *   tune.seconds = 10, tune.records = "model.jsonl";
 *   whet->problem_tune(problem, &tune, NULL, NULL, NULL, &error);
 *   compile.output = "model.so";
 *   whet->problem_compile(problem, &compile, NULL, &error);                // whet/model.h runs it
 *
 * Errors: functions that can fail give 0 for success and -1 with a sentence in `error`, which may be null. No exception leaves the
 * library.
 * Options: structs that begin with their size, and in each a JSON object of all options of the command of the same name, by the names
 * that they have there without the dashes: {"shape": ["data=1x3x224x224"], "no-network": true, "early-stop": 64}. docs/cli.md has them.
 * A member of a struct goes before the same option in JSON. Zero is the default of every member but the first.
 * Threads: a tuner may be used by several threads, a problem by one call at a time: others, and calls from its own callback, are refused
 * with a sentence. Callbacks come in the thread that called. Several tuners may live in one process, at the same time.
 * Processes: what measures runs in processes of the program `whet`, of the same version, which is started when something is first
 * measured: a crash of a candidate is none of yours. A child after fork() may not use what it inherited: it is refused with a sentence.
 * Environment: PATH, where the program is looked up, and TMPDIR. Whatever else commands take from it is an option here.
 * docs/embed.md has the whole of it, and the versions. */
#ifndef WHET_TUNER_H
#define WHET_TUNER_H

#include <stddef.h>
#include <stdint.h>

#include "whet/model_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Raised when a function of the table changes its meaning. Functions added at the end leave it. */
#define WHET_TUNER_API_VERSION 1

typedef struct whet_tuner whet_tuner;
/** A model or an operator, with its tasks. */
typedef struct whet_problem whet_problem;

/** A text of the library's, with a zero behind it. It lives until the next call on the problem that gave it, of records_read until the
 *  thread's next call of that. */
typedef struct whet_text {
  const char* data;
  size_t size;
} whet_text;

/** Gets a sentence for people about what was skipped, assumed or brought. */
typedef void (*whet_on_note)(void* user, const char* note);

/** Gets one event of docs/formats/events.md, without a newline. A result other than 0 ends the run as ^C ends the command: what was
 *  measured is in the record file. It throws nothing. */
typedef int (*whet_on_event)(void* user, const char* json, size_t size);

typedef struct whet_tuner_options {
  uint32_t struct_bytes; /**< sizeof(whet_tuner_options) of the caller, as in all structs here */
  uint32_t reserved;
  const char*
      program; /**< the path of the program whet; null: beside libwhet.so, in the bin beside its folder, then in PATH */
  whet_on_note on_note; /**< null: notes are lost; they come before a call returns */
  void* user;           /**< for on_note */
} whet_tuner_options;

typedef struct whet_load_options {
  uint32_t struct_bytes;
  uint32_t reserved;
  const char* name;    /**< of a model from memory, for messages; null: "model" */
  const char* records; /**< the record file of the problem; null: one of its own, which goes with the problem */
  const char* options; /**< JSON: those of `whet serve`, which later calls keep */
} whet_load_options;

typedef struct whet_tune_options {
  uint32_t struct_bytes;
  uint32_t trials;     /**< 0: no limit where seconds are given, else 64 a task */
  double seconds;      /**< of the whole call; 0: no limit */
  const char* records; /**< the record file of the problem from now on; null: the one it has */
  const char* options; /**< JSON: those of `whet tune` */
} whet_tune_options;

typedef struct whet_compile_options {
  uint32_t struct_bytes;
  uint32_t reserved;
  const char* output;  /**< the library to write; it has to be given, here or in `options` */
  const char* records; /**< the record file to compile with; null: the problem's, where there is one */
  const char* options; /**< JSON: those of `whet compile` */
} whet_compile_options;

typedef struct whet_tuner_api {
  uint32_t struct_bytes; /**< of the table that the library has; later functions are only added at its end */
  uint32_t api_version;  /**< WHET_TUNER_API_VERSION */

  /** `options` may be null. Nothing is started yet. */
  int (*tuner_create)(const whet_tuner_options* options, whet_tuner** tuner, whet_error* error);
  /** Its problems are destroyed before. Null does nothing. */
  void (*tuner_destroy)(whet_tuner* tuner);
  /** Reads a model of any format that whet reads, or a file in whet's notation of operators. Null or "": a problem without tasks, for
   *  those that `problem_ask` defines. `options` may be null. */
  int (*problem_load)(whet_tuner* tuner, const char* path, const whet_load_options* options, whet_problem** problem,
                      whet_error* error);
  /** The same of a file's bytes, which are copied. */
  int (*problem_load_bytes)(whet_tuner* tuner, const void* bytes, size_t size, const whet_load_options* options,
                            whet_problem** problem, whet_error* error);
  /** Null does nothing. */
  void (*problem_destroy)(whet_problem* problem);
  /** `{"tasks": [...]}` as `whet serve` answers it (docs/formats/serve.md). */
  int (*problem_tasks)(whet_problem* problem, whet_text* json, whet_error* error);
  /** Measures, and appends to the record file. `options` and `on_event` may be null; `report`, which may be null, gets what
   *  `whet tune --json` prints; its `interrupted` tells whether a callback ended the run. */
  int (*problem_tune)(whet_problem* problem, const whet_tune_options* options, whet_on_event on_event, void* user,
                      whet_text* report, whet_error* error);
  /** Writes a compiled model. `report`, which may be null, gets what `whet compile --json` prints. */
  int (*problem_compile)(whet_problem* problem, const whet_compile_options* options, whet_text* report,
                         whet_error* error);
  /** What `whet explain TOPIC --json` prints of the problem and its record file.
   *  options: JSON of the topic's own options, and its argument by its name: topic "task", {"task": 3}. May be null. */
  int (*problem_explain)(whet_problem* problem, const char* topic, const char* options, whet_text* json,
                         whet_error* error);
  /** Any request of docs/formats/serve.md: spaces, candidates, measurements, tasks of one's own. An answer with an `error` is an
   *  answer; the call fails where nothing can be asked. */
  int (*problem_ask)(whet_problem* problem, const char* request, size_t size, whet_text* answer, whet_error* error);
  /** What `whet records QUERY PATH` prints as JSON, a value a line. query: best, stats or show (records as text). */
  int (*records_read)(whet_tuner* tuner, const char* path, const char* query, whet_text* text, whet_error* error);
} whet_tuner_api;

/** Whether the library's table goes as far as `member`. Every library has the functions up to records_read. */
#define WHET_TUNER_HAS(api, member) ((api)->struct_bytes >= offsetof(whet_tuner_api, member) + sizeof((api)->member))

/** The one symbol of libwhet.so. */
const whet_tuner_api* whet_tuner_v1(void);

#ifdef __cplusplus
}
#endif

#endif
