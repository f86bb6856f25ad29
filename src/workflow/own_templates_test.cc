#include "workflow/own_templates.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/rng.h"
#include "tensor_files/file.h"

namespace whet::own_templates_test {
namespace {

const char* const kRow =
    R"({"do": "template", "task": 0, "name": "own", "decisions": [{"name": "j", "options": [4, 8]}], )";

class TemplateFile : public ::testing::Test {
 protected:
  TemplateFile() {
    const ComputeDag dag = parse_dag(R"(x = PLACEHOLDER [1, 64]
w = PLACEHOLDER [64, 32] const
dense(i, j) += (x[i, k]*w[k, j]) for i in 1, j in 32, k in 64
return dense
)")
                               .value();
    tasks_.push_back({workload_key(dag), "dense", dag, 1, {0}});
  }
  ~TemplateFile() override { std::filesystem::remove(path_); }

  Result<OwnTemplates> read(const std::string& text) {
    WHET_RETURN_IF_ERROR(write_file(path_, text));
    return read_templates(path_, tasks_, parse_target("cpu -mcpu=haswell -threads=1").value(), {},
                          [&](const std::string& note) { notes_.push_back(note); });
  }
  std::string error(const std::string& text) {
    const Result<OwnTemplates> templates = read(text);
    return templates.ok() ? "" : templates.error().message.substr(path_.size());
  }

  std::string path_ = ::testing::TempDir() + "/templates_" + std::to_string(getpid()) + ".jsonl";
  std::vector<Task> tasks_;
  std::vector<std::string> notes_;
};

TEST_F(TemplateFile, HasARequestALine) {
  const Result<OwnTemplates> templates = read(std::string(kRow) + "\"rows\": [[4, \"\"]]}\n\n" + kRow +
                                              "\"alone\": true, \"rows\": [[8, \"unroll l0\"], [4, \"\"]]}");
  ASSERT_TRUE(templates.ok()) << templates.error().message;
  const auto by_task = templates->by_task();
  ASSERT_EQ(by_task->size(), 1u);
  const OwnSketches& own = by_task->at(tasks_[0].key);
  EXPECT_TRUE(own.alone);
  EXPECT_EQ(own.sketches.at(0).rows.size(), 2u) << "rows of both lines";
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(read("\n")->by_task(), nullptr);
}
TEST_F(TemplateFile, TellsRowsThatAreLeftOut) {
  ASSERT_TRUE(read(std::string(kRow) + "\"rows\": [[4, \"\"], [8, \"vectorize l2\"]]}").ok());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_TRUE(notes_[0].starts_with("template own, row 2 (j=8): step 1 (vectorize l2): ")) << notes_[0];
}
TEST_F(TemplateFile, SaysWhichLineIsWrong) {
  EXPECT_EQ(error("\n{"), ", line 2: " + parse_json("{").error().message);
  EXPECT_EQ(error("{\"task\": 1}"), ", line 1: task is 1; the tasks are 0 to 0");
  EXPECT_EQ(error("{\"task\": 0}"), ", line 1: name is null; expected the template's name");
  EXPECT_EQ(error(std::string(kRow) + "\"rows\": [[8, \"vectorize l2\"]]}"),
            ", line 1: no row of template own is a schedule of dense");
}
TEST_F(TemplateFile, HoldsNoMoreRowsThanATaskMayHave) {
  std::string options, rows;
  for (std::int64_t i = 0; i <= ScheduleTable::kMostRows; ++i) {
    if (i < ScheduleTable::kMostRows) options += (i > 0 ? "," : "") + std::to_string(i);
    rows += (i > 0 ? ",[" : "[") + std::to_string(i % ScheduleTable::kMostRows) + ",\"\"]";
  }
  EXPECT_EQ(error("{\"task\": 0, \"name\": \"own\", \"decisions\": [{\"name\": \"j\", \"options\": [" + options +
                  "]}], \"rows\": [" + rows + "]}"),
            ", line 1: template own: dense would have 20001 rows; expected 20000 at most");
}
TEST_F(TemplateFile, AnswersGarbageWithASentence) {
  const std::string good = std::string(kRow) + R"("rows": [[4, "split l1 4 guard"], [8, "split l1 8 guard"]]})";
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (std::int64_t change = rng.below(4); change >= 0; --change) {
      const auto at = static_cast<std::size_t>(rng.below(std::ssize(text)));
      const char other = good[static_cast<std::size_t>(rng.below(std::ssize(good)))];
      rng.chance(0.5) ? text.erase(at, 1) : text.insert(at, 1, other);
    }
    const Result<OwnTemplates> templates = read(text);
    EXPECT_TRUE(templates.ok() || templates.error().message.size() > path_.size() + 10);
  }
}

}  // namespace
}  // namespace whet::own_templates_test
