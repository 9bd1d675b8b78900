// The main program of every unit test. `--file=tests/wire/frame_test.cpp` runs the cases that are written in that file;
// without it all of them, or those of --gtest_filter, run.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

std::string cases_in(std::string_view file) {
  std::string names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int c = 0; c < suite.total_test_count(); ++c) {
      const testing::TestInfo& one = *suite.GetTestInfo(c);
      if (!std::string_view(one.file()).ends_with(file)) continue;
      if (!names.empty()) names += ':';
      names += std::string(suite.name()) + '.' + one.name();
    }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (constexpr std::string_view kFile = "--file="; argc == 2 && std::string_view(argv[1]).starts_with(kFile)) {
    const std::string_view file = std::string_view(argv[1]).substr(kFile.size());
    const std::string names = cases_in(file);
    if (names.empty()) {
      std::fprintf(stderr, "no test of this program is written in %s\n", argv[1] + kFile.size());
      return 1;
    }
    GTEST_FLAG_SET(filter, names);
  } else if (argc > 1) {
    std::fprintf(stderr, "unknown argument: %s\n", argv[1]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
