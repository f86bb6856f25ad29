#include "artifact/emulated_module.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"

namespace whet {
namespace {

EmulatedModule example() {
  return {{{"first", 2e-6, 0, 3}, {"second", 0, 1, 1}, {"third", 1, 0, 0}}, {"one object", ""}};
}

std::string error_of(const EmulatedModule& module) {
  const auto read = read_emulated_module(write_emulated_module(module));
  return read.ok() ? "" : read.error().message;
}

TEST(EmulatedModule, IsReadAsItWasWritten) {
  const std::string stored = write_emulated_module(example());
  const auto read = read_emulated_module(stored);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(write_emulated_module(*read), stored);
  EXPECT_EQ(read->entries[1].name, "second");
  EXPECT_EQ(read->entries[1].object, 1u);
  EXPECT_EQ(read->entries[0].parameters, 3u);
  EXPECT_EQ(read->objects[0], "one object");
  EXPECT_EQ(emulated_module_bytes(stored.data()), stored.size());
  EXPECT_EQ(emulated_module_bytes(".version 7.0\n.target sm_80, text"), 0u);
  EXPECT_EQ(error_of({}), "");
}
TEST(EmulatedModule, JoinsOthersAndKeepsEachEntryWithItsObject) {
  EmulatedModule other = example();
  for (EmulatedModule::Entry& entry : other.entries) entry.name += "_too";
  const EmulatedModule both[] = {example(), other};
  const EmulatedModule all = joined(both);
  ASSERT_EQ(all.entries.size(), 6u);
  EXPECT_EQ(all.entries[4].name, "second_too");
  EXPECT_EQ(all.entries[4].object, 3u);
  EXPECT_EQ(all.objects.size(), 4u);
  EXPECT_EQ(error_of(all), "");
}
TEST(EmulatedModule, SaysWhatIsWrongWithIt) {
  EmulatedModule twice = example(), nowhere = example(), odd = example();
  twice.entries[2].name = "first";
  nowhere.entries[0].object = 2;
  odd.entries[0].seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of(twice), "the emulated code is damaged: entry first is there twice");
  EXPECT_EQ(error_of(nowhere), "the emulated code is damaged: entry first is in object 2 of 2");
  EXPECT_EQ(error_of(odd), "the emulated code is damaged: entry first takes a time that no launch takes");
  std::string newer = write_emulated_module(example());
  newer[8] = 9;
  EXPECT_EQ(read_emulated_module(newer).error().message,
            "the emulated code is of version 9; this whet reads version 1");
}
TEST(EmulatedModule, IsRefusedAtEveryLengthButItsOwn) {
  const std::string stored = write_emulated_module(example());
  for (std::size_t length = 0; length < stored.size(); ++length)
    EXPECT_FALSE(read_emulated_module(stored.substr(0, length)).ok()) << length;
  EXPECT_FALSE(read_emulated_module(stored + '\0').ok());
}
TEST(EmulatedModule, SurvivesAnyBytes) {
  Rng rng(1);
  const std::string stored = write_emulated_module(example());
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = stored;
    for (int change = 0; change < 3; ++change) {
      const auto at = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(bytes.size()) - 1));
      bytes[at] = static_cast<char>(rng.between(0, 255));
    }
    const auto module = read_emulated_module(bytes);
    if (!module.ok()) continue;
    ++read;
    EXPECT_EQ(write_emulated_module(*module), bytes);
  }
  EXPECT_GT(read, 100) << "bytes of names and objects may change";
}

}  // namespace
}  // namespace whet
