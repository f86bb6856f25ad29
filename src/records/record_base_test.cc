#include "records/record_base.h"

#include <gtest/gtest.h>

#include "artifact/kernel.h"

namespace whet {
namespace {

const char* const kHere = "cpu -mcpu=znver4 -threads=2";

Anchor product(std::int64_t rows, std::int64_t columns) {
  return {"matmul f32(f32,f32)+= row,column; other", {rows, columns, 64}, 1, false, 7};
}
BaseOrigin origin(const std::string& network, const std::string& target) {
  return {network, target, "Zen 4", codegen_version(CodeFormat::native_object), "0.2.0", "2026-11-29"};
}
BaseEntry entry(std::size_t origin, const std::string& sketch, double gain) { return {origin, {sketch, {}}, {}, gain}; }

RecordBase base() {
  return {"cpu-512",
          "2026.12",
          {origin("a", kHere), origin("b", "cpu -mcpu=sapphirerapids -threads=2"),
           origin("b", "cpu -mcpu=znver4 -threads=8"), origin("c", "cpu -mcpu=haswell -threads=2")},
          {{product(128, 64), 0, {entry(0, "far", 2)}},
           {product(32, 64), 0, {entry(0, "near", 1.2), entry(0, "nearer to go first", 1.5)}},
           {product(64, 64), 0, {entry(1, "other processor", 3), entry(2, "more threads", 3), entry(3, "narrow", 9)}}}};
}
std::vector<std::string> names(const std::vector<NearEntry>& found) {
  std::vector<std::string> names;
  for (const NearEntry& near : found) names.push_back(near.entry->candidate.sketch);
  return names;
}

TEST(RecordBase, SaysItsNameAndHowManyNetworksTaughtIt) {
  EXPECT_EQ(base().name(), "cpu-512 2026.12 (3 networks)");
  EXPECT_EQ(RecordBase().name(), "");
}
TEST(RecordBase, GivesTheNearestFirstThenTheGreatestGain) {
  EXPECT_EQ(names(base().near(product(32, 64), *parse_target(kHere), 12)),
            (std::vector<std::string>{"nearer to go first", "near", "far", "other processor", "more threads"}));
  EXPECT_EQ(base().near(product(32, 64), *parse_target(kHere), 1).size(), 1u);
}
TEST(RecordBase, GivesOtherMachinesThePlacesThatItsOwnLeaves) {
  EXPECT_EQ(names(base().near(product(64, 64), *parse_target(kHere), 3)),
            (std::vector<std::string>{"far", "nearer to go first", "near"}));
}
TEST(RecordBase, AnotherMachineIsADistanceAndNotTheOwnOne) {
  const RecordBase known = base();
  const auto found = known.near(product(64, 64), *parse_target(kHere), 12);
  std::map<std::string, NearEntry> by_name;
  for (const NearEntry& near : found) by_name[near.entry->candidate.sketch] = near;
  EXPECT_EQ(by_name.at("near").distance, 1);
  EXPECT_TRUE(by_name.at("near").own);
  EXPECT_EQ(by_name.at("other processor").distance, 1);
  EXPECT_FALSE(by_name.at("other processor").own);
  EXPECT_DOUBLE_EQ(by_name.at("more threads").distance, 1);
  EXPECT_FALSE(by_name.at("more threads").own);
}
TEST(RecordBase, OfAProcessorThatWasMeasuredForThisOneIsTheOwnOne) {
  const RecordBase known("cpu-512", "2026.12", {origin("a", "cpu -mcpu=icelake-client -threads=2")},
                         {{product(64, 64), 0, {entry(0, "taught there", 2)}}});
  const auto own = [&](const char* target) { return known.near(product(64, 64), *parse_target(target), 1)[0].own; };
  EXPECT_TRUE(own("cpu -mcpu=icelake-client -threads=2"));
  EXPECT_TRUE(own("cpu -mcpu=sapphirerapids -threads=2"));
  EXPECT_FALSE(own("cpu -mcpu=sapphirerapids -threads=4"));
  EXPECT_FALSE(own("cpu -mcpu=sapphirerapids -mattr=-avx512vnni -threads=2"));
  EXPECT_FALSE(own("cpu -mcpu=znver4 -threads=2"));
}
TEST(RecordBase, WhatAnotherProcessorsCodeOrAnOlderGeneratorTaughtIsFartherAndNotTheOwnOne) {
  std::vector<BaseOrigin> origins = {origin("a", kHere), origin("b", kHere), origin("c", kHere)};
  origins[1].foreign = true;
  origins[2].codegen -= 1;
  const RecordBase known("cpu-512", "2026.12", origins,
                         {{product(64, 64), 0, {entry(0, "own", 1), entry(1, "foreign", 2), entry(2, "older", 2)}}});
  const auto found = known.near(product(64, 64), *parse_target(kHere), 12);
  EXPECT_EQ(names(found), (std::vector<std::string>{"own", "foreign", "older"}));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].own, i == 0);
    EXPECT_EQ(found[i].distance, i == 0 ? 0 : 1);
  }
}
TEST(RecordBase, HasNothingForOtherVectorsOrOtherKinds) {
  EXPECT_EQ(names(base().near(product(64, 64), *parse_target("cpu -mcpu=haswell -threads=2"), 12)),
            (std::vector<std::string>{"narrow"}));
  Anchor other = product(64, 64);
  other.kind = "reduce f32(f32)+= row; other";
  EXPECT_TRUE(base().near(other, *parse_target(kHere), 12).empty());
}

}  // namespace
}  // namespace whet
