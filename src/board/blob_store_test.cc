#include "board/blob_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "artifact/made_weights.h"
#include "base/rng.h"
#include "base/sha256.h"

namespace whet::blob_store_test {
namespace {

BlobName named(const std::string& content) { return {sha256(content), content.size()}; }
SessionBlob piece(const std::string& content, std::size_t begin, std::size_t bytes) {
  return {sha256(content), begin, content.substr(begin, bytes)};
}

class Blobs : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = (std::filesystem::temp_directory_path() / "whet-blobs-XXXXXX").string();
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    folder_ = root_ + "/cache/blobs";
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  BlobStore store(std::uint64_t most = 1000) const { return BlobStore(folder_, most); }
  /// Brings a file whole.
  void keep(BlobStore& store, const std::string& content) {
    ASSERT_TRUE(store.expect({named(content)}).ok());
    ASSERT_TRUE(store.add(piece(content, 0, content.size())).ok());
  }
  std::string content_of(const BlobStore& store, const std::string& hash) {
    const int file = store.open(hash);
    if (file < 0) return "nothing";
    std::string bytes(2000, '\0');
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(file, bytes.data(), bytes.size()))));
    close(file);
    return bytes;
  }
  std::string root_, folder_;
};

TEST_F(Blobs, AreThereOnceAllPiecesCame) {
  BlobStore blobs = store();
  const std::string content = "abcdefgh";
  EXPECT_EQ(blobs.expect({named(content)}).value(), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(blobs.add(piece(content, 0, 3)).value(), 3u);
  EXPECT_EQ(content_of(blobs, sha256(content)), "nothing");
  EXPECT_EQ(blobs.add(piece(content, 3, 5)).value(), 8u);
  EXPECT_EQ(content_of(blobs, sha256(content)), content);
  EXPECT_EQ(store().expect({named(content), named("other")}).value(), (std::vector<std::uint64_t>{8, 0}));
}
TEST_F(Blobs, GoOnWhereAnotherSessionEnded) {
  const std::string content = "abcdefgh";
  BlobStore first = store();
  ASSERT_TRUE(first.expect({named(content)}).ok());
  ASSERT_TRUE(first.add(piece(content, 0, 5)).ok());
  BlobStore second = store();
  EXPECT_EQ(second.expect({named(content)}).value(), (std::vector<std::uint64_t>{5}));
  EXPECT_EQ(second.add(piece(content, 5, 3)).value(), 8u);
  EXPECT_EQ(content_of(second, sha256(content)), content);
}
TEST_F(Blobs, MayHavePartsThatTheStoreMakes) {
  BlobStore blobs = store(20000);
  const auto page = made_weights();
  std::string content = "abc" + std::string(page.data() + 3, kMadePage) + std::string(page.data() + 3, 1000) + "end";
  const std::uint64_t made = kMadePage + 1000;
  ASSERT_TRUE(blobs.expect({named(content)}).ok());
  SessionBlob first{sha256(content), 0, "abc", made};
  EXPECT_EQ(blobs.add(first).value(), 3 + made);
  EXPECT_EQ(blobs.add(piece(content, 3 + made, 3)).value(), content.size());
  EXPECT_EQ(content_of(blobs, sha256(content)), content.substr(0, 2000));
  ASSERT_TRUE(blobs.expect({named(content.substr(1))}).ok());
  EXPECT_FALSE(blobs.add({sha256(content.substr(1)), 0, "bc", made + 4}).ok()) << "longer than the file";
}
TEST_F(Blobs, WithoutBytesAreThereAtOnce) {
  BlobStore blobs = store();
  EXPECT_EQ(blobs.expect({named("")}).value(), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(content_of(blobs, sha256("")), "");
}
TEST_F(Blobs, OfAnotherContentAreRefusedAndComeAgain) {
  BlobStore blobs = store();
  ASSERT_TRUE(blobs.expect({named("right")}).ok());
  const auto added = blobs.add({sha256("right"), 0, "wrong"});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().kind, ErrorKind::invalid_input);
  EXPECT_EQ(added.error().message, "what came as the file " + sha256("right").substr(0, 12) + " has another hash");
  EXPECT_EQ(blobs.expect({named("right")}).value(), (std::vector<std::uint64_t>{0}));
  keep(blobs, "right");
  EXPECT_EQ(content_of(blobs, sha256("right")), "right");
}
TEST_F(Blobs, AreRefusedWhereTheyDoNotFitToWhatIsThere) {
  BlobStore blobs = store();
  EXPECT_FALSE(blobs.add(piece("abc", 0, 3)).ok()) << "nobody asked for it";
  ASSERT_TRUE(blobs.expect({named("abc")}).ok());
  EXPECT_FALSE(blobs.add(piece("abc", 1, 2)).ok()) << "its beginning is missing";
  EXPECT_FALSE(blobs.add({sha256("abc"), 0, "abcd"}).ok()) << "it is longer than was said";
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/" + sha256("abc")));
}
TEST_F(Blobs, ThatWereNotUsedForLongestMakeRoom) {
  BlobStore blobs = store(100);
  const std::string a(40, 'a'), b(40, 'b'), c(40, 'c');
  keep(blobs, a);
  usleep(20000);
  keep(blobs, b);
  usleep(20000);
  EXPECT_EQ(content_of(blobs, sha256(a)), a) << "a use";
  usleep(20000);
  keep(blobs, c);
  EXPECT_EQ(content_of(blobs, sha256(a)), a);
  EXPECT_EQ(content_of(blobs, sha256(b)), "nothing");
  EXPECT_EQ(content_of(blobs, sha256(c)), c);
}
TEST_F(Blobs, LargerThanTheStoreAreRefusedWithASentence) {
  BlobStore blobs = store(2000000);
  const auto there = blobs.expect({{sha256("x"), 3000000}});
  ASSERT_FALSE(there.ok());
  EXPECT_EQ(there.error().message, "the files have 3 MB; the device keeps 2 MB at most");
}
TEST_F(Blobs, AreKeptInAFolderOfThisUserAlone) {
  std::filesystem::create_directories(folder_);
  chmod(folder_.c_str(), 0777);
  BlobStore blobs = store();
  const auto there = blobs.expect({named("abc")});
  ASSERT_FALSE(there.ok());
  EXPECT_EQ(there.error().message, folder_ + " is no folder of this user alone");
}
TEST_F(Blobs, StayRightWhateverComes) {
  // Pieces of two files in any order, right and wrong ones: what is there in the end is what was asked for.
  Rng rng(4);
  const std::string contents[] = {std::string(300, 'x'), "short"};
  for (int round = 0; round < 300; ++round) {
    BlobStore blobs = store(250 + 100 * (round % 2));
    (void)blobs.expect({named(contents[0]), named(contents[1])});
    for (int i = 0; i < 4; ++i) {
      const std::string& content = contents[static_cast<std::size_t>(rng.below(2))];
      SessionBlob blob =
          piece(content, static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(content.size()))), 200);
      if (rng.chance(0.5)) blob.offset = 0, blob.bytes = content.substr(0, 200);
      if (rng.chance(0.2)) blob.bytes[0] ^= 1;
      (void)blobs.add(blob);
    }
    for (const std::string& content : contents) {
      const std::string there = content_of(blobs, sha256(content));
      EXPECT_TRUE(there == content || there == "nothing") << there;
    }
  }
}

}  // namespace
}  // namespace whet::blob_store_test
