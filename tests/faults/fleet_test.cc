// A fleet with a real broker and real agents, whose devices answer by a formula. Whatever is killed, each job is answered once, and
// with its own answer.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "artifact/made_weights.h"
#include "base/rng.h"
#include "device/testing/device_contract.h"
#include "device/testing/test_models.h"
#include "faults/fleet.h"
#include "faults/trials.h"
#include "fleet/nats.h"
#include "runner/testing/kernels.h"

namespace whet::fleet_faults_test {
namespace {

using namespace faults;  // NOLINT(google-build-using-namespace): what the tests are made of

/// Jobs and answers that the broker has not forgotten.
std::uint64_t jobs_left(const Broker& broker) {
  const auto admin = NatsConnection::open(broker.access("admin")).value();
  const std::vector<std::string> users = admin->users().value();
  std::uint64_t jobs = 0;
  for (const std::string& user : users) {
    const std::vector<SubjectCount> subjects = admin->subjects(job_stream(user), "whet.job.>").value();
    for (const SubjectCount& subject : subjects) jobs += subject.messages;
  }
  return jobs;
}

class Fleets : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_broker()) GTEST_SKIP() << "nats-server or openssl is missing";
  }
};

TEST_F(Fleets, AnswerEveryJobOnce) {
  const Broker broker;
  Agent agent(broker, "lab", 2, 2);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 2));
  Tuner tuner(queue, 4);
  tuner.start(100);
  tuner.join();
  EXPECT_EQ(tuner.answers(), 100);
  EXPECT_EQ(tuner.wrong(), "");
  EXPECT_EQ(jobs_left(broker), 0u);
  // Long answers come in parts.
  CheckRequest check{kernel(1), {}, {}, {}};
  check.job.arguments = {{ArgumentRole::output, DType::i8, 5 << 20}};
  const CheckReply reply = device_of(queue)->check(check);
  ASSERT_EQ(reply.code, OutcomeCode::ok) << reply.message;
  EXPECT_EQ(reply.outputs.front().size(), std::size_t{5} << 20);
  EXPECT_EQ(reply.outputs.front()[4096], static_cast<char>(4096 * 31 >> 3));
  // Units leave with their agent.
  agent.send(SIGTERM);
  EXPECT_EQ(agent.end().number, 0);
  EXPECT_TRUE(queue->units(kKey).value().empty());
}
TEST_F(Fleets, LoseNothingWhenTheBrokerIsKilled) {
  Broker broker;
  Agent agent(broker, "lab", 2, 5);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 2));
  Tuner tuner(queue, 4);
  tuner.start(300);
  Rng rng(1);
  for (int i = 0; i < 3; ++i) {
    wait(rng.uniform(0.1, 0.4));
    broker.kill();
    wait(rng.uniform(0.05, 0.5));
    broker.start();
  }
  tuner.join();
  EXPECT_EQ(tuner.answers(), 300);
  EXPECT_EQ(tuner.wrong(), "");
}
TEST_F(Fleets, LoseNothingWhenTheBrokersDiskIsFull) {
  Broker broker("127.0.0.1", "16m");
  if (!broker.has_small_disk()) GTEST_SKIP() << "only root may mount a small disk";
  Agent agent(broker, "lab", 2, 5);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 2));
  Tuner tuner(queue, 4);
  tuner.start(300);
  wait(0.3);
  broker.fill_disk();
  wait(1);
  EXPECT_LT(tuner.answers(), 300) << "some wait for room";
  // A broker that ran out of room starts anew to take jobs again.
  broker.empty_disk();
  broker.kill();
  broker.start();
  tuner.join();
  EXPECT_EQ(tuner.answers(), 300);
  EXPECT_EQ(tuner.wrong(), "");
}
TEST_F(Fleets, GiveTheJobsOfADeadAgentToOthers) {
  const Broker broker;
  Agent lab(broker, "lab", 2, 10), far(broker, "far", 1, 10);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 3));
  Tuner tuner(queue, 5);
  tuner.start(200);
  Rng rng(2);
  for (int i = 0; i < 2; ++i) {
    wait(rng.uniform(0.1, 0.5));
    lab.kill();
    lab.start();
  }
  tuner.join();
  EXPECT_EQ(tuner.answers(), 200);
  EXPECT_EQ(tuner.wrong(), "");
}
TEST_F(Fleets, GiveTheJobsOfADeadDeviceToOthers) {
  const Broker broker;
  Agent agent(broker, "lab", 3, 10);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 3));
  Tuner tuner(queue, 5);
  tuner.start(300);
  Rng rng(3);
  // One at a time: a job that costs two of them is blamed.
  for (std::size_t i = 0; i < 6; ++i) {
    wait(rng.uniform(0.1, 0.3));
    agent.kill_device(i % 3);
  }
  tuner.join();
  EXPECT_EQ(tuner.answers(), 300);
  EXPECT_EQ(tuner.wrong(), "");
  // A kernel that ends two devices is blamed, and those beside it in its job are not.
  const std::unique_ptr<FleetDevice> device = device_of(queue);
  MeasureRequest deadly{kernel(1), {}};
  deadly.job.kernel.code = "die";
  const JobReply reply = device->run({{{kernel(1), {}}, deadly, {kernel(3), {}}}});
  EXPECT_EQ(reply.replies[0].code, OutcomeCode::ok);
  EXPECT_EQ(reply.replies[1].code, OutcomeCode::crash) << reply.replies[1].message;
  EXPECT_EQ(reply.replies[2].code, OutcomeCode::ok) << reply.replies[2].message;
}
TEST_F(Fleets, HaveInTheEndWhatAnUndisturbedTunerHas) {
  if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  Broker broker;
  const std::string unit = "exec:exec " WHET_DEVICE " --stdio";
  const auto agent = [&] {
    return std::make_unique<Program>(
        WHET_AGENT,
        std::vector<std::string>{"--join", broker.dir("lab"), "--key", kKey, "--device", unit, "--device", unit},
        broker.folder());
  };
  std::unique_ptr<Program> lab = agent();
  ASSERT_TRUE(comes_to(*broker.join("ann"), 2));
  const auto tune = [&](const std::string& file) {
    return std::vector<std::string>{"tune",    "zoo:mlp",        "--no-base", "--tasks", kSmallTasks, "--threads",
                                    "1",       "--no-network",   "-o",        file,      "--device",  "fleet:k",
                                    "--fleet", broker.dir("ann")};
  };
  const std::string killed = broker.folder() / "killed.jsonl";
  std::string before;
  for (int round = 0; round < 4; ++round) {
    Program tuner(WHET_PROGRAM, tune("killed.jsonl"), broker.folder());
    const std::int64_t enough = lines(killed) + 5;
    ASSERT_TRUE(tuner.wait_until([&] { return lines(killed) >= enough; })) << tuner.end().out;
    EXPECT_TRUE(content(killed).starts_with(before)) << "what was measured was lost";
    if (round == 1) broker.kill(), broker.start();
    if (round == 2) lab->send(SIGKILL), lab->end(), lab = agent();
    if (round > 0) wait(0.2);
    tuner.send(SIGKILL);
    tuner.end();
    before = content(killed).substr(0, content(killed).rfind('\n') + 1);
  }
  Ending end = run(WHET_PROGRAM, tune("killed.jsonl"), broker.folder());
  EXPECT_EQ(end, 0) << end.out;
  end = run(WHET_PROGRAM, tune("undisturbed.jsonl"), broker.folder());
  EXPECT_EQ(end, 0) << end.out;
  const Trials trials = trials_in(killed);
  EXPECT_TRUE(trials.tried == trials_in(broker.folder() / "undisturbed.jsonl").tried)
      << trials.tried.size() << " different ones";
  EXPECT_EQ(trials.twice, 0);
  EXPECT_EQ(trials.failed, 0);
}
TEST_F(Fleets, DropTheJobsOfATunerThatLeft) {
  const Broker broker;
  {
    const std::shared_ptr<FleetQueue> queue = broker.join("ann");
    Tuner tuner(queue, 0);
    std::atomic<bool> stop = false;
    std::thread submitter([&] {
      const Result<FleetAnswer> answer =
          queue->run(kKey, Priority::high, FleetJob::Kind::kernels, "no job", [&] { return stop.load(); });
      EXPECT_EQ(answer.ok() ? "" : answer.error().message, "interrupted");
    });
    while (jobs_left(broker) == 0) wait(0.05);
    stop = true;
    submitter.join();
  }
  Agent agent(broker, "lab", 1, 1);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 1));
  for (int i = 0; i < 100 && jobs_left(broker) > 0; ++i) wait(0.1);
  EXPECT_EQ(jobs_left(broker), 0u);
  EXPECT_EQ(device_of(queue)->measure({kernel(7), {}}).code, OutcomeCode::ok) << "others go on";
  const auto refused = queue->run(kKey, Priority::low, FleetJob::Kind::kernels, "no job", {});
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->kind, FleetAnswer::Kind::refused);
  EXPECT_EQ(refused->message.substr(0, 40), "the job makes no sense to whet-agent 0.1");
}
TEST_F(Fleets, ShareTheirUnitsBetweenTwoTuners) {
  const Broker broker;
  Agent agent(broker, "lab", 2, 5);
  const std::shared_ptr<FleetQueue> anns = broker.join("ann"), bobs = broker.join("bob");
  ASSERT_TRUE(comes_to(*anns, 2));
  Tuner ann(anns, 2), bob(bobs, 2);
  const auto enough = [&] { return ann.answers() + bob.answers() >= 300; };
  ann.start(1000, enough);
  bob.start(1000, enough);
  ann.join();
  bob.join();
  EXPECT_EQ(ann.wrong() + bob.wrong(), "");
  for (const Tuner* tuner : {&ann, &bob}) {
    EXPECT_GE(tuner->answers(), 300 * 40 / 100);
    EXPECT_LE(tuner->answers(), 304 * 60 / 100 + 1);
  }
}
TEST_F(Fleets, TakeUrgentJobsFirst) {
  const Broker broker;
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::string order;
  for (const Priority priority :
       {Priority::low, Priority::low, Priority::low, Priority::high, Priority::high, Priority::high})
    threads.emplace_back([&, priority] {
      queue->run(kKey, priority, FleetJob::Kind::kernels, encode(SessionJob{1, {MeasureRequest{kernel(1), {}}}}), {})
          .ok();
      const std::lock_guard<std::mutex> lock(mutex);
      order += std::string(order.empty() ? "" : " ") + name_of(priority);
    });
  while (jobs_left(broker) < 6) wait(0.05);
  Agent agent(broker, "lab", 1, 50);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, "hi hi hi lo lo lo");
}

