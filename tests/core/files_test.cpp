#include "parley/core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

using namespace parley;
namespace fs = std::filesystem;

namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::temp_directory_path() / ("parley-files-" + std::to_string(::getpid()));
};

}  // namespace

TEST_F(Files, RoundTripsBytes) {
  const std::string content("a\0b\r\n", 5);
  ASSERT_TRUE(write_atomically(folder_ / "x", content));
  EXPECT_EQ(read_whole(folder_ / "x").value(), content);
}

TEST_F(Files, AFailedWriteLeavesNothingBehind) {
  fs::create_directories(folder_ / "taken");  // a folder cannot be replaced by a file
  EXPECT_FALSE(write_atomically(folder_ / "taken", "x"));
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1U);
}

TEST_F(Files, WhatAKilledWriteLeftIsRemovedAndNothingElse) {
  const auto others = {"x",         "x.backup",           "x.aB3dE9", "x.parley-toolong7", "x.parley-dash-1",
                       "x.parley-", "y.parley-aB3dE9.old"};
  const auto left = {"x.parley-aB3dE9", "model.json.parley-000000"};
  for (const auto& names : {others, std::initializer_list<const char*>(left)})
    for (const char* name : names) ASSERT_TRUE(write_atomically(folder_ / name, "1"));
  fs::create_directories(folder_ / "x.parley-folder");
  fs::create_symlink("x", folder_ / "x.parley-linked");
  remove_unfinished(folder_);
  remove_unfinished(folder_ / "absent");
  for (const char* name : left) EXPECT_FALSE(fs::exists(folder_ / name)) << name;
  for (const char* name : others) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  for (const char* name : {"x.parley-folder", "x.parley-linked"}) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

TEST_F(Files, WhatALiveProcessIsWritingStays) {
  const std::string name = folder_ / "x.parley-aB3dE9";
  {
    const auto writes = FileLock::take(name);
    ASSERT_TRUE(writes);
    remove_unfinished(folder_);
    EXPECT_TRUE(fs::exists(name));
  }
  remove_unfinished(folder_);
  EXPECT_FALSE(fs::exists(name));
}

TEST_F(Files, FilesWrittenBesideWhoeverRemovesUnfinishedOnesAreAllWhole) {
  std::atomic<bool> over = false;
  std::thread removes([&] {
    while (!over) remove_unfinished(folder_);
  });
  for (int i = 0; i < 100; ++i) {
    const auto done = write_atomically(folder_ / "x", std::to_string(i));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(read_whole(folder_ / "x").value(), std::to_string(i));
  }
  over = true;
  removes.join();
}

TEST_F(Files, ALockThatIsGivenBackInTimeIsTaken) {
  auto held = std::make_optional(FileLock::take(folder_ / "in-use").value());
  EXPECT_FALSE(FileLock::take(folder_ / "in-use"));
  std::thread gives_back([&] { held.reset(); });
  EXPECT_TRUE(FileLock::take(folder_ / "in-use", std::chrono::minutes(5)));
  gives_back.join();
}

TEST_F(Files, ASymbolicLinkStaysOneAndItsTargetIsWritten) {
  fs::create_directories(folder_ / "real");
  fs::create_symlink("real/second", folder_ / "first");
  fs::create_symlink("third", folder_ / "real" / "second");
  for (const char* content : {"new", "newer"}) {  // the target is made, then replaced
    ASSERT_TRUE(write_atomically(folder_ / "first", content));
    EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "real" / "second"));
    EXPECT_FALSE(fs::is_symlink(folder_ / "real" / "third"));
    EXPECT_EQ(read_whole(folder_ / "real" / "third").value(), content);
  }
  fs::create_symlink("round", folder_ / "round");
  EXPECT_FALSE(write_atomically(folder_ / "round", "x"));
}

TEST_F(Files, APipeIsLeftAsItIs) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder_ / "link");
  for (const char* name : {"pipe", "link"}) {
    const auto refused = write_atomically(folder_ / name, "x");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kBadInput);
  }
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(Files, AnInputIsKnownByEveryName) {
  ASSERT_TRUE(write_atomically(folder_ / "in", "x"));
  ASSERT_TRUE(write_atomically(folder_ / "other", "x"));
  fs::create_symlink("in", folder_ / "link");
  fs::create_hard_link(folder_ / "in", folder_ / "twin");
  const std::vector<std::string> inputs = {folder_ / "absent", folder_ / "in"};
  for (const std::string& name : {(folder_ / "in").string(), (folder_ / "link").string(), (folder_ / "twin").string(),
                                  (folder_ / "." / "in").string()}) {
    const auto refused = refuse_input(name, inputs);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().fault, Fault::kBadInput);
    EXPECT_NE(refused.error().message.find("is the file to read"), std::string::npos);
  }
  EXPECT_TRUE(refuse_input(folder_ / "other", inputs));
  EXPECT_TRUE(refuse_input(folder_ / "absent", inputs));
}

TEST_F(Files, RefusesFoldersMissingFilesAndTooLargeOnes) {
  EXPECT_FALSE(read_whole(folder_));
  EXPECT_FALSE(read_whole(folder_ / "absent"));
  ASSERT_TRUE(write_atomically(folder_ / "x", "12345"));
  EXPECT_FALSE(read_whole(folder_ / "x", 4));
}

TEST_F(Files, ALockIsHeldByOneAtATime) {
  {
    const auto held = FileLock::take(folder_ / "lock");
    ASSERT_TRUE(held);
    EXPECT_FALSE(FileLock::take(folder_ / "lock"));
  }
  EXPECT_TRUE(FileLock::take(folder_ / "lock"));
  EXPECT_FALSE(FileLock::take(folder_ / "no such folder" / "lock"));
}
