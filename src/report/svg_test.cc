#include "report/svg.h"

#include <gtest/gtest.h>

#include "report/style.h"
#include "report/text.h"

namespace whet {
namespace svg_test {

TEST(Scale, PutsItsEndsWhereTheyBelong) {
  const Scale linear(0, 10, 100, 200), log(1, 100, 0, 10, true);
  EXPECT_DOUBLE_EQ(linear(0), 100);
  EXPECT_DOUBLE_EQ(linear(5), 150);
  EXPECT_DOUBLE_EQ(log(10), 5);
}

TEST(Scale, HasRoundTicksWithinItsEnds) {
  EXPECT_EQ(Scale(0, 63, 0, 1).ticks(7), (std::vector<double>{0, 10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(Scale(0.9, 60, 0, 1, true).ticks(3), (std::vector<double>{1, 2, 5, 10, 20, 50}));
  EXPECT_EQ(tick_text(Scale(0, 63, 0, 1).ticks(7).front()), "0");
  EXPECT_EQ(tick_text(20000), "20k");
}

TEST(Scale, OfOneValueIsNoDivisionByZero) {
  EXPECT_EQ(px(Scale(3, 3, 0, 10)(3)), "0");
  EXPECT_EQ(px(Scale(3, 3, 0, 10, true)(3)), "0");
}

TEST(Svg, IsAnImageWithAName) {
  Svg svg(10, 20, "Title <", "What it shows");
  svg.line(0, 0, 1.25, 2, "axis");
  svg.text(1, 2, "a & b", "", Anchor::end);
  EXPECT_EQ(
      svg.done(),
      "<svg viewBox=\"0 0 10 20\" width=\"10\" height=\"20\" role=\"img\" aria-label=\"Title &lt;. What it shows\">"
      "<path class=\"axis\" d=\"M0 0L1.3 2\"/><text x=\"1\" y=\"2\" text-anchor=\"end\">a &amp; b</text></svg>");
}

TEST(LabelPlaces, GiveEachLabelAPlaceOfItsOwn) {
  LabelPlaces places;
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  Anchor anchor = Anchor::start;
  ASSERT_TRUE(places.find(100, 100, "first", x1, y1, anchor));
  EXPECT_EQ(anchor, Anchor::start);
  ASSERT_TRUE(places.find(100, 100, "second", x2, y2, anchor));
  EXPECT_EQ(anchor, Anchor::end);
  LabelPlaces full;
  full.take(0, 0, 500, 500);
  EXPECT_FALSE(full.find(100, 100, "third", x1, y1, anchor));
}

TEST(ReportText, GivesAsMuchOfALabelAsFits) {
  const TaskLabel label{OperatorKind::convolution, "conv2d", "56x56x64", "k3"};
  EXPECT_EQ(label_in(label, 200), "conv2d 56x56x64 k3");
  EXPECT_EQ(label_in(label, 100), "conv2d 56x56x64");
  EXPECT_EQ(label_in(label, 60), "conv2d") << "the operation is what a bar always names";
  EXPECT_EQ(label_in(label, 20), "");
  EXPECT_EQ(label_in({OperatorKind::elementwise, "2 small tasks"}, 20), "");
}

TEST(ReportText, WritesAllTimesOfAPageInOneUnit) {
  const TimeUnit ms(5e-3), us(0.9e-3);
  EXPECT_EQ(ms.text(12.34e-3), "12.3\u00a0ms");
  EXPECT_EQ(ms.text(0.9996e-3), "1.00\u00a0ms");
  EXPECT_EQ(ms.text(31.2e-6), "0.0312\u00a0ms");
  EXPECT_EQ(ms.text(1.5), "1500\u00a0ms");
  EXPECT_EQ(ms.number(31.2e-6), "0.0312");
  EXPECT_EQ(us.text(231e-6), "231\u00a0µs");
  EXPECT_EQ(us.text(1.2e-3), "1200\u00a0µs");
  EXPECT_EQ(us.number(231e-6), "231.00");
  EXPECT_EQ(us.text(-1), "–");
}

TEST(ReportText, ChoosesTheUnitByTheNetworkOrItsTasks) {
  ReportData data;
  data.tasks.resize(1);
  data.tasks[0].best_seconds = 2e-3;
  EXPECT_EQ(unit_of(data).name(), "ms");
  data.network.tuned_seconds = 0.5e-3;
  EXPECT_EQ(unit_of(data).name(), "µs");
}

TEST(ReportText, WritesCountsAndShares) {
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_of(1, "task"), "1 task");
  EXPECT_EQ(share_text(1, 3), "33%");
  EXPECT_EQ(gain_of(3, 2), "1.50×");
}

TEST(ReportText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(escaped("a\xC0\xAF\x80 \xE2\x82\xAC \xF4\x90\x80\x80"), "a��� € ����");
  EXPECT_EQ(escaped("<\"'&>\n"), "&lt;&quot;&#39;&amp;&gt;\n");
}

TEST(ReportStyle, NamesAScriptByItsHash) {
  // Of the empty text, as FIPS 180-4 has it.
  EXPECT_EQ(source_hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

}  // namespace svg_test
}  // namespace whet
