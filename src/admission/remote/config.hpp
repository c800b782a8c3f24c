// What admission over remote lanes is built from, and every bound and time of it in one place.
//
// The ports are borrowed for the whole life of what is built from them. Nothing here has a global: two nodes of one
// deployment live side by side in one process in the simulator.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "admission/lane_scripts.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/threads.hpp"
#include "queue/intent_broker.hpp"
#include "queue/intent_queue.hpp"
#include "store/lane_authority.hpp"
#include "store/store.hpp"

namespace seckill::admission::remote {

struct Ports {
  LaneScripts& scripts;
  queue::IntentPublisher& publisher;
  store::LaneAuthority& authority;
  store::Store& store;
  base::Threads& threads;    // all threads, waits and deadlines
  const base::Clock& clock;  // ages of copies and leases (steady), phases (UTC)
  base::Random& random;      // jitter, and the node's part of transfer ids
  // Synchronous ordering: where intents land when the switch says so. Null: this node cannot. One thread calls it.
  queue::IntentConsumer* landing = nullptr;
  std::function<bool()> synchronous;  // the switch, read live; empty: never. Any thread, quick
};

struct Config {
  using ms = std::chrono::milliseconds;

  // --- the node's copy of an item ---
  ms copy_period{1'000};
  // The node lease: admit is called only while the copy is younger. A rebuild waits 5 s after it closed a lane, so what
  // a copy still says of it can be acted on no more: lease + call deadline < 5 s.
  ms copy_lease{3'000};
  std::size_t items_max = 4'096;  // watched at one time; more are refused

  // --- one admission ---
  ms call_deadline{1'000};               // then busy with the ticket: unknown, not failed
  ms lane_call_deadline{1'000};          // of the calls that threads wait for
  std::size_t asks_in_call_max = 64;     // one script call
  std::size_t asks_waiting_max = 1'024;  // behind the call under way, a lane; past it busy
  std::size_t round_lanes_max = 16;      // asked at one time on one server (server_turns.hpp)
  std::size_t calls_max = 65'536;        // under way in this node; past it busy
  std::uint32_t tries_max = 3;           // how often one request asks its lane after steals

  // --- relay ---
  std::uint32_t partitions = 16;                 // partition = lane mod partitions; the same on every node
  std::size_t message_intents_max = 100;         // port: 1–100
  std::size_t messages_in_flight_max = 2;        // a partition; what waits meanwhile goes in one message
  std::size_t intents_unconfirmed_max = 16'384;  // places of the whole node; past it busy before anything is taken
  std::size_t landing_waiting_max = 4'096;       // synchronous ordering: places of its queue
  ms confirm_after{50};                          // what is confirmed in this time goes to its lane together
  std::size_t confirmations_max = 32'768;        // gathered meanwhile; past it they are left to the sweep
  // A broker that has not confirmed by then is slow: durability on the lane's replicas is asked for. 0: never ask.
  ms replicas_after{300};

  // --- sweep ---
  ms sweep_period{1'000};
  ms sweep_age{2'000};                      // claims intents nobody has claimed for so long
  std::size_t sweep_intents_max = 500;      // a lane and round
  std::int64_t open_intents_max = 100'000;  // of one lane; past it its admissions are answered busy

  // --- stealing ---
  std::size_t steal_threads = 2;
  std::size_t steal_waiters_max = 256;  // a lane
  ms steal_wait{50};
  std::size_t steal_readings_max = 4;  // of all lanes, in one steal
  ms steal_reading_pause{5};           // between two of them while transfers are open
  ms sold_out_lease{1'000};

  // --- transfer recovery ---
  ms recovery_period{2'000};
  ms recovery_age{5'000};  // seen open for so long by this node's steady clock: no clock of another machine is trusted
  std::size_t recovery_seen_max = 10'000;

  // --- admission by database ---
  std::size_t store_threads = 1;
  std::size_t store_waiting_max = 1'024;
  std::int64_t store_admissions_per_s = 500;
};

[[nodiscard]] inline queue::Partition partition_of(model::LaneIndex lane, const Config& config) noexcept {
  return lane % config.partitions;
}

}  // namespace seckill::admission::remote