/// Why a user with these files does not come in; "" where that is possible.
std::string why_not_in(const FleetAccess& access) {
  const auto nats = NatsConnection::open(access);
  return nats.ok() ? "" : nats.error().message;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(Fleets, LetNobodyInWithoutACertificateOfTheirs) {
  Broker broker;
  const FleetAccess ann = broker.access("ann");
  EXPECT_EQ(why_not_in(ann), "");
  // Without any certificate.
  natsOptions* options = nullptr;
  natsOptions_Create(&options);
  natsOptions_SetURL(options, ann.server.c_str());
  natsOptions_SetSecure(options, true);
  natsOptions_LoadCATrustedCertificates(options, (ann.folder + "/ca.pem").c_str());
  natsConnection* connection = nullptr;
  EXPECT_NE(natsConnection_Connect(&connection, options), NATS_OK);
  natsOptions_SetURL(options, ("nats://127.0.0.1:" + broker.port()).c_str());
  natsOptions_SetSecure(options, false);
  EXPECT_NE(natsConnection_Connect(&connection, options), NATS_OK) << "nor without TLS";
  natsOptions_Destroy(options);
  // With a certificate of another authority.
  const Folder other;
  EXPECT_EQ(faults::run(WHET_AGENT, {"--setup", other / "setup", "--user", "ann"}, other).number, 0);
  FleetAccess stranger = read_fleet_access(other / "setup/ann").value();
  stranger.server = ann.server;
  EXPECT_TRUE(has(why_not_in(stranger), "SSL")) << why_not_in(stranger) << ": it does not know this broker";
  std::filesystem::copy(ann.folder + "/ca.pem", stranger.folder + "/ca.pem",
                        std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(why_not_in(stranger), "");
  // With one of the right authority, and a name that the broker does not know yet.
  EXPECT_EQ(faults::run(WHET_AGENT, {"--setup", broker.dir(), "--user", "eve"}, broker.folder()).number, 0);
  EXPECT_NE(why_not_in(broker.access("eve")), "");
  broker.reload();
  std::string why = "?";
  for (int i = 0; i < 100 && !why.empty(); ++i, wait(0.05)) why = why_not_in(broker.access("eve"));
  EXPECT_EQ(why, "");
  EXPECT_EQ(why_not_in(ann), "") << "those who were there stay";
}
TEST_F(Fleets, GoOnWhenTheBrokersCertificateIsRenewed) {
  Broker broker;
  const Agent agent(broker, "lab", 2, 5);
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 2));
  Tuner tuner(queue, 4);
  tuner.start(300);
  const std::string certificate = broker.dir() + "/server.pem", old = content(certificate);
  std::filesystem::remove(certificate);
  EXPECT_EQ(run(WHET_AGENT, {"--setup", broker.dir()}, broker.folder()).number, 0);
  EXPECT_NE(content(certificate), old);
  broker.reload();
  EXPECT_EQ(why_not_in(broker.access("bob")), "") << "who comes now";
  tuner.join();
  EXPECT_EQ(tuner.answers(), 300);
  EXPECT_EQ(tuner.wrong(), "");
}
TEST_F(Fleets, LetUsersDoWhatIsTheirs) {
  const Broker broker;
  // What is refused has no answer: the broker complains beside.
  constexpr double kPatience = 0.3;
  const auto ann = NatsConnection::open(broker.access("ann"), kPatience).value(),
             lab = NatsConnection::open(broker.access("lab"), kPatience).value();
  const auto refused = [](NatsConnection& nats, const std::string& subject) {
    const Status stored = nats.store(subject, "x", "id of " + subject);
    return !stored.ok() && has(stored.error().message, "Permissions Violation for Publish to \"" + subject + "\"");
  };
  EXPECT_TRUE(ann->store("whet.job.k.hi.ann.s.1", "x", "1").ok());
  EXPECT_TRUE(refused(*ann, "whet.job.k.hi.bob.s.1"));
  EXPECT_TRUE(refused(*ann, "whet.done.ann.s.1.0"));
  EXPECT_TRUE(refused(*ann, "$KV.whet_devices.k.lab.u"));
  EXPECT_TRUE(refused(*ann, "$KV.whet_tuners.bob.s"));
  EXPECT_TRUE(refused(*lab, "whet.job.k.hi.ann.s.2"));
  EXPECT_TRUE(refused(*lab, "$KV.whet_devices.k.far.u"));
  for (const std::string& stream : {job_stream("ann"), job_stream("bob"), std::string(kDeviceStream)}) {
    EXPECT_NE(js_DeleteStream(ann->streams(), stream.c_str(), nullptr, nullptr), NATS_OK);
    EXPECT_NE(js_PurgeStream(lab->streams(), stream.c_str(), nullptr, nullptr), NATS_OK);
  }
  EXPECT_EQ(jobs_left(broker), 1u);
  // Nobody hears what is others'.
  auto inbox = NatsInbox::open(*ann, "whet.job.>");
  ASSERT_TRUE(inbox.ok());
  const auto bob = NatsConnection::open(broker.access("bob")).value();
  EXPECT_TRUE(bob->store("whet.job.k.hi.bob.s.1", "x", "2").ok());
  EXPECT_FALSE(inbox->next(0.2).has_value());
  EXPECT_FALSE(ann->last(job_stream("bob"), "whet.job.k.hi.bob.s.1").ok());
  EXPECT_FALSE(ann->last(answer_stream("bob"), "whet.done.bob.s.1.0").ok());
}
/// What the broker has that is not this user's: streams with their subjects, and queues.
std::string all_but(const Broker& broker, const std::string& user) {
  const auto admin = NatsConnection::open(broker.access("admin")).value();
  jsStreamNamesList* names = nullptr;
  if (js_StreamNames(&names, admin->streams(), nullptr, nullptr) != NATS_OK) return "no streams";
  const NatsOwned<jsStreamNamesList> streams(names);
  std::string text;
  for (int i = 0; i < streams->Count; ++i) {
    const std::string stream = streams->List[i];
    if (!stream.ends_with("_" + user)) text += stream + ":\n";
    const std::vector<SubjectCount> subjects = admin->subjects(stream, ">").value();
    for (const SubjectCount& subject : subjects)
      if (!has(subject.subject, "." + user + "."))
        text += "  " + subject.subject + " " + admin->last(stream, subject.subject).value()->bytes + "\n";
  }
  const std::vector<std::string> users = admin->users().value();
  for (const std::string& each : users) {
    text += "queues of " + each + ":";
    const std::vector<std::string> keys = admin->keys(each).value();
    for (const std::string& key : keys) text += " " + key;
  }
  return text;
}
/// Stores a message that has a header.
Status store_with(NatsConnection& nats, const std::string& subject, const char* header, const char* value) {
  natsMsg* made = nullptr;
  natsMsg_Create(&made, subject.c_str(), nullptr, "x", 1);
  const NatsOwned<natsMsg> message(made);
  natsMsgHeader_Set(made, header, value);
  const natsStatus status = js_PublishMsg(nullptr, nats.streams(), made, nullptr, nullptr);
  return status == NATS_OK ? ok_status() : Status(nats.error(header, status));
}
void ask_for_answer_to(NatsConnection& nats, const std::string& subject, const std::string& reply,
                       const std::string& bytes) {
  natsConnection_PublishRequest(nats.get(), subject.c_str(), reply.c_str(), bytes.data(),
                                static_cast<int>(bytes.size()));
}

