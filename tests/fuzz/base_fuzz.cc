// The bytes of a record base: a base that prints and reads back as the same, or a sentence.

#include "fuzz.h"
#include "records/record_base.h"

using namespace whet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<RecordBase> base = RecordBase::parse(fuzz::text_of(data, size), "a.jsonl");
  if (!base.ok()) return fuzz::require_sentence(base.error().message), 0;
  for (const std::string& note : base->notes()) fuzz::require_sentence(note);
  const std::string text = base->text();
  const Result<RecordBase> again = RecordBase::parse(text, "a.jsonl");
  fuzz::require(again.ok() && again->notes().empty(), "a printed base is read");
  fuzz::require(again->text() == text && again->tasks() == base->tasks(), "a base that was read prints as before");
  fuzz::require(RecordBase::joined({&*base, &*base}).tasks() == base->tasks(), "a base joined with itself is the same");
  static const Target target = parse_target("cpu -mcpu=znver4 -threads=2").value();
  for (const BaseTask& task : base->tasks()) (void)base->near(task.anchor, target, 4);
  (void)base->without("net").text();
  return 0;
}
