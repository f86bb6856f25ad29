/* libwhet.so as a program in C99 sees it: the layout of what it exchanges, and each function, on the program's own processes.
 *   tuner_test FOLDER     FOLDER: for files */
#define _GNU_SOURCE
#include "whet/tuner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Version 1 on 64-bit machines: a member that moves is a break of the ABI. */
#define HOLDS(name, condition) typedef char name[(condition) ? 1 : -1]
#define AT(type, member, offset) HOLDS(type##_##member, offsetof(type, member) == (offset))
AT(whet_text, size, 8);
AT(whet_tuner_options, program, 8);
AT(whet_tuner_options, on_note, 16);
AT(whet_tuner_options, user, 24);
HOLDS(bytes_of_tuner_options, sizeof(whet_tuner_options) == 32);
AT(whet_load_options, name, 8);
AT(whet_load_options, records, 16);
AT(whet_load_options, options, 24);
HOLDS(bytes_of_load_options, sizeof(whet_load_options) == 32);
AT(whet_tune_options, trials, 4);
AT(whet_tune_options, seconds, 8);
AT(whet_tune_options, records, 16);
AT(whet_tune_options, options, 24);
HOLDS(bytes_of_tune_options, sizeof(whet_tune_options) == 32);
AT(whet_compile_options, output, 8);
AT(whet_compile_options, records, 16);
AT(whet_compile_options, options, 24);
HOLDS(bytes_of_compile_options, sizeof(whet_compile_options) == 32);
AT(whet_tuner_api, tuner_create, 8);
AT(whet_tuner_api, tuner_destroy, 16);
AT(whet_tuner_api, problem_load, 24);
AT(whet_tuner_api, problem_load_bytes, 32);
AT(whet_tuner_api, problem_destroy, 40);
AT(whet_tuner_api, problem_tasks, 48);
AT(whet_tuner_api, problem_tune, 56);
AT(whet_tuner_api, problem_compile, 64);
AT(whet_tuner_api, problem_explain, 72);
AT(whet_tuner_api, problem_ask, 80);
AT(whet_tuner_api, records_read, 88);
HOLDS(version, WHET_TUNER_API_VERSION == 1);

static const whet_tuner_api* whet;
static whet_error error;

static void stop(const char* file, int line, const char* what) {
  fprintf(stderr, "%s:%d: %s; the last error: %s\n", file, line, what, error.message);
  exit(1);
}
#define CHECK(condition) ((condition) ? (void)0 : stop(__FILE__, __LINE__, #condition))
#define FAILS(call, sentence) CHECK((call) != 0 && strstr(error.message, sentence) != NULL)

static char folder[512];
static const char* path_of(const char* name) {
  static char paths[4][1024];
  static int next = 0;
  char* const path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}
static int has(whet_text text, const char* part) {
  CHECK(text.data[text.size] == '\0');
  return strstr(text.data, part) != NULL;
}

static whet_tuner* create(void) {
  whet_tuner* tuner = NULL;
  CHECK(whet->tuner_create(NULL, &tuner, &error) == 0);
  return tuner;
}
static whet_problem* load(whet_tuner* tuner, const char* path, const char* options) {
  whet_load_options load = {sizeof load};
  whet_problem* problem = NULL;
  load.options = options;
  CHECK(whet->problem_load(tuner, path, &load, &problem, &error) == 0);
  return problem;
}

/* What a callback sees, and does. */
typedef struct listener {
  pthread_t thread;
  whet_problem* own;   /* asked again from the callback */
  whet_problem* other; /* asked too; null: none */
  int events, rounds, finished, stops_at;
} listener;

static int hear(void* user, const char* json, size_t size) {
  listener* const seen = (listener*)user;
  whet_text text;
  CHECK(pthread_equal(seen->thread, pthread_self()));
  CHECK(strlen(json) == size && strchr(json, '\n') == NULL);
  ++seen->events;
  if (strstr(json, "\"event\":\"round\"") != NULL) ++seen->rounds;
  if (strstr(json, "\"event\":\"finished\"") != NULL) ++seen->finished;
  FAILS(whet->problem_tasks(seen->own, &text, &error), "one call at a time, and none from its own callback");
  if (seen->other != NULL) CHECK(whet->problem_tasks(seen->other, &text, &error) == 0);
  return seen->stops_at > 0 && seen->rounds >= seen->stops_at;
}

