// The same job in one process, over gRPC and over MPI: every task and every answer of every party, byte for byte.
#include <gtest/gtest.h>

#include <cstdlib>

#include "parley/catalog/federation.h"
#include "parley/catalog/method.h"
#include "parley/catalog/read_job.h"
#include "parley/runs/coordinate.h"
#include "parley/runs/member.h"
#include "parley/runs/private_site.h"
#include "parley/transport/in_process/in_process.h"
#include "tests/support/temporary_folder.h"
#include "tests/transport/loopback.h"
#ifdef PARLEY_MPI
#include "parley/transport/mpi/mpi_channel.h"
#endif

using namespace parley;
using jobs::Job;
using wire::Bytes;

namespace {

struct Case {
  std::string example;
  std::vector<std::string> settings;
};

const std::vector<std::string> kPrivate{"privacy.epsilon=2", "privacy.delta=1e-5"};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string name : {"fed-iter-ht", "fed-ht", "distributed-iht"})
    all.push_back({"hospitals",
                   {"algorithm.name=" + name, "algorithm.iterations=3", "algorithm.batch=16", "model.intercept=none"}});
  all.push_back({"clinic-and-insurer", {"algorithm.iterations=4", "labels.public=true"}});
  const std::size_t open = all.size();
  for (std::size_t c = 0; c < open; ++c) {
    Case also = all[c];
    also.settings.insert(also.settings.end(), kPrivate.begin(), kPrivate.end());
    all.push_back(also);
  }
  return all;
}

// One party behind its handler, as every transport has it; notes what it is asked and what it answers.
class Noted {
 public:
  Noted(const Job& job, int number, const std::string& ledger) {
    auto tables = catalog::federation_of(job)->read(job, {&number, 1},
                                                    {catalog::files_of(job.parties[static_cast<std::size_t>(number)])});
    EXPECT_TRUE(tables) << tables.error().message;
    member_.table = std::move(tables->front());
    if (job.privacy) {
      Job own = job;
      own.privacy->ledger = ledger + "/" + member_.table.party;
      const auto opened =
          runs::open_site(own, catalog::objective_of(job, member_.table.train.labels.classes), member_, {});
      EXPECT_TRUE(opened) << opened.error().message;
    }
    handler_.emplace([this, job](const rounds::Opening&) { return runs::admission_of(job, member_); }, "");
  }
  transport::Respond respond() {
    return [this](std::string_view frame) {
      const auto read = [](std::string_view bytes) {
        return wire::read_frame(bytes, wire::kDefaultLimit, wire::Unchecked::kAllowed);
      };
      auto answer = handler_->respond(frame, wire::Unchecked::kAllowed);
      const auto asked = read(frame);
      if (asked && asked->header.kind == wire::Kind::kTask) {
        payloads.emplace_back(asked->payload);
        payloads.emplace_back(read(**answer)->payload);
      }
      return answer;
    };
  }
  [[nodiscard]] bool over() const { return handler_->over(); }
  std::vector<Bytes> payloads;

 private:
  runs::Member member_;
  std::optional<rounds::Handler> handler_;
};

std::vector<std::unique_ptr<Noted>> parties_of(const Job& job, const std::string& ledger) {
  std::vector<std::unique_ptr<Noted>> parties;
  for (std::size_t p = 0; p < job.parties.size(); ++p)
    parties.push_back(std::make_unique<Noted>(job, static_cast<int>(p), ledger));
  return parties;
}

std::vector<double> train(const Job& job, transport::Channel& channel) {
  rounds::Terms terms{.job = job.name};
  for (const jobs::PartySection& party : job.parties) terms.parties.push_back(party.name);
  auto exchange = rounds::Exchange::make(channel, std::move(terms));
  const auto run = runs::coordinate(job, *exchange, {});
  EXPECT_TRUE(run) << run.error().message;
  EXPECT_TRUE(exchange->close());
  return run ? run->learnt.parameters : std::vector<double>{};
}

Result<Job> job_of(const Case& one) {
  return catalog::read_job(std::string(PARLEY_SOURCE_DIR) + "/examples/" + one.example + "/job.toml", one.settings);
}

std::vector<double> train_here(const Job& job, const std::vector<std::unique_ptr<Noted>>& parties) {
  std::vector<transport::Respond> responds;
  for (const auto& party : parties) responds.push_back(party->respond());
  transport::InProcess in_process(std::move(responds));
  return train(job, in_process);
}

}  // namespace

TEST(Payloads, AreTheSameBytesInOneProcessAndOverGrpc) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.example + " " + one.settings.front() + (one.settings.size() > 4 ? " private" : ""));
    const TemporaryFolder folder;
    const auto job = job_of(one);
    ASSERT_TRUE(job) << job.error().message;

    const auto here = parties_of(*job, (folder / "here").string());
    const std::vector<double> model = train_here(*job, here);

    const auto there = parties_of(*job, (folder / "there").string());
    std::vector<std::string> names;
    for (const jobs::PartySection& party : job->parties) names.push_back(party.name);
    const auto server = tests::listen(names);
    std::vector<std::unique_ptr<tests::Dialled>> dialled;
    for (std::size_t p = 0; p < there.size(); ++p)
      dialled.push_back(std::make_unique<tests::Dialled>(server->port(), tests::credentials(names[p]),
                                                         there[p]->respond(),
                                                         [party = there[p].get()] { return party->over(); }));
    EXPECT_EQ(train(*job, *server), model);
    for (const auto& party : dialled) party->wait();
    for (std::size_t p = 0; p < here.size(); ++p) {
      EXPECT_GE(here[p]->payloads.size(), 6U);
      EXPECT_EQ(there[p]->payloads, here[p]->payloads) << names[p];
    }
  }
}

#ifdef PARLEY_MPI
// Every rank has the whole run in one process to compare its own party's payloads with.
TEST(Payloads, AreTheSameBytesOverMpi) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr)
    GTEST_SKIP() << "is started by mpirun (transport/payloads_mpi_2, transport/payloads_mpi_3)";
  const transport::MpiWorld world(nullptr, nullptr);
  int compared = 0;
  for (const Case& one : cases()) {
    const auto job = job_of(one);
    ASSERT_TRUE(job) << job.error().message;
    if (static_cast<int>(job->parties.size()) != world.size()) continue;
    if (one.example == "hospitals" && job->algorithm != "fed-iter-ht") continue;  // what differs there does not travel
    SCOPED_TRACE(one.example + " " + one.settings.front() + (one.settings.size() > 4 ? " private" : ""));
    const TemporaryFolder folder;
    const auto here = parties_of(*job, (folder / "here").string());
    train_here(*job, here);
    Noted own(*job, world.rank(), (folder / "there").string());
    if (world.rank() == 0) {
      transport::MpiChannel channel(world, own.respond());
      train(*job, channel);
    } else {
      transport::serve(world, own.respond());
    }
    const auto& expected = here[static_cast<std::size_t>(world.rank())]->payloads;
    EXPECT_GE(expected.size(), 6U);
    EXPECT_EQ(own.payloads, expected) << "rank " << world.rank();
    ++compared;
  }
  EXPECT_GT(compared, 0);
}
#endif