class HostileUsers : public Fleets {
 protected:
  void SetUp() override {
    Fleets::SetUp();
    if (IsSkipped()) return;
    broker_ = std::make_unique<Broker>();
    ann_ = NatsConnection::open(broker_->access("ann"), kPatience).value();
    bob_ = NatsConnection::open(broker_->access("bob")).value();
    lab_ = NatsConnection::open(broker_->access("lab")).value();
    EXPECT_TRUE(bob_->store("$KV.whet_tuners.bob.s", "bob@desk", "1").ok());
    EXPECT_TRUE(bob_->store("whet.job.k.hi.bob.s.1", "bob's job", "2").ok());
    EXPECT_TRUE(bob_->store("whet.file.bob.h.0", "bob's file", "3").ok());
    EXPECT_TRUE(lab_->store("whet.done.bob.s.1.0", "bob's answer", "4").ok());
    lab_->send("$KV.whet_devices.k.lab.u", "a unit");
    for (int i = 0; i < 100 && !has(before_ = all_but(*broker_, "ann"), "a unit"); ++i) wait(0.05);
    ASSERT_TRUE(has(before_, "bob's job") && has(before_, "bob's answer") && has(before_, "a unit")) << before_;
  }
  void expect_no_harm(const std::string& what) {
    natsConnection_FlushTimeout(ann_->get(), 2000);
    wait(0.1);
    EXPECT_EQ(all_but(*broker_, "ann"), before_) << what;
  }

