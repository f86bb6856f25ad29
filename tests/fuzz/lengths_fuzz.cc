// A file of requests (docs/formats/lengths.md): sizes that the model has, each once and ascending, with counts, or a sentence.

#include <algorithm>
#include <string>
#include <vector>

#include "fuzz.h"
#include "workflow/lengths.h"
#include "workflow/sizes.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<WantedSize> one = {{"n", {"n", 1, 512, 1}, {}}};
  const std::vector<WantedSize> two = {{"b", {"b", 1, 8, 1}, {1, 2, 4, 8}}, {"n", {"n", 32, 960, 32}, {}}};
  for (const std::vector<WantedSize>& sizes : {one, two}) {
    const auto requests = parse_lengths(fuzz::text_of(data, size), "requests.txt", sizes);
    if (!requests.ok()) {
      fuzz::require_sentence(requests.error().message);
      continue;
    }
    fuzz::require(!requests->empty(), "a file without a request is refused");
    std::string again;
    for (const RequestCount& each : *requests) {
      fuzz::require(check_has(sizes, each.at).ok(), "each size is one of the model");
      fuzz::require(each.count >= 1, "each size has a request");
      again += std::to_string(each.at[0]) + (each.at.size() > 1 ? "x" + std::to_string(each.at[1]) : "") + "\n";
    }
    const auto read = parse_lengths(again, "requests.txt", sizes);
    fuzz::require(read.ok() && read->size() == requests->size(), "what was read is written and read again");
    fuzz::require(std::ranges::is_sorted(*requests, {}, &RequestCount::at), "sizes ascend");
  }
  return 0;
}