static void models_are_tuned_compiled_and_explained(void) {
  whet_tuner* const tuner = create();
  whet_problem* const problem = load(tuner, "zoo:mlp", "{\"threads\": 1}");
  whet_problem* const other = load(tuner, "zoo:mlp", NULL);
  whet_tune_options tune = {sizeof tune};
  whet_compile_options compile = {sizeof compile};
  listener seen = {0};
  whet_text text;
  CHECK(whet->problem_tasks(problem, &text, &error) == 0 && has(text, "\"dag\":"));
  seen.thread = pthread_self(), seen.own = problem, seen.other = other;
  tune.trials = 6, tune.records = path_of("mlp.jsonl");
  tune.options = "{\"no-network\": true, \"no-base\": true}";
  CHECK(whet->problem_tune(problem, &tune, hear, &seen, &text, &error) == 0);
  CHECK(has(text, "\"trials\":6") && has(text, "\"interrupted\":false"));
  CHECK(seen.rounds > 0 && seen.finished == 1);
  compile.output = path_of("mlp.so");
  CHECK(whet->problem_compile(problem, &compile, &text, &error) == 0 && has(text, "\"source\":\"record\""));
  CHECK(whet->problem_explain(problem, "task", "{\"task\": 0}", &text, &error) == 0 && has(text, "{"));
  FAILS(whet->problem_explain(problem, "task", "{\"task\": 99}", &text, &error), "99");
  CHECK(whet->records_read(tuner, path_of("mlp.jsonl"), "stats", &text, &error) == 0 && has(text, "\"trials\""));
  whet->problem_destroy(other);
  whet->problem_destroy(problem);
  whet->tuner_destroy(tuner);
}

static void a_callback_ends_the_run(void) {
  whet_tuner* const tuner = create();
  whet_problem* const problem = load(tuner, "zoo:mlp", "{\"threads\": 1, \"no-base\": true}");
  whet_tune_options tune = {sizeof tune};
  listener seen = {0};
  whet_text text;
  seen.thread = pthread_self(), seen.own = problem, seen.stops_at = 1;
  tune.trials = 100000, tune.options = "{\"round\": 2}";
  CHECK(whet->problem_tune(problem, &tune, hear, &seen, &text, &error) == 0);
  CHECK(has(text, "\"interrupted\":true"));
  CHECK(whet->problem_tasks(problem, &text, &error) == 0); /* and the problem goes on */
  whet->problem_destroy(problem);
  whet->tuner_destroy(tuner);
}

static void requests_of_serve_are_answered(void) {
  static const char* const define =
      "{\"id\": 1, \"do\": \"define\", \"dag\": \"x = PLACEHOLDER [8, 64]\\nw = PLACEHOLDER [64, 32] const\\n"
      "y(i, j) += (x[i, k]*w[k, j]) for i in 8, j in 32, k in 64\\nreturn y\\n\"}";
  static const char* const measure = "{\"do\": \"measure\", \"task\": 0, \"candidates\": [{\"steps\": \"\"}]}";
  whet_tuner* const tuner = create();
  whet_problem* const problem = load(tuner, NULL, "{\"threads\": 1}");
  whet_text text;
  CHECK(whet->problem_ask(problem, define, strlen(define), &text, &error) == 0 && has(text, "\"id\":1,\"task\":"));
  CHECK(whet->problem_ask(problem, measure, strlen(measure), &text, &error) == 0);
  CHECK(has(text, "\"recorded\":true") && has(text, "\"code\":0"));
  CHECK(whet->problem_tasks(problem, &text, &error) == 0 && has(text, "\"id\":0"));
  CHECK(whet->problem_ask(problem, "{\"do\": \"smaple\"}", 16, &text, &error) == 0 && has(text, "did you mean"));
  whet->problem_destroy(problem);
  whet->tuner_destroy(tuner);
}

