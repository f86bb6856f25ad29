#include "workflow/sizes.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/testing/checkout.h"

namespace whet {
namespace {

std::string read_as(const std::vector<std::string>& entries) {
  const auto sizes = parse_sizes(entries);
  if (!sizes.ok()) return sizes.error().message;
  std::string text;
  for (const WantedSize& size : *sizes) text += (text.empty() ? "" : " ") + size.name + "=" + to_text(size);
  return text;
}

TEST(ParseSizes, ReadsRangesAndLists) {
  EXPECT_EQ(read_as({"n=1..512"}), "n=1..512");
  EXPECT_EQ(read_as({"x.2=64..960:32", "b=1..4"}), "x.2=64..960:32 b=1..4");
  EXPECT_EQ(read_as({"x.0={8,1,2,4}"}), "x.0={1,2,4,8}");
  EXPECT_EQ(read_as({"x.0=8,1"}), "x.0={1,8}");
  EXPECT_EQ(read_as({"n=7"}), "n={7}");
  EXPECT_EQ(read_as({"a=b=1..2"}), "a=b=1..2");
  // A shell writes x.0={1,2} out as two words.
  EXPECT_EQ(read_as({"x.0=1", "x.0=2"}), "x.0={1,2}");
  // The last value is one that the steps reach.
  EXPECT_EQ(read_as({"n=1..10:4"}), "n=1..9:4");
  EXPECT_EQ((*parse_sizes({"n={2,6,14}"}))[0].range, (SizeRange{"n", 2, 14, 4}));
}

TEST(ParseSizes, SaysWhatASizeLooksLike) {
  for (const char* text :
       {"", "n", "n=", "=1..2", "n=0..4", "n=5..4", "n=1..", "n=..4", "n=1..4:", "n=1..4:0", "n={}", "n={1,2", "n=1,2}",
        "n=1,,2", "n={1..4}", "n=-1..4", "n=1..99999999999", "n=a..b", "n=1 ..2"}) {
    EXPECT_EQ(read_as({text}),
              "--sizes is \"" + std::string(text) +
                  "\"; expected a size and its values, like n=1..512, x.2=64..960:32 or x.0={1,2,4,8}");
  }
  EXPECT_EQ(read_as({"n=1..4", "n=1..8"}), "--sizes: n is given twice, as 1..4 and as 1..8");
}

TEST(ParseSizes, SurvivesGarbage) {
  const std::string letters = "n=.,:{}0123456789-x ";
  Rng rng(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text = "n=";
    for (std::int64_t length = rng.between(0, 12); length > 0; --length)
      text += letters[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(letters.size())))];
    const auto sizes = parse_sizes({text});
    if (!sizes.ok()) continue;
    ASSERT_EQ(sizes->size(), 1u);
    EXPECT_TRUE(verify(std::vector<SizeRange>{(*sizes)[0].range}).ok()) << text;
    EXPECT_EQ(read_as({(*sizes)[0].name + "=" + to_text((*sizes)[0])}), read_as({text}));
  }
}

std::vector<FileInput> token_inputs() {
  const FileDimension batch{std::nullopt, "b"}, length{std::nullopt, "n", 24, 2, 512};
  return {{"ids", DType::i64, std::vector<FileDimension>{batch, length}},
          {"mask", DType::i64, std::vector<FileDimension>{batch, length}},
          {"x", DType::f32, std::vector<FileDimension>{{3, ""}, {std::nullopt, ""}}}};
}

TEST(OpenSizes, AreTheDimensionsThatTheFileLeavesOpen) {
  const auto sizes = open_sizes(token_inputs());
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[0].name(), "ids.0");
  EXPECT_FALSE(sizes[0].range().has_value());
  EXPECT_EQ(sizes[1].symbol, "n");
  EXPECT_EQ(sizes[1].dimensions, (std::vector<std::pair<std::string, std::size_t>>{{"ids", 1}, {"mask", 1}}));
  EXPECT_EQ(sizes[1].range(), (SizeRange{"ids.1", 2, 512}));
  EXPECT_EQ(sizes[2].name(), "x.1");
  EXPECT_EQ(example_of(sizes[0]), "ids.0=1..32");
  EXPECT_EQ(example_of(sizes[1]), "ids.1=2..512");
}

TEST(OpenSizes, AreMultiplesWhereTheFileSaysSo) {
  FileDimension width{std::nullopt, "4*s", 40, 15, 254};
  width.step = 4;
  const auto sizes = open_sizes(std::vector<FileInput>{{"x", DType::f32, std::vector<FileDimension>{{1, ""}, width}}});
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_EQ(sizes[0].range(), (SizeRange{"x.1", 16, 252, 4}));
  EXPECT_EQ(example_of(sizes[0]), "x.1=16..252:4");
}