  static constexpr double kPatience = 0.3;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<NatsConnection> ann_, bob_, lab_;
  std::string before_;
};

TEST_F(HostileUsers, RollNothingUp) {
  for (const char* subject : {"$KV.whet_tuners.ann.s", "whet.job.k.hi.ann.s.1", "whet.file.ann.h.0"}) {
    for (const char* what : {"all", "sub"})
      EXPECT_FALSE(store_with(*ann_, subject, "Nats-Rollup", what).ok()) << subject;
    EXPECT_TRUE(ann_->store(subject, "x", "id").ok()) << subject;
  }
  EXPECT_FALSE(store_with(*lab_, "$KV.whet_devices.k.lab.v", "Nats-Rollup", "all").ok()) << "nor do agents";
  EXPECT_FALSE(store_with(*lab_, "whet.done.ann.s.1.0", "Nats-Rollup", "all").ok());
  expect_no_harm("headers that roll up");
}
TEST_F(HostileUsers, HarmNobodyByOtherHeaders) {
  for (const auto& [header, value] : {std::pair{"Nats-Msg-Id", "2"},
                                      {"Nats-Expected-Stream", "WHET_JOBS_bob"},
                                      {"Nats-Expected-Last-Sequence", "1"},
                                      {"Nats-Expected-Last-Subject-Sequence", "1"},
                                      {"Nats-Expected-Last-Msg-Id", "2"},
                                      {"Nats-TTL", "1s"},
                                      {"Nats-Schedule", "@at 2026-01-01T00:00:00Z"},
                                      {"Nats-Schedule-Target", "whet.job.k.hi.bob.s.9"},
                                      {"Nats-Subject", "whet.job.k.hi.bob.s.9"},
                                      {"Nats-Stream-Source", "WHET_JOBS_bob"},
                                      {"KV-Operation", "PURGE"}})
    for (const char* subject : {"$KV.whet_tuners.ann.s", "whet.job.k.hi.ann.s.1"})
      store_with(*ann_, subject, header, value).ok();
  expect_no_harm("headers");
  EXPECT_TRUE(bob_->store("whet.job.k.hi.bob.s.2", "bob's next job", "id").ok());
  EXPECT_TRUE(has(all_but(*broker_, "ann"), "bob's next job")) << "an id that another user took is free for bob";
}
TEST_F(HostileUsers, ChangeNoStreams) {
  for (const std::string api : {"$JS.API.", "FLEET.API."})
    for (const std::string& stream :
         {job_stream("bob"), answer_stream("bob"), tuner_stream("bob"), std::string(kDeviceStream)}) {
      for (const char* verb :
           {"STREAM.PURGE.", "STREAM.DELETE.", "STREAM.UPDATE.", "STREAM.CREATE.", "STREAM.SNAPSHOT."})
        ann_->send(api + verb + stream, "");
      ann_->send(api + "STREAM.MSG.DELETE." + stream, R"({"seq":1})");
      ann_->send(api + "STREAM.MSG.GET." + stream, R"({"seq":1})");
      ann_->send(api + "CONSUMER.DELETE." + stream + ".k_hi", "");
      ann_->send(api + "CONSUMER.MSG.NEXT." + stream + ".k_hi", "");
      ann_->send(api + "CONSUMER.DURABLE.CREATE." + stream + ".x",
                 R"({"stream_name":")" + stream +
                     R"(","config":{"durable_name":"x","ack_policy":"none","deliver_subject":"_INBOX.ann.x"}})");
    }
  for (const char* account : {"$JS.API.ACCOUNT.PURGE.FLEET", "$SYS.REQ.SERVER.PING", "$JS.API.STREAM.LIST"})
    ann_->send(account, "");
  expect_no_harm("requests");
}
/// The broker answers to the subject that a request names. It is no user's to name one of others.
TEST_F(HostileUsers, HaveNoAnswersSentToOthers) {
  EXPECT_TRUE(ann_->store("whet.job.k.hi.ann.s.1", "forged", "f1").ok());
  EXPECT_TRUE(ann_->store("whet.job.k.hi.ann.s.2", "", "f2").ok());
  for (const std::string to :
       {"whet.done.bob.s.1.0", "whet.job.k.hi.bob.s.1", "whet.job.k.hi.bob.s.7", "whet.file.bob.h.0",
        "$KV.whet_tuners.bob.s", "$KV.whet_devices.k.lab.u", "$JS.API.STREAM.PURGE.WHET_JOBS_bob",
        "$JS.API.STREAM.DELETE.WHET_JOBS_bob", "$JS.API.STREAM.MSG.DELETE.WHET_JOBS_bob",
        "$JS.API.CONSUMER.DELETE.WHET_JOBS_bob.k_hi"}) {
    ask_for_answer_to(*ann_, "whet.job.k.hi.ann.s.3", to, "x");
    for (const std::string api : {"FLEET.API.", "$JS.API."})
      for (const char* number : {"1", "2"})
        ask_for_answer_to(*ann_, api + "DIRECT.GET." + job_stream("ann") + ".whet.job.k.hi.ann.s." + number, to, "");
  }
  expect_no_harm("answers to others' subjects");
}
TEST_F(HostileUsers, HearNothingOfOthers) {
  for (const char* subject :
       {"whet.job.>", "whet.done.bob.>", "whet.note.bob.>", "_INBOX.bob.>", "$KV.>", "$JS.EVENT.>", ">"}) {
    auto inbox = NatsInbox::open(*ann_, subject);
    natsConnection_FlushTimeout(ann_->get(), 2000);
    EXPECT_TRUE(bob_->store("whet.job.k.hi.bob.s.2", "x", std::string("id ") + subject).ok());
    EXPECT_TRUE(lab_->store("whet.done.bob.s.2.0", "x", std::string("id ") + subject).ok());
    lab_->send("whet.note.bob.s.2", "u");
    EXPECT_FALSE(inbox.ok() && inbox->next(0.2).has_value()) << subject;
  }
}
/// One user's jobs fill that user's room alone, and everyone's turn comes.
TEST_F(HostileUsers, FillNobodyElsesQueue) {
  const std::string large(std::size_t{4} << 20, 'x');
  int number = 0;
  const auto submit = [&](const std::string& bytes) {
    const std::string name = std::to_string(++number);
    return ann_->store("whet.job.k.hi.ann.s." + name, bytes, "fill" + name).ok();
  };
  for (const std::string& bytes : {large, std::string("x")})
    while (number < 3 * kMostJobsOfUser && submit(bytes)) {
    }
  EXPECT_LE(number, kMostJobsOfUser + 2) << "the limit of a user's jobs";
  EXPECT_TRUE(ann_->store("$KV.whet_tuners.ann.s", "ann@desk", "alive").ok()) << "her jobs are not dropped";
  Agent agent(*broker_, "lab", 1, 1);
  const std::shared_ptr<FleetQueue> queue = broker_->join("bob");
  ASSERT_TRUE(comes_to(*queue, 1));
  Tuner bob(queue, 2);
  bob.start(50);
  bob.join();
  EXPECT_EQ(bob.wrong(), "");
  EXPECT_GT(jobs_left(*broker_), 100u) << "and bob did not wait for the end of hers";
}
TEST_F(Fleets, TellDevicesWhoseJobsTheyRun) {
  const Broker broker;
  const Agent agent(broker, "lab", 1, 1);
  for (const char* user : {"ann", "bob", "ann"}) {
    const std::shared_ptr<FleetQueue> queue = broker.join(user);
    ASSERT_TRUE(comes_to(*queue, 1));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(device_of(queue)->measure({kernel(7), {}}).code, OutcomeCode::ok);
  }
  EXPECT_EQ(agent.users_of(0), "ann\nann\nbob\nbob\nann\nann\n");
}
TEST_F(Fleets, SayWhatJobsWaitFor) {
  const Broker broker;
  std::mutex mutex;
  std::vector<std::string> said;
  const std::shared_ptr<FleetQueue> queue = broker.join("ann", [&](const std::string& sentence) {
    const std::lock_guard<std::mutex> lock(mutex);
    said.push_back(sentence);
  });
  const auto comes = [&](std::size_t sentences) {
    for (int i = 0; i < 300; ++i, wait(0.1)) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (said.size() >= sentences) return said.back();
    }
    return std::string("nothing was said");
  };
  Tuner tuner(queue, 1);
  tuner.start(1);
  EXPECT_EQ(comes(1), "fleet:k has no unit just now: the jobs wait until a whet-agent serves it");
  const auto states = queue->queues(kKey).value();
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].high.waiting, 1u);
  const Agent agent(broker, "lab", 1, 1);
  tuner.join();
  EXPECT_EQ(tuner.wrong(), "");
  EXPECT_EQ(comes(2), "the fleet's units take the jobs again");
  const auto no_key = queue->run("other", Priority::high, FleetJob::Kind::kernels, "no job", {});
  ASSERT_FALSE(no_key.ok());
  EXPECT_EQ(
      no_key.error().message,
      "there is no queue for jobs of ann and the key other (whet-agent --join SETUP --key other, on the host of the "
      "setup, makes it)");
}
TEST_F(Fleets, ServeUsersAndKeysThatCome) {
  Broker broker;
  Agent agent(broker, "lab", 1, 1);
  ASSERT_TRUE(comes_to(*broker.join("ann"), 1));
  EXPECT_EQ(faults::run(WHET_AGENT, {"--setup", broker.dir(), "--user", "eve"}, broker.folder()).number, 0);
  broker.prepare("other");
  // nats-server 2.9 lets her in at the first reload, and to what is hers at the second.
  broker.reload();
  for (int i = 0; i < 100 && !why_not_in(broker.access("eve")).empty(); ++i) wait(0.05);
  broker.reload();
  for (int i = 0; i < 100 && !join_fleet(broker.access("eve")).ok(); ++i) wait(0.05);
  const std::shared_ptr<FleetQueue> queue = broker.join("eve");
  ASSERT_TRUE(queue);
  EXPECT_EQ(device_of(queue)->measure({kernel(7), {}}).code, OutcomeCode::ok) << "of a key that was there before her";
  EXPECT_EQ(queue->queues("other").value().size(), 1u);
}
/// A broker that runs by the configuration of whet before version 4 of what it carries.
TEST_F(Fleets, RefuseBrokersOfAnEarlierLayout) {
  Broker broker;
  const auto admin = NatsConnection::open(broker.access("admin")).value();
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char* subject = "whet.job.other.*.*.*.*";
  config.Name = "WHET_JOBS", config.Subjects = &subject, config.SubjectsLen = 1;
  ASSERT_EQ(js_AddStream(nullptr, admin->streams(), &config, nullptr, nullptr), NATS_OK);
  const faults::Ending end = faults::run(WHET_AGENT, {"--join", broker.dir(), "--key", "new"}, broker.folder());
  EXPECT_EQ(end.number, 1);
  EXPECT_TRUE(has(end.out,
                  "the broker's configuration is of an earlier whet, by which users could harm each other: "
                  "whet-agent --setup FOLDER writes it anew; then start nats-server again with it"))
      << end.out;
}
TEST_F(Fleets, SaySoWhenTheyAreNotThere) {
  const Broker broker;
  FleetAccess ann = broker.access("ann");
  const faults::Ending refused =
      faults::run(WHET_AGENT, {"--join", broker.dir("ann"), "--key", kKey, "--device", "exec:true"}, broker.folder());
  EXPECT_EQ(refused.number, 1);
  EXPECT_TRUE(has(refused.out, "is the folder of a tuner; expected that of an agent")) << refused.out;
  const faults::Ending no_queue = faults::run(
      WHET_AGENT, {"--join", broker.dir("lab"), "--key", "other", "--device", "exec:true"}, broker.folder());
  EXPECT_EQ(no_queue.number, 1);
  EXPECT_TRUE(has(no_queue.out, "there is no queue for the key other (whet-agent --join SETUP --key other"))
      << no_queue.out;
  ann.server = "tls://127.0.0.1:1";
  const auto queue = join_fleet(ann);
  ASSERT_FALSE(queue.ok());
  EXPECT_EQ(queue.error().message, "the broker at tls://127.0.0.1:1: no broker answers");
}