static void* tune_alone(void* file) {
  whet_tuner* tuner = NULL;
  whet_problem* problem = NULL;
  whet_load_options load = {sizeof load};
  whet_tune_options tune = {sizeof tune};
  whet_error own = {{0}};
  load.options = "{\"threads\": 1, \"no-base\": true}";
  tune.trials = 4, tune.records = (const char*)file, tune.options = "{\"tasks\": 0, \"no-network\": true}";
  if (whet->tuner_create(NULL, &tuner, &own) != 0 || whet->problem_load(tuner, "zoo:mlp", &load, &problem, &own) != 0 ||
      whet->problem_tune(problem, &tune, NULL, NULL, NULL, &own) != 0) {
    fprintf(stderr, "%s\n", own.message);
    return NULL;
  }
  whet->problem_destroy(problem);
  whet->tuner_destroy(tuner);
  return file;
}

static void two_tuners_live_in_one_process(void) {
  pthread_t first, second;
  void *one, *two;
  CHECK(pthread_create(&first, NULL, tune_alone, (void*)path_of("first.jsonl")) == 0);
  CHECK(pthread_create(&second, NULL, tune_alone, (void*)path_of("second.jsonl")) == 0);
  pthread_join(first, &one);
  pthread_join(second, &two);
  CHECK(one != NULL && two != NULL);
}

static void a_child_may_not_use_a_tuner(void) {
  whet_tuner* const tuner = create();
  whet_problem* const problem = load(tuner, "zoo:mlp", NULL);
  int status = 1;
  whet_text text;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    whet_problem* another = NULL;
    FAILS(whet->problem_tasks(problem, &text, &error), "and this is a child of it; make a tuner in the child");
    FAILS(whet->problem_load(tuner, "zoo:mlp", NULL, &another, &error), "this is a child of it");
    whet->problem_destroy(problem);
    whet->tuner_destroy(tuner);
    _exit(0);
  }
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(whet->problem_tasks(problem, &text, &error) == 0);
  whet->problem_destroy(problem);
  whet->tuner_destroy(tuner);
}

static void hear_note(void* user, const char* note) {
  if (strstr(note, "nowhere.jsonl") != NULL) *(int*)user = 1;
}

static void wrong_use_is_a_sentence(void) {
  whet_tuner_options options = {sizeof options};
  whet_tune_options tune = {4};
  whet_compile_options compile = {sizeof compile};
  whet_tuner* tuner = NULL;
  whet_problem* problem = NULL;
  int told = 0;
  options.struct_bytes = 8;
  FAILS(whet->tuner_create(&options, &tuner, &error), "whet_tuner_options.struct_bytes is 8; expected sizeof");
  options.struct_bytes = sizeof options, options.program = "/nowhere/whet";
  options.on_note = hear_note, options.user = &told;
  CHECK(whet->tuner_create(&options, &tuner, &error) == 0);
  FAILS(whet->problem_load(tuner, "nowhere.onnx", NULL, &problem, &error), "nowhere.onnx");
  FAILS(whet->problem_load_bytes(tuner, "no model", 8, NULL, &problem, &error), "");
  FAILS(whet->problem_load(NULL, "zoo:mlp", NULL, &problem, &error), "the tuner is null");
  FAILS(whet->problem_tasks(NULL, NULL, &error), "the problem is null");
  CHECK(whet->problem_load(tuner, "zoo:mlp", NULL, &problem, NULL) == 0);
  FAILS(whet->problem_tune(problem, &tune, NULL, NULL, NULL, &error), "whet_tune_options.struct_bytes is 4");
  FAILS(whet->problem_tune(problem, NULL, NULL, NULL, NULL, &error), "/nowhere/whet is no program");
  CHECK(whet->problem_compile(problem, NULL, NULL, NULL) == -1); /* nobody asks why */
  compile.output = path_of("noted.so"), compile.options = "{\"base\": \"nowhere.jsonl\"}";
  CHECK(whet->problem_compile(problem, &compile, NULL, &error) == 0 && told == 1);
  whet->problem_destroy(problem);
  whet->problem_destroy(NULL);
  whet->tuner_destroy(tuner);
  whet->tuner_destroy(NULL);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  snprintf(folder, sizeof folder, "%s", argv[1]);
  whet = whet_tuner_v1();
  CHECK(whet->api_version == WHET_TUNER_API_VERSION && WHET_TUNER_HAS(whet, records_read));
  models_are_tuned_compiled_and_explained();
  a_callback_ends_the_run();
  requests_of_serve_are_answered();
  two_tuners_live_in_one_process();
  a_child_may_not_use_a_tuner();
  wrong_use_is_a_sentence();
  puts("all of libwhet.so");
  return 0;
}