/// torch.export bounds a dimension of this file.
TEST(BoundedSizes, AreThoseThatNothingBinds) {
  const ModelOptions model{.model = checkout_path("tests/models/torch/dyn.pt2")};
  const auto bounded = bounded_sizes(model, {});
  ASSERT_TRUE(bounded.ok()) << bounded.error().message;
  ASSERT_EQ(bounded->size(), 1u);
  EXPECT_EQ(example_of(bounded->front()), "x.0=1..64");
  ModelOptions bound = model;
  bound.shapes = {"x=4x2x3"};
  EXPECT_TRUE(bounded_sizes(bound, {})->empty());
  InputFiles files;
  files.named["x"] = Tensor(DType::f32, {4, 2, 3});
  EXPECT_TRUE(bounded_sizes(model, files)->empty());
  bound.sizes = {"x.0=2..8"};
  EXPECT_EQ(sized_model(bound, {}).error().message,
            "--sizes x.0 and --shape or --input x are of one dimension; give one of them");
  EXPECT_TRUE(bounded_sizes({.model = "zoo:mlp"}, {})->empty());
}

/// Nothing is taken as 1 beside sizes that are named.
TEST(SizedModel, AsksForOtherOpenDimensions) {
  const ModelOptions model{.model = checkout_path("tests/models/ppocr_cls.onnx"), .sizes = {"x.3=48..320:8"}};
  const auto sized = sized_model(model, {});
  ASSERT_TRUE(sized.ok()) << sized.error().message;
  const auto at = sized->at({64});
  ASSERT_FALSE(at.ok());
  EXPECT_EQ(at.error().message, "x.0 is open too; give it a range or a value: --sizes x.0=1..32 or --sizes x.0=1");
}

/// "data.0 mask.0; data.2 data.3"
std::string dimensions_of(const std::string& model, const std::vector<std::string>& sizes,
                          const std::string& layout = "") {
  const auto sized = sized_model({.model = model, .sizes = sizes, .layout = layout}, {});
  if (!sized.ok()) return sized.error().message;
  std::string text;
  for (const auto& dimensions : sized->dimensions) {
    if (!text.empty()) text += ";";
    for (const auto& [input, dimension] : dimensions)
      text += (text.empty() ? "" : " ") + input + "." + std::to_string(dimension);
  }
  return text;
}

TEST(SizedModel, KnowsWhichDimensionsItsSizesAre) {
  EXPECT_EQ(dimensions_of("zoo:mlp", {"batch={1,3}"}), "data.0");
  EXPECT_EQ(dimensions_of("zoo:lstm", {"batch={32}"}), "data.1") << "there are 32 steps too";
  EXPECT_EQ(dimensions_of("zoo:bert-mini", {"batch=1..4"}), "data.0 mask.0");
  EXPECT_EQ(dimensions_of("zoo:resnet-18", {"batch={1,2}", "image={64}"}), "data.0; data.2 data.3");
  EXPECT_EQ(dimensions_of("zoo:resnet-18", {"image={64}"}, "nhwc"), "data.1 data.2");
}

std::string family_of(const std::vector<std::string>& sizes, const std::vector<std::string>& shapes = {}) {
  const auto family = load_family({.model = "zoo:mlp", .shapes = shapes, .sizes = sizes});
  if (!family.ok()) return family.error().message;
  std::string text = to_text(family->sizes) + ":";
  for (const Variant& variant : family->variants) text += " " + to_text(family->sizes, variant.at);
  return text;
}

TEST(LoadFamily, ReadsAModelAtAllItsSizes) {
  EXPECT_EQ(family_of({"batch=2..12"}), "batch=2..12: batch=12");
  EXPECT_EQ(family_of({"batch={1,3}"}), "batch=1..3:2: batch=1 batch=3");
  const auto fixed = load_family({.model = "zoo:squeezenet_v1.1", .sizes = {"image=64", "batch=2..3"}});
  ASSERT_TRUE(fixed.ok()) << fixed.error().message;
  EXPECT_EQ(to_text(fixed->sizes), "image=64, batch=2..3");
  EXPECT_EQ(fixed->variants.size(), 1u) << "one value beside a range makes no list of it";
  EXPECT_EQ(family_of({}), "no sizes are given; give ranges: --sizes batch=1..32");
  EXPECT_EQ(family_of({"batch=1..2147483647"}),
            "--sizes batch=1..2147483647: these are 2147483647 values; 65536 are read at most: give a step, as in "
            "batch=1..2147483647:32768");
  EXPECT_EQ(family_of({"batch=65537"}), "--sizes batch=65537: a built-in network takes 65536 at most");
  const auto both = load_family({.model = "zoo:squeezenet_v1.1", .sizes = {"image=64,128", "batch=1..40000"}});
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().message, "--sizes: the lists have more than 256 combinations; give ranges for some of them");
  EXPECT_EQ(family_of({"bach=1..4"}),
            "--sizes bach=1..4: the model has no open size \"bach\"; its sizes are batch; did you mean \"batch\"?");
}

}  // namespace
}  // namespace whet
