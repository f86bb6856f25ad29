#include "base/message.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace whet {

namespace message_test {

enum class Colour : std::uint8_t { red, green };
struct Point {
  std::int32_t x = 0;
  bool filled = false;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Note {
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};
struct Picture {
  std::uint16_t version = 0;
  double scale = 0;
  Colour colour{};
  std::vector<Point> points;
  std::optional<Point> origin;
  std::pair<std::uint8_t, std::string> label;
  std::variant<Point, Note> mark;
  Note note;
  std::optional<Note> other;
  friend bool operator==(const Picture&, const Picture&) = default;
};

bool mend_short(std::string& text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text.size() <= 4;
}
bool is_filled_where_it_has_an_origin(const Picture& p) { return !p.origin || p.origin->filled; }

}  // namespace message_test

using namespace message_test;

template <>
constexpr auto kLast<Colour> = Colour::green;
template <>
constexpr auto kRow<Point> = row<&Point::x, &Point::filled>;
template <>
constexpr auto kRow<Note> = row<where<mend_short, &Note::text>>;
template <>
constexpr auto kRow<Picture> = row<widened<std::uint32_t, &Picture::version>, &Picture::scale, &Picture::colour,
                                   at_most<3, &Picture::points>, &Picture::origin, &Picture::label, &Picture::mark,
                                   as_text<&Picture::note>, as_text<&Picture::other>, is_filled_where_it_has_an_origin>;

namespace message_test {
namespace {

Picture sample() {
  return {3, 0.5, Colour::green, {{1, true}, {-2, false}}, Point{4, true}, {5, "five"}, Note{"mark"}, {"a"}, Note{"b"}};
}

TEST(Message, HasItsFieldsInTheOrderOfItsRow) {
  EXPECT_EQ(encode(Point{-2, true}), std::string("\xfe\xff\xff\xff\x01", 5));
  EXPECT_EQ(encode(Note{"ab"}), std::string("\x02\0\0\0\0\0\0\0ab", 10));
  Picture picture;
  picture.version = 0x0102;
  picture.points = {{7, false}};
  picture.label = {9, ""};
  const std::string length("\0\0\0\0\0\0\0", 7), none = '\0' + length;
  EXPECT_EQ(encode(picture), std::string("\x02\x01\0\0", 4) + none + '\0' + "\x01" + length +
                                 std::string("\x07\0\0\0\0", 5) + '\0' + "\x09" + none + '\0' + "\x05" + length +
                                 std::string(5, '\0') + "\x08" + length + none + none);
}
TEST(Message, ReadsWhatItWrote) {
  EXPECT_EQ(decode<Picture>(encode(sample())), sample());
  Picture other = sample();
  other.origin.reset();
  other.other.reset();
  other.mark = Point{1, false};
  EXPECT_EQ(decode<Picture>(encode(other)), other);
}
TEST(Message, RefusesFieldsThatAreNone) {
  const auto refuses = [](auto change) {
    Picture picture = sample();
    change(picture);
    return !decode<Picture>(encode(picture)).has_value();
  };
  EXPECT_FALSE(refuses([](Picture&) {}));
  EXPECT_TRUE(refuses([](Picture& p) { p.colour = Colour{2}; }));
  EXPECT_TRUE(refuses([](Picture& p) { p.points.resize(4); }));
  EXPECT_TRUE(refuses([](Picture& p) { p.note.text = "longer"; }));
  EXPECT_TRUE(refuses([](Picture& p) { p.other->text = "longer"; }));
  EXPECT_TRUE(refuses([](Picture& p) { p.mark = Note{"longer"}; }));
  EXPECT_TRUE(refuses([](Picture& p) { p.origin->filled = false; }));
  EXPECT_FALSE(decode<Point>(std::string("\x01\0\0\0\x02", 5)).has_value()) << "a bool is 0 or 1";
  std::string wide = encode(sample());
  wide[2] = 1;
  EXPECT_FALSE(decode<Picture>(wide).has_value()) << "a version has two bytes";
  EXPECT_FALSE(decode<Picture>(encode(sample()) + "x").has_value());
}
TEST(Message, IsMendedWhileItIsRead) { EXPECT_EQ(decode<Note>(encode(Note{"a\nb"}))->text, "a b"); }
TEST(Message, SurvivesGarbage) {
  Rng rng(5);
  const std::string sample_bytes = encode(sample());
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = sample_bytes;
    for (auto n = rng.below(4); n > 0; --n)
      bytes[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(rng.below(256));
    if (rng.chance(0.3)) bytes.resize(static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(bytes.size()))));
    if (const auto picture = decode<Picture>(bytes)) {
      EXPECT_EQ(encode(*picture).size(), bytes.size());
    }
  }
}
TEST(Packer, GivesBackWhatItTook) {
  Packer p;
  p.put(std::uint8_t{200});
  p.put(1u << 31);
  p.put(std::int64_t{-5});
  p.put(0.1);
  p.put("hello");
  const std::string bytes = p.take();
  Unpacker u(bytes);
  EXPECT_EQ(u.get<std::uint8_t>(), 200);
  EXPECT_EQ(u.get<std::uint32_t>(), 1u << 31);
  EXPECT_EQ(u.get<std::int64_t>(), -5);
  EXPECT_EQ(u.get<double>(), 0.1);
  EXPECT_EQ(u.get<std::string>(), "hello");
  EXPECT_TRUE(u.done());
}
TEST(Unpacker, ReadsNothingBeyondTheEnd) {
  Packer p;
  p.put(std::uint64_t{1000});
  const std::string bytes = p.take();
  Unpacker u(bytes);
  EXPECT_EQ(u.get<std::string>(), "");
  EXPECT_FALSE(u.ok());
  EXPECT_EQ(u.get<std::uint64_t>(), 0u);
}

}  // namespace
}  // namespace message_test
}  // namespace whet
