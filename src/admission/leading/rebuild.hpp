// Rebuild (DESIGN §4.5): the one answer to a lane that is lost, rolled back, foreign, emptied or to change its mode. A
// round takes the lanes that want it through these steps together; only the leader runs one.
//
// clang-format off
//   step         | store's row    | lane on its server    | what a crash or a lost lease leaves to the next leader
//   -------------|----------------|-----------------------|-------------------------------------------------------
//   (found)      | lane g / any   | lost, foreign, closed | nothing was begun
//   1 close      | closed g       | as it was; told too   | closed g: begins again
//   2 node lease | closed g       | as it was             | no node acts on a copy that says otherwise any more
//   3 read marks | closed g       | closed; marks read    | closed g: begins again
//   4 barrier    | closed g       | as it was             | intents of g have landed; closed g: begins again
//   5 commit     | closed g+1     | as it was; all read   | closed g+1: begins again, to g+2
//   6 install    | closed g+1     | as it was; g+1 beside | the old lane whole, half a new one: begun again under g+2
//   7 lane open  | closed g+1     | open g+1              | nobody knows of it; begun again under g+2
//   8 store open | lane g+1       | open g+1              | done
// clang-format on
//
// To state `store` there is no 6 and 7, and 3 is tried but not insisted on: the lane keeps its marks, and what only
// they know is published, because the landing decides it. From state `store`, 1 raises the generation
// (LaneAuthority::close_lane): nobody holds anything for what was asked for under the old one, so nothing of it may
// land as a hold in a closed row (it could be short, P1).
//
// Fences: the token in 1, 5, 8 (store) and 3, 6, 7 (lane, which remembers the latest), the generation in 6, 7, 8 and in
// everything nodes do, the server in 6 and 7. Whatever reply is unknown ends this lane's attempt; a new attempt has a
// higher generation, which refuses what may still come of the old one. So nothing half installed is ever opened.
//
// Why 2 carries more than admissions: a release that an old lane acknowledged after 5 had read its ticket as live would
// be acknowledged and lost. So whoever sends a lane anything acts on a copy of the row younger than 3 s that says
// `lane`, and takes no answer older than 1 s for done (P6).
//
// Why 3: a mark may be all there is of an acknowledged intent: one whose buyer was answered on the word of the replicas
// while the broker was slow, or that a broker lost after it had confirmed it (P5). A mark without a row is installed as
// live and not published; what does not fit limit or stock fails with a row. Install goes only to the server that was
// read. A lane whose marks cannot be read stays closed until they can.
//
// Why 4 may time out: what lands too late is of an older generation and is adopted (orders/order_worker_landing.hpp).
// The row stays undrained until then, and nodes deny nobody on such a lane's word (P4). It is drained in 5 when the
// barrier came back and it was drained before; else by drain(), later.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "admission/leading/taking_over.hpp"
#include "base/clock.hpp"
#include "base/threads.hpp"
#include "queue/intent_broker.hpp"
#include "store/lane_authority.hpp"
#include "store/store.hpp"

