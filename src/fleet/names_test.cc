#include "fleet/names.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace whet::fleet_names_test {
namespace {

const FleetSession kAnn = {"ann", "0123abcd"};

TEST(FleetNames, AreSubjectsThereAndBack) {
  const JobName job{"pi5", Priority::low, kAnn, 12};
  EXPECT_EQ(job_subject(job), "whet.job.pi5.lo.ann.0123abcd.12");
  EXPECT_EQ(parse_job_subject(job_subject(job)), job);
  EXPECT_EQ(key_subject("ann", "pi5"), "whet.job.pi5.*.ann.*.*");
  EXPECT_EQ(key_of_subject(key_subject("ann", "pi5")), "pi5");
  EXPECT_EQ(queue_subject("ann", "pi5", Priority::high), "whet.job.pi5.hi.ann.*.*");
  EXPECT_EQ(queue_name("pi_5", Priority::low), "pi_5_lo");
  EXPECT_EQ(key_of_queue("pi_5_lo"), "pi_5");
  EXPECT_EQ(job_stream("ann"), "WHET_JOBS_ann");
  EXPECT_EQ(user_of_job_stream(job_stream("ann")), "ann");
  EXPECT_EQ(answer_subject(kAnn, 12, 3), "whet.done.ann.0123abcd.12.3");
  const auto part = parse_answer_subject("whet.done.ann.0123abcd.12.3", kAnn);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->number, 12u);
  EXPECT_EQ(part->part, 3u);
  EXPECT_EQ(parse_note_subject(note_subject(kAnn, 7), kAnn), 7u);
  EXPECT_EQ(tuner_subject(kAnn), "$KV.whet_tuners.ann.0123abcd");
  const UnitName unit{"pi5", "lab", "pi5-01"};
  EXPECT_EQ(unit_subject(unit), "$KV.whet_devices.pi5.lab.pi5-01");
  EXPECT_EQ(parse_unit_subject(unit_subject(unit)), unit);
}
TEST(FleetNames, AreNoOtherSubjects) {
  for (const char* subject :
       {"", "whet", "whet.job.pi5.hi.ann.s", "whet.job.pi5.hi.ann.s.1.2", "whet.job.pi5.mid.ann.s.1",
        "whet.job..hi.ann.s.1", "whet.job.pi5.hi.*.s.1", "whet.job.pi5.hi.ann.s.-1", "whet.job.pi5.hi.ann.s.01",
        "whet.job.pi5.hi.ann.s.4294967296", "whet.done.pi5.hi.ann.s.1"})
    EXPECT_FALSE(parse_job_subject(subject).has_value()) << subject;
  for (const char* subject : {"whet.done.bob.0123abcd.1.0", "whet.done.ann.0123abcd.1", "whet.done.ann.0123abcd.1.x"})
    EXPECT_FALSE(parse_answer_subject(subject, kAnn).has_value()) << subject;
  EXPECT_FALSE(parse_note_subject("whet.note.ann.0123abcd.1.2", kAnn).has_value());
  EXPECT_FALSE(parse_unit_subject("$KV.whet_devices.pi5.lab").has_value());
  for (const char* subject : {"whet.job.*.*.ann.*.*", "whet.job.pi5.hi.ann.*.*", "whet.job.pi5.*.ann.*", ""})
    EXPECT_FALSE(key_of_subject(subject).has_value()) << subject;
  for (const char* queue : {"pi5", "pi5_mid", "_hi", "", "hi"}) EXPECT_FALSE(key_of_queue(queue).has_value()) << queue;
  for (const char* stream : {"WHET_JOBS", "WHET_JOBS_", "WHET_DONE", "KV_whet_tuners", "WHET_FILES_ann"})
    EXPECT_FALSE(user_of_job_stream(stream).has_value()) << stream;
  EXPECT_FALSE(is_fleet_word("a.b"));
  EXPECT_FALSE(is_fleet_word(std::string(49, 'a')));
}
TEST(FleetNames, ReadGarbageAsNothingOrAsItself) {
  Rng rng(5);
  for (int round = 0; round < 20000; ++round) {
    std::string subject = round % 2 == 0 ? "whet.job.pi5.lo.ann.0123abcd.12" : "$KV.whet_devices.pi5.lab.pi5-01";
    for (int i = 0; i < 2; ++i)
      subject[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(subject.size())))] =
          rng.chance(0.5) ? '.' : static_cast<char>(rng.below(256));
    if (const auto job = parse_job_subject(subject)) {
      EXPECT_EQ(job_subject(*job), subject);
    }
    if (const auto unit = parse_unit_subject(subject)) {
      EXPECT_EQ(unit_subject(*unit), subject);
    }
    parse_answer_subject(subject, kAnn);
    parse_note_subject(subject, kAnn);
  }
}

}  // namespace
}  // namespace whet::fleet_names_test
