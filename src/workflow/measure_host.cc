#include "workflow/measure_host.h"

#include "device/local/gpus.h"
#include "device/local/model_timer.h"
#include "device/local/runner_client.h"
#include "measure/build.h"

namespace whet {

int run_measure_host(int fd) {
  const Life* const lives[] = {&kBuilder, &kRunner, &kModelTimer, &kFindGpus};
  return serve_as_zygote(fd, lives);
}

}  // namespace whet