namespace seckill::admission::leading {

struct RebuildConfig {
  std::uint32_t partitions = 1;                       // of the broker: partition = lane mod partitions
  std::chrono::milliseconds node_lease{5'000};        // copy of the row 3 s, call 1 s, 1 s to spare
  std::chrono::milliseconds barrier_longest{15'000};  // all partitions together
  std::chrono::milliseconds marks_longest{15'000};    // all lanes together, and each at least call_longest
  std::chrono::milliseconds drain_longest{5'000};     // both barriers of all partitions together
  std::chrono::milliseconds call_longest{2'000};      // one lane call
  std::size_t batch_max = 500;                        // tickets in one install call
  std::size_t lanes_at_once = 4;                      // read and installed side by side, each by a thread
  int attempts = 3;                                   // of commit … store open in one round
};

// One lane that wants a rebuild, as the leader's look saw its row.
struct RebuildTask {
  LaneKey lane;
  store::LaneState to = store::LaneState::lane;  // lane or store
  model::Generation generation = 1;
  LaneServer server;             // where the row says the lane is
  bool never_installed = false;  // fresh from preload: nobody can have been admitted, so nothing is waited for
};

enum class LaneOutcome : std::uint8_t {
  opened,  // installed, open in the store
  waits,   // closed; something did not answer or is not durable yet: the next look begins again
  fenced,  // this node does not lead any more (or not for this lane): another leader has it
};

// What rebuilds work with; all borrowed for their whole life.
struct RebuildPorts {
  store::LaneAuthority& authority;
  store::Store& store;
  LaneScripts& scripts;
  queue::IntentPublisher& publisher;
  base::Threads& threads;
  const base::Clock& clock;
};

// Owned by one thread; everything blocks. A round starts others for its lanes and ends them.
class Rebuild {
 public:
  // True as long as this token leads and nobody wants to stop; asked between steps, by each thread of a round.
  using StillLeads = std::function<bool()>;

  Rebuild(RebuildPorts ports, RebuildConfig config);

  // One round over these lanes; one outcome for each, in order. At most node_lease + marks and barrier times, and the
  // time to install them, lanes_at_once side by side.
  [[nodiscard]] std::vector<LaneOutcome> run(std::span<const RebuildTask> tasks, LeaderToken token,
                                             const StillLeads& still_leads);
  // Closes a lane in the store and, as far as it can be reached, on its server; what is closed stays so.
  [[nodiscard]] base::Status close(const RebuildTask& task, LeaderToken token);
  // Notes in the store which of these undrained, open lanes of the item are drained by now. At most drain_longest.
  //
  // Two barriers: an intent that a worker had when the first began is acknowledged, or put off as a new message, before
  // it ends; and the second ends only when that message was delivered, which its landing counts as a stray. So if none
  // was counted since `rows` were read, none is left.
  void drain(const model::ItemKey& item, std::span<const store::LaneAuthorityRow> rows, LeaderToken token);

 private:
  // A lane on its way through the round.
  struct Lane {
    const RebuildTask* task = nullptr;
    std::optional<LaneOutcome> outcome;
    LaneServer server;                      // that is reached now, read and installed on
    std::vector<model::OrderIntent> marks;  // of the closed lane; at most its units
    // Set: nothing of an older generation is on its way, if landings have met no more strays than this.
    std::optional<std::uint64_t> drained;
    bool may_be_open = false;  // the store was asked to open it
  };
  using Round = std::vector<Lane>;

  void close_all(Round& round, LeaderToken token);
  [[nodiscard]] bool wait_node_lease(const Round& round, LeaderToken token, const StillLeads& still_leads);
  static void give_up(Round& round);
  void find_servers(Round& round);
  void read_marks_of_all(Round& round, LeaderToken token, const StillLeads& still_leads);
  [[nodiscard]] base::Status read_marks(Lane& lane, LeaderToken token, std::chrono::nanoseconds until);
  void barrier(Round& round);
  // Those that came back in time.
  [[nodiscard]] std::set<queue::Partition> pass_barriers(std::set<queue::Partition> partitions,
                                                         std::chrono::nanoseconds longest);
  [[nodiscard]] LaneOutcome rebuild(Lane& lane, LeaderToken token, const StillLeads& still_leads);
  [[nodiscard]] base::Result<LaneOutcome> attempt(Lane& lane, LeaderToken token, const StillLeads& still_leads);
  [[nodiscard]] base::Status fail_refused(TakenOver& taken);
  void publish(model::LaneIndex lane, const TakenOver& taken);
  [[nodiscard]] base::Status install(const Lane& lane, const InstallPlan& plan, std::span<InstallTicket> tickets,
                                     const StillLeads& still_leads);
  [[nodiscard]] base::Status finish_outgoing(const LaneKey& key);
  [[nodiscard]] base::Status open_in_store(const Lane& lane, model::Generation generation, LeaderToken token);
  [[nodiscard]] base::Status check_opened(const Lane& lane, const InstallPlan& plan);

  RebuildPorts ports_;
  const RebuildConfig config_;
  // Lanes that this token closed and has not opened since, with the time: a round that begins again need not wait the
  // node lease again. At most one entry a lane.
  std::map<LaneKey, std::chrono::nanoseconds> closed_at_;
  std::uint64_t closed_by_ = 0;  // the token
};

}  // namespace seckill::admission::leading
