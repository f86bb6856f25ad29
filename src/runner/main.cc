// whet-runner: receives kernels over a socket and times them (docs/formats/wire.md). Started by whet, not by people.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runner/loop.h"

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--fd") == 0) {
    char* end = nullptr;
    const long fd = std::strtol(argv[2], &end, 10);
    if (*argv[2] != '\0' && *end == '\0' && fd >= 0) return whet::run_runner(static_cast<int>(fd));
  }
  std::fprintf(stderr, "usage: whet-runner --fd N    N: a connected socket on which whet sends kernels\n");
  return 2;
}