/// A unit of this machine, which runs compiled models; its files are kept for the agent's name.
std::string real_unit(const Broker& broker, const std::string& agent) {
  return "exec:XDG_CACHE_HOME=" + (broker.folder() / agent) + " exec " WHET_DEVICE " --stdio";
}
/// Agents with such a unit each.
std::unique_ptr<Program> real_agent(const Broker& broker, const std::string& name) {
  return std::make_unique<Program>(
      WHET_AGENT,
      std::vector<std::string>{"--join", broker.dir(name), "--key", kKey, "--device", real_unit(broker, name)},
      broker.folder());
}
/// "ok b?xy": what an inference of a test model gives that is told what to do; or the error.
std::string inference(ModelHost& host, const std::string& path, char what) {
  ModelOrder order;
  order.work = ModelWork::run;
  const auto answers = host.run_models({{path}}, {whet::testing::order_for(what)}, order);
  if (!answers.ok()) return answers.error().message;
  std::string text = answers->front().outputs.front();
  if (text[1] <= 1) text[1] = static_cast<char>('0' + text[1]);
  return "ok " + text;
}
std::unique_ptr<FleetDevice> models_of(const std::shared_ptr<FleetQueue>& queue) {
  FleetDeviceOptions options;
  options.queue = queue;
  options.key = kKey;
  options.model_timeout = 2;
  const DeviceDescription unit = queue->units(kKey).value().front().presence.device;
  return std::make_unique<FleetDevice>(std::move(options), unit, parse_target("cpu -mcpu=x86-64-v3").value());
}
constexpr std::uint32_t kX86 = 62;

