// A weights file, mapped and read: refused by a sentence, or its weights are the file's bytes. Checksums are put right first, else
// nothing behind them were reached.

#include <cstddef>
#include <cstring>
#include <string>

#include "fuzz.h"
#include "runtime/testing/weights_bytes.h"
#include "runtime/weights_file.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  if (bytes.size() % 2 == 0) sign_weights(bytes);
  const WeightsOf of{"net", 7, bytes.size() < WHET_WEIGHTS_BEGIN ? 0 : bytes.size() - WHET_WEIGHTS_BEGIN};
  whet_open_source source{};
  source.struct_bytes = sizeof source;
  source.weights = bytes.data();
  source.weights_bytes = bytes.size();
  for (const bool map : {false, true}) {
    OwnWeights weights{};
    whet_error error{};
    if (open_weights(of, source, map, &weights, &error) != 0) {
      fuzz::require_sentence(error.message);
      continue;
    }
    fuzz::require(std::memcmp(weights.data, bytes.data() + WHET_WEIGHTS_BEGIN, of.bytes) == 0,
                  "weights are the file's");
    fuzz::require(check_weights(weights, &error) == 0, "memory is not cut");
    close_weights(&weights);
  }
  return 0;
}
