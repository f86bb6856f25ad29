#include "workflow/base.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tensor_files/file.h"

extern "C" const char whet_base_512_begin[], whet_base_512_end[];
extern "C" const char whet_base_256_begin[], whet_base_256_end[];

namespace whet {

RecordBase carried_base(std::string_view text, const std::string& name) {
  if (text.empty()) return {};
  Result<RecordBase> base = RecordBase::parse(text, name);
  return base.ok() ? std::move(*base) : RecordBase::unusable(base.error().message);
}

const RecordBase& shipped_base(const Target& target) {
  static const RecordBase none;
  if (!target.is_cpu() || target.cpu().isa != Isa::x86_64) return none;
  switch (target.cpu().vector_bytes) {
    case 64: {
      static const RecordBase base = carried_base({whet_base_512_begin, whet_base_512_end}, "cpu-512");
      return base;
    }
    case 32: {
      static const RecordBase base = carried_base({whet_base_256_begin, whet_base_256_end}, "cpu-256");
      return base;
    }
    default:
      return none;
  }
}

Result<RecordBase> read_base(const std::string& path) {
  WHET_TRY(const std::uint64_t size, file_size(path));
  // Of a file that is too large for a base, enough is read to be refused.
  WHET_TRY(const std::string text, read_file_part(path, 0, std::min<std::uint64_t>(size, RecordBase::kMostBytes + 1)));
  return RecordBase::parse(text, path);
}

Status BaseOptions::check() const {
  if (!none || files.empty()) return ok_status();
  return Error{"--no-base leaves --base " + files.front() + " without a meaning; give one of them",
               ErrorKind::wrong_use};
}

std::shared_ptr<const RecordBase> choose_base(const BaseOptions& options, const Target& target, const Tell& user) {
  if (options.none) return std::make_shared<const RecordBase>();
  // What whet carries lives as long as the program.
  std::shared_ptr<const RecordBase> shipped(&shipped_base(target), [](const RecordBase*) {});
  if (options.files.empty() || std::ranges::count(options.files, "shipped") > 0)
    for (const std::string& note : shipped->notes()) tell(user, note);
  if (options.files.empty()) return shipped;
  std::vector<RecordBase> read;
  std::vector<const RecordBase*> all;
  read.reserve(options.files.size());
  for (const std::string& file : options.files) {
    if (file == "shipped") {
      all.push_back(&*shipped);
      continue;
    }
    Result<RecordBase> base = read_base(file);
    if (!base.ok()) {
      tell(user, base.error().message);
      continue;
    }
    for (const std::string& note : base->notes()) tell(user, note);
    if (!base->serves(target)) {
      tell(user, file + ": has nothing for \"" + to_string(target) + "\"; default schedules are used");
      continue;
    }
    all.push_back(&read.emplace_back(std::move(*base)));
  }
  return std::make_shared<const RecordBase>(RecordBase::joined(all));
}

}  // namespace whet
