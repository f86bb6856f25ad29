#include "base/sha256.h"

#include <gtest/gtest.h>

namespace whet::sha256_test {
namespace {

// The vectors of FIPS 180-4's examples, and of lengths around a block as coreutils' sha256sum gives them.
TEST(Sha256, GivesTheStandardsAnswers) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
TEST(Sha256, IsTheSameHoweverTheBytesAreCut) {
  const std::string text(200, 'x');
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.add(std::string_view(text).substr(0, cut));
    hash.add(std::string_view(text).substr(cut));
    EXPECT_EQ(hash.digits(), sha256(text)) << cut;
  }
}
TEST(Sha256, IsKnownByItsDigits) {
  EXPECT_TRUE(is_sha256(sha256("x")));
  EXPECT_FALSE(is_sha256(sha256("x").substr(1)));
  EXPECT_FALSE(is_sha256("../" + sha256("x").substr(3)));
}

}  // namespace
}  // namespace whet::sha256_test
