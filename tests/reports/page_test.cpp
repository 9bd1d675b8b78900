#include "parley/reports/page.h"

#include <gtest/gtest.h>

#include "parley/core/files.h"
#include "parley/core/version.h"
#include "tests/support/temporary_folder.h"

using namespace parley;
using namespace parley::reports;

namespace {

Json result_of(const std::string& job) {
  return {{"status", "done"},
          {"job", job},
          {"algorithm", "sgd"},
          {"rounds", 3},
          {"stop_reason", "iterations"},
          {"privacy",
           {{"claimed", true},
            {"epsilon", 1.25},
            {"delta", 1e-5},
            {"statement", "a statement <of> privacy"},
            {"noise_to_signal", 0.75},
            {"events", Json::array({{{"mechanism", "gaussian"}, {"sigma", 2.5}, {"sensitivity", 1}, {"count", 3}}})},
            {"ledger", {{"budget_epsilon", 2.0}, {"spent_epsilon", 1.25}}}}},
          {"version", kVersion},
          {"simulation",
           {{"covered", false},
            {"objective", {{"final", 0.4321}, {"history", {0.7, 0.5, 0.4321}}, {"history_every", 1}}},
            {"metrics",
             {{"train",
               {{"rows", 20},
                {"auc", 0.8125},
                {"per_class", Json::array({{{"rows", 10}}, {{"rows", 10}}})},
                {"gain", Json::array({{{"rows", 0.5}, {"positives", 0.8}}, {{"rows", 1.0}, {"positives", 1.0}}})},
                {"calibration", Json::array({{{"rows", 20}, {"probability", 0.5}, {"positives", 0.5}}})}}}}}}}};
}

std::string make_run(const TemporaryFolder& folder, const std::string& name, const Json& result) {
  const std::string path = (folder / name).string();
  std::filesystem::create_directories(path);
  EXPECT_TRUE(write_atomically(path + "/result.json", result.dump()));
  const Json model = {{"task", "logistic"},
                      {"objective", {{"l1", 0.0}, {"l2", 0.5}}},
                      {"columns", Json::array({{{"name", "<script>alert(1)</script>"}, {"weight", -2.5}},
                                               {{"name", "age"}, {"weight", 0.125}}})},
                      {"privacy", {{"claimed", true}, {"covered", true}}}};
  EXPECT_TRUE(write_atomically(path + "/model.json", model.dump()));
  return path;
}

void is_one_file_for_itself(const std::string& html) {
  EXPECT_LT(html.size(), 200'000u);
  for (const char* outside : {"http:", "https:", "src=", "<script", "@import", "url("})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
}

}  // namespace

TEST(ReportPage, SaysWhatTheFilesOfTheRunSay) {
  const TemporaryFolder folder;
  const auto path = write_report({make_run(folder, "one", result_of("stays"))});
  ASSERT_TRUE(path) << path.error().message;
  const std::string html = contents(*path);
  is_one_file_for_itself(html);
  for (const char* said :
       {"stays", "0.4321", "0.8125", "1.25", "a statement &lt;of&gt; privacy", "gaussian", "sigma 2.5", "-2.5", "age",
        "ROC", "Calibration", "covered by the claim", "an l2 penalty of 0.5"})
    EXPECT_NE(html.find(said), std::string::npos) << said;
}

TEST(ReportPage, SetsSeveralRunsSideBySide) {
  const TemporaryFolder folder;
  Json other = result_of("stays");
  other["simulation"]["objective"]["final"] = 0.1234;
  const auto path = write_report({make_run(folder, "one", result_of("stays")), make_run(folder, "two", other)});
  ASSERT_TRUE(path) << path.error().message;
  const std::string html = contents(*path);
  is_one_file_for_itself(html);
  EXPECT_NE(html.find("0.4321"), std::string::npos);
  EXPECT_NE(html.find("0.1234"), std::string::npos);
  EXPECT_NE(html.find("stays (" + (folder / "two").string() + ")"), std::string::npos) << "one job, told apart";
}

TEST(ReportPage, RefusesFoldersThatAreNoRun) {
  const TemporaryFolder folder;
  const auto none = write_report({folder.path().string()});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no result.json"), std::string::npos);
  EXPECT_EQ(none.error().fault, Fault::kBadInput);
  Json old = result_of("stays");
  old["version"] = "0.0.1";
  const auto other = write_report({make_run(folder, "old", old)});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another version"), std::string::npos) << other.error().message;
  EXPECT_FALSE(write_report({make_run(folder, "list", Json::array({1, 2}))}));
  EXPECT_FALSE(write_report(std::vector<std::string>(9, make_run(folder, "many", result_of("stays")))));
}

// Whatever kind of value stands in a field, the page is written without it.
TEST(ReportPage, FieldsOfAnotherKindAreLeftOut) {
  const TemporaryFolder folder;
  const Json odd[] = {Json(nullptr), Json("text"), Json::array({Json("a"), Json::object()}), Json(-1), Json::object()};
  for (const Json& value : odd)
    for (const char* pointer : {"/rounds", "/privacy", "/privacy/claimed", "/privacy/events", "/privacy/statement",
                                "/simulation", "/simulation/objective", "/simulation/objective/history",
                                "/simulation/metrics", "/simulation/metrics/train", "/simulation/metrics/train/gain",
                                "/simulation/metrics/train/per_class", "/simulation/notes", "/communication"}) {
      Json result = result_of("stays");
      result[Json::json_pointer(pointer)] = value;
      const auto path = write_report({make_run(folder, "odd", result)});
      EXPECT_TRUE(path) << pointer << " " << value.dump();
    }
}
