#include "runner/given.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/check.h"
#include "base/hash.h"
#include "base/message.h"
#include "runner/lent.h"

namespace whet {
namespace {

using Contents = std::shared_ptr<const std::string>;

struct Given {
  std::mutex mutex;
  std::map<std::uint64_t, Contents> kept;
  std::map<std::uint64_t, std::weak_ptr<const std::string>> lent;

  /// Null where there are none of that number.
  Contents find(std::uint64_t number) const {
    if (const auto found = kept.find(number); found != kept.end()) return found->second;
    const auto found = lent.find(number);
    return found == lent.end() ? nullptr : found->second.lock();
  }
};
Given& given() {
  static Given all;
  return all;
}

}  // namespace

std::uint64_t number_of_contents(std::string_view bytes) {
  const std::uint64_t number = hash_combine(hash_bytes(bytes), bytes.size());
  return number == 0 ? 1 : number;
}

std::uint64_t keep_given(std::string bytes) {
  const std::uint64_t number = number_of_contents(bytes);
  const std::lock_guard<std::mutex> lock(given().mutex);
  given().kept.try_emplace(number, std::make_shared<const std::string>(std::move(bytes)));
  return number;
}

std::shared_ptr<const std::string> lend_given(std::string bytes) {
  const std::uint64_t number = number_of_contents(bytes);
  const std::lock_guard<std::mutex> lock(given().mutex);
  std::erase_if(given().lent, [](const auto& entry) { return entry.second.expired(); });
  if (Contents there = given().find(number)) return there;
  Contents contents = std::make_shared<const std::string>(std::move(bytes));
  given().lent[number] = contents;
  return contents;
}

std::shared_ptr<const std::string> given_contents(std::uint64_t number) {
  const std::lock_guard<std::mutex> lock(given().mutex);
  return given().find(number);
}

ArgumentSpec given_spec(ArgumentSpec spec, std::uint64_t number) {
  spec.seed = number;
  spec.index_bound = ArgumentSpec::kGiven;
  return spec;
}

std::string given_message(std::uint64_t number) {
  const auto contents = given_contents(number);
  WHET_CHECK(contents != nullptr, "contents that nobody gave");
  Packer p;
  p.put(number);
  std::string message = p.take();
  return message += *contents;
}

bool take_given(std::string_view message) {
  Unpacker u(message);
  const auto number = u.get<std::uint64_t>();
  if (!u.ok()) return false;
  message.remove_prefix(sizeof(std::uint64_t));
  constexpr std::size_t kMostBytes = std::size_t{8} << 30;  // of all, as far as a machine has them
  std::size_t kept = message.size();
  {
    const std::lock_guard<std::mutex> lock(given().mutex);
    for (const auto& [other, contents] : given().kept) kept += contents->size();
  }
  if (kept > kMostBytes) return false;
  return keep_given(std::string(message)) == number;
}

bool has_given(const KernelJob& job) {
  return std::ranges::all_of(job.arguments, [](const ArgumentSpec& spec) {
    const auto contents = spec.is_given() ? given_contents(spec.seed) : nullptr;
    return !spec.is_given() || (contents != nullptr && std::ssize(*contents) == spec.bytes);
  });
}

}  // namespace whet
