// A library as `whet compile` writes it, for tests: one input and one output of 4 bytes. What a run does is the input's first byte.
#include <whet/model.h>

extern int open(const char*, int, ...);
extern int socket(int, int, int);
extern int fork(void);
extern int getppid(void);
extern int kill(int, int);

enum { kWrites = 1, kReads = 0 };

struct whet_model {
  int opened;
};
struct whet_pool {
  whet_pool_info info;
};
struct whet_session {
  const unsigned char* input;
  unsigned char output[64] __attribute__((aligned(64)));
};

static struct whet_model the_model;
static struct whet_pool the_pool = {{1, NULL, 0, 0, "1 thread"}};
static struct whet_session the_session;
static const int64_t shape[1] = {4};
static const whet_tensor_info input = {"in", WHET_U8, 1, shape, 4}, output = {"out", WHET_U8, 1, shape, 4};
static const whet_model_info info = {"test", "cpu -mcpu=any -threads=1", "", "", "whet", 1, 1, 1, 1, 64, 0, 8, 0};
static const whet_step_profile step = {"node", "op", 8, 8, 0, 1, 2, 0};

static int model_open(const whet_open_options* options, whet_model** model, whet_error* error) {
  (void)options, (void)error;
  *model = &the_model;
  return 0;
}
static void model_close(whet_model* model) { (void)model; }
static const whet_model_info* model_info(const whet_model* model) { return (void)model, &info; }
static const whet_tensor_info* model_input(const whet_model* model, uint32_t i) {
  return (void)model, i == 0 ? &input : NULL;
}
static const whet_tensor_info* model_output(const whet_model* model, uint32_t i) {
  return (void)model, i == 0 ? &output : NULL;
}
static int pool_create(const whet_pool_options* options, whet_pool** pool, whet_error* error) {
  (void)options, (void)error;
  *pool = &the_pool;
  return 0;
}
static void pool_destroy(whet_pool* pool) { (void)pool; }
static const whet_pool_info* pool_info(const whet_pool* pool) { return &pool->info; }
static int session_create(whet_model* model, whet_pool* pool, whet_session** session, whet_error* error) {
  (void)model, (void)pool, (void)error;
  *session = &the_session;
  return 0;
}
static void session_destroy(whet_session* session) { (void)session; }
static whet_pool* session_pool(const whet_session* session) { return (void)session, &the_pool; }
static const char* session_note(const whet_session* session) { return (void)session, ""; }
static int session_set_input(whet_session* session, uint32_t i, const void* data, const int64_t* strides,
                             whet_error* error) {
  (void)i, (void)strides, (void)error;
  session->input = (const unsigned char*)data;
  return 0;
}
static int session_run(whet_session* session, whet_error* error) {
  switch (session->input[0]) {
    case 'c':
      *(volatile int*)NULL = 1;
      break;
    case 'h':
      for (volatile int forever = 1; forever;) {
      }
      break;
    case 'l':  // takes longer
      for (volatile int turn = 0; turn < 100000; turn = turn + 1) {
      }
      break;
    case 'e':
      if (error != NULL) memcpy(error->message, "it does not want to", 20);
      return -1;
    case 'r':  // may be read
      if (open("/proc/self/stat", kReads) < 0) session->output[1] = 1;
      break;
    case 'w':  // is refused
      if (open("/proc/self/oom_score_adj", kWrites) < 0) session->output[1] = 1;
      break;
    case 's':
      socket(1, 1, 0);
      break;
    case 'f':
      fork();
      break;
    case 'k':
      kill(getppid(), 0);
      break;
    default:
      break;
  }
  session->output[0] = (unsigned char)(session->input[0] + 1);
  session->output[2] = session->input[2];
  session->output[3] = session->input[3];
  return 0;
}
static const void* session_output(const whet_session* session, uint32_t i) { return i == 0 ? session->output : NULL; }
static void session_set_profiling(whet_session* session, int on) { (void)session, (void)on; }
static void session_profile(whet_session* session, whet_profile* profile) {
  (void)session;
  const whet_profile seen = {5, 1, 10, 0, 0, 1, &step};
  *profile = seen;
}

static const whet_api api = {offsetof(whet_api, device_count),
                             WHET_API_VERSION,
                             WHET_MODEL_FORMAT_VERSION,
                             0,
                             model_open,
                             model_close,
                             model_info,
                             model_input,
                             model_output,
                             pool_create,
                             pool_destroy,
                             pool_info,
                             session_create,
                             session_destroy,
                             session_pool,
                             session_note,
                             session_set_input,
                             NULL,
                             NULL,
                             session_run,
                             session_output,
                             NULL,
                             session_set_profiling,
                             session_profile};

__attribute__((visibility("default"))) const whet_api* whet_model_v1(void) { return &api; }
