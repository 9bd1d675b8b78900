#include "parley/rounds/party.h"

#include <gtest/gtest.h>

#include "parley/rounds/simulate.h"
#include "tests/rounds/mean_parties.h"

using namespace parley;
using namespace parley::rounds;
using tests::Mean;

namespace {

// A party is told its number, and gives it back.
struct Numbers {
  struct Iterate {
    std::int64_t round = 0;
    std::vector<double> told;
    static void fields(auto& self, auto&& visit) { visit(self.round, self.told); }
  };
  struct Task {
    double number = 0;
    static void fields(auto& self, auto&& visit) { visit(self.number); }
  };
  using Reply = Task;
  struct Memory {
    std::int64_t answered = 0;
    static void fields(auto& self, auto&& visit) { visit(self.answered); }
  };
  struct Data {};
  Task ask(const Iterate& iterate, int party) const { return {static_cast<double>(10 * iterate.round + party)}; }
  Result<privacy::Released<Reply>> answer(const Task& task, const Data&, Memory&, privacy::Gate& gate) const {
    return gate.unprotected(privacy::Private(Reply{task.number}));
  }
  Result<Iterate> absorb(Iterate iterate, const Answers<Reply>& answers) const {
    ++iterate.round;
    for (const auto& answer : answers) iterate.told.push_back(answer.reply.number);
    return iterate;
  }
  bool done(const Iterate& iterate) const { return iterate.round >= 3; }
};

const Mean::Task kTwo{{1, 2}};

}  // namespace

TEST(Tasks, OfOneFrameAreReadOnceForAllPartiesOfAProgram) {
  Tasks<Mean::Task> tasks;
  tasks.share();
  const wire::Bytes bytes = wire::encode(kTwo);
  const auto one = tasks.read({.round = 1}, bytes);
  const auto other = tasks.read({.round = 1}, bytes);
  EXPECT_EQ(*one, *other);
  EXPECT_EQ((*one)->estimate, kTwo.estimate);
}

TEST(Tasks, OfAnotherRoundRunOrPlaceAreReadAgain) {
  Tasks<Mean::Task> tasks;
  tasks.share();
  wire::Bytes bytes = wire::encode(kTwo);
  ASSERT_TRUE(tasks.read({.round = 1}, bytes));
  const wire::Bytes elsewhere = wire::encode(Mean::Task{{3, 4}});
  EXPECT_EQ((*tasks.read({.round = 1}, elsewhere))->estimate, (std::vector<double>{3, 4}));
  bytes = wire::encode(Mean::Task{{5, 6}});
  ASSERT_TRUE(tasks.read({.round = 1}, bytes));
  std::copy(elsewhere.begin(), elsewhere.end(), bytes.begin());  // the same place, another content
  EXPECT_EQ((*tasks.read({.round = 2}, bytes))->estimate, (std::vector<double>{3, 4}));
  const wire::Bytes third = wire::encode(Mean::Task{{7, 8}});
  std::copy(third.begin(), third.end(), bytes.begin());
  EXPECT_EQ((*tasks.read({.run = {1}, .round = 2}, bytes))->estimate, (std::vector<double>{7, 8}));
}

TEST(Tasks, OfAPartyThatIsAloneAreAlwaysRead) {
  Tasks<Mean::Task> tasks;
  wire::Bytes bytes = wire::encode(kTwo);
  ASSERT_TRUE(tasks.read({.round = 1}, bytes));
  const wire::Bytes other = wire::encode(Mean::Task{{3, 4}});
  std::copy(other.begin(), other.end(), bytes.begin());
  EXPECT_EQ((*tasks.read({.round = 1}, bytes))->estimate, (std::vector<double>{3, 4}));
}

TEST(Tasks, ThatSomebodyStillUsesAreLeftAsTheyAre) {
  Tasks<Mean::Task> tasks;
  tasks.share();
  const wire::Bytes bytes = wire::encode(kTwo);
  const auto held = tasks.read({.round = 1}, bytes);
  const wire::Bytes next = wire::encode(Mean::Task{{3, 4}});
  ASSERT_TRUE(tasks.read({.round = 2}, next));
  EXPECT_EQ((*held)->estimate, kTwo.estimate);
}

TEST(Tasks, ThatCannotBeReadAreRefusedEachTime) {
  Tasks<Mean::Task> tasks;
  tasks.share();
  const wire::Bytes cut = wire::encode(kTwo).substr(0, 12);
  EXPECT_FALSE(tasks.read({.round = 1}, cut));
  EXPECT_FALSE(tasks.read({.round = 1}, cut));
}

TEST(AlgorithmParty, BesideOthersAnswersItsOwnTask) {
  std::vector<std::unique_ptr<AlgorithmParty<Numbers>>> parties;
  for (int p = 0; p < 3; ++p)
    parties.push_back(
        std::make_unique<AlgorithmParty<Numbers>>(Numbers{}, Numbers::Data{}, without_privacy(privacy::Unprotected{})));
  const auto end = simulate<Numbers>({}, {}, std::move(parties));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->outcome.iterate.told, (std::vector<double>{0, 1, 2, 10, 11, 12, 20, 21, 22}));
}