TEST_F(Fleets, RunCompiledModels) {
  if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  const Broker broker;
  const auto lab = real_agent(broker, "lab");
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 1));
  const auto host = models_of(queue);
  const whet::testing::TestModels models;
  // Some pieces long, with pages that do not travel.
  const auto made = made_weights();
  std::string weights;
  for (int page = 0; page < 500; ++page) weights.append(made.data() + kMadePage - 1000, kMadePage);
  const std::string library = whet::testing::TestModels::content_of(WHET_TEST_MODEL),
                    path = models.sealed(library + std::string(1500000, 'x') + weights, kX86, 1);
  EXPECT_EQ(inference(*host, path, 'a'), "ok b0xy");
  EXPECT_EQ(inference(*host, path, 'b'), "ok c0xy");
  EXPECT_EQ(inference(*host, path, 'c'), path + ": the compiled model crashed: SIGSEGV");
  EXPECT_EQ(inference(*host, path, 'h'), path + ": the compiled model did not finish within 2 s");
  EXPECT_EQ(inference(*host, path, 'a'), "ok b0xy") << "nothing harms the next";
  // Jobs of kernels go on beside, and another's files are no one else's.
  const KernelJob add_one = testing_kernels::job(WHET_TEST_KERNELS, "add_one");
  EXPECT_EQ(host->measure({add_one, {}}).code, OutcomeCode::ok);
  const auto bob = NatsConnection::open(broker.access("bob"), 0.3).value();
  const std::string hash = name_blob(path)->hash;
  EXPECT_FALSE(bob->last(file_stream("ann"), file_subject("ann", hash, 0)).ok());
  EXPECT_FALSE(bob->store(file_subject("ann", hash, 0), "x", "1").ok());
}
TEST_F(Fleets, RunKernelsOfTwoUsersInNoProcessOfBoth) {
  if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  const Broker broker;
  const auto lab = real_agent(broker, "lab");
  const std::shared_ptr<FleetQueue> ann = broker.join("ann"), bob = broker.join("bob");
  ASSERT_TRUE(comes_to(*ann, 1));
  ASSERT_TRUE(comes_to(*bob, 1));
  const auto process_of = [](const std::shared_ptr<FleetQueue>& queue) {
    const CheckReply reply =
        models_of(queue)->check({testing_kernels::job(WHET_TEST_KERNELS, "name_its_process"), {}, {}, {}});
    return reply.code == OutcomeCode::ok ? reply.outputs.at(0).substr(0, sizeof(std::int32_t)) : reply.message;
  };
  const std::string of_ann = process_of(ann), of_bob = process_of(bob);
  EXPECT_EQ(of_ann.size(), sizeof(std::int32_t)) << of_ann;
  EXPECT_NE(of_bob, of_ann);
  EXPECT_EQ(process_of(bob), of_bob);
  EXPECT_NE(process_of(ann), of_bob);
  EXPECT_NE(process_of(ann), of_ann) << "which has ended";
}
TEST_F(Fleets, RunCompiledModelsElsewhereWhenAnAgentDies) {
  if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  Broker broker;
  auto lab = real_agent(broker, "lab"), far = real_agent(broker, "far");
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 2));
  const auto host = models_of(queue);
  const whet::testing::TestModels models;
  std::atomic<int> wrong = 0, done = 0;
  std::atomic<bool> stop = false;
  std::thread user([&] {
    for (std::uint64_t number = 1; !stop; ++number, ++done)
      if (const std::string text = inference(*host, models.file(WHET_TEST_MODEL, kX86, number, 300000), 'a');
          text != "ok b0xy") {
        ADD_FAILURE() << text;
        ++wrong;
      }
  });
  const auto goes_on = [&](int more) {
    const int enough = done + more;
    for (int i = 0; i < 600 && done < enough; ++i) wait(0.1);
    EXPECT_GE(done, enough);
  };
  goes_on(3);
  for (const bool first : {true, false}) {
    std::unique_ptr<Program>& dies = first ? lab : far;
    dies->send(SIGKILL), dies->end();
    goes_on(3);
    dies = real_agent(broker, first ? "lab" : "far");
    goes_on(3);
    EXPECT_TRUE(comes_to(*queue, 2));
  }
  broker.kill(), broker.start();
  goes_on(3);
  stop = true;
  user.join();
  EXPECT_EQ(wrong, 0);
}
TEST_F(Fleets, SayThatAModelCostTwoUnits) {
  if (!std::filesystem::exists(WHET_DEVICE)) GTEST_SKIP() << WHET_DEVICE << " is not built: clang++-19 is missing";
  const Broker broker;
  // A board that goes down a second after it is asked for a model that never ends.
  const std::string unit =
      "exec:(sleep 2; kill -9 $$) & XDG_CACHE_HOME=" + (broker.folder() / "lab") + " exec " WHET_DEVICE " --stdio";
  const Program lab(WHET_AGENT, {"--join", broker.dir("lab"), "--key", kKey, "--device", unit}, broker.folder());
  const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  ASSERT_TRUE(comes_to(*queue, 1));
  FleetDeviceOptions options;
  options.queue = queue;
  options.key = kKey;
  FleetDevice host(std::move(options), queue->units(kKey).value().front().presence.device,
                   parse_target("cpu -mcpu=x86-64-v3").value());
  const whet::testing::TestModels models;
  const std::string why = inference(host, models.file(WHET_TEST_MODEL, kX86, 1), 'h');
  EXPECT_TRUE(has(why, "fleet:k: two units were lost over a compiled model: ")) << why;
}
/// A fleet of this machine, which lives as long as this program, as a device.
std::unique_ptr<Device> fleet_of_this_machine() {
  static const Broker broker;
  static const Program agent(
      WHET_AGENT, {"--join", broker.dir("lab"), "--key", kKey, "--device", "exec:exec " WHET_DEVICE " --stdio"},
      broker.folder());
  static const std::shared_ptr<FleetQueue> queue = broker.join("ann");
  EXPECT_TRUE(comes_to(*queue, 1));
  FleetDeviceOptions options;
  options.queue = queue;
  options.key = kKey;
  options.run_timeout = 2;
  const DeviceDescription unit = queue->units(kKey).value().front().presence.device;
  return std::make_unique<FleetDevice>(std::move(options), unit, parse_target("cpu -mcpu=x86-64-v3").value());
}
std::vector<testing::DeviceUnderTest> fleets_under_test() {
  if (!has_broker() || !std::filesystem::exists(WHET_DEVICE)) return {};
  const auto kernel_of = [](const char* name) { return testing_kernels::job(WHET_TEST_KERNELS, name); };
  static const whet::testing::TestModels models;
  KernelJob broken = kernel_of("add_one");
  broken.kernel.code = "no object";
  return {{"fleet",
           fleet_of_this_machine,
           kernel_of("add_one"),
           {broken, kernel_of("write_null"), kernel_of("hang")},
           {{models.file(WHET_TEST_MODEL, kX86, 1)}, {models.file(WHET_TEST_MODEL, kX86, 2)}},
           {whet::testing::order_for('a')}}};
}

TEST(Brokers, OfOldVersionsHaveKnownHoles) {
  for (const char* old : {"2.9.10", "2.11.15", "2.12.0", "2.12.6", "", "x"}) EXPECT_TRUE(has_known_holes(old)) << old;
  for (const char* fixed : {"2.11.16", "2.11.20", "2.12.7", "2.13.0", "3.0.0"})
    EXPECT_FALSE(has_known_holes(fixed)) << fixed;
}
TEST_F(Fleets, TellTheVersionOfTheirBroker) {
  const Broker broker;
  EXPECT_TRUE(
      std::regex_match(broker_version("127.0.0.1", std::stoi(broker.port())), std::regex("[0-9]+\\.[0-9]+\\..*")));
  EXPECT_EQ(broker_version("127.0.0.1", 1), "");
}

}  // namespace
}  // namespace whet::fleet_faults_test

namespace whet::testing {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceContract);
INSTANTIATE_TEST_SUITE_P(Fleets, DeviceContract, ::testing::ValuesIn(fleet_faults_test::fleets_under_test()),
                         name_of_device);

}  // namespace whet::testing
