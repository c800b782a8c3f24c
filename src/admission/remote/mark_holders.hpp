// Whom a node must not refuse before his lane is asked: the buyers with a mark in one lane, as 64-bit fingerprints
// (DESIGN §4.1.2). While an item is sold out, paused or over, everybody else is answered from here, so that the crowd
// that comes too late costs no call of the lane (P9), and nobody who has a ticket is denied it (P4).
//
//   reading r of the lane says m marks ─► a pass over all marks begins ─► ends: whole for (generation, m)
//
// Marks never go away within a generation, and a whole pass names everybody who had one when it began. So a set that is
// whole for m holds every buyer of any reading that counts at most m. A fingerprint that two buyers share only sends
// the other one on to the lane.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "model/ids.hpp"

namespace seckill::admission::remote {

// Not synchronized: its owner holds the lane's mutex. At most one entry a mark, so bounded by the lane's units.
class MarkHolders {
 public:
  using Fingerprints = boost::unordered_flat_set<std::uint64_t>;

  // Takes a whole pass over the marks of this generation; it began after a reading that counted `marks`.
  void replace(model::Generation generation, std::int64_t marks, Fingerprints fingerprints) {
    generation_ = generation;
    whole_for_ = marks;
    fingerprints_ = std::move(fingerprints);
  }
  // A buyer who got a mark through this node: known without waiting for the next pass.
  void add(model::Generation generation, std::string_view buyer) {
    if (generation == generation_ && whole_for_ >= 0) fingerprints_.insert(base::xxh3_64(buyer));
  }
  [[nodiscard]] bool whole(model::Generation generation, std::int64_t marks) const noexcept {
    return generation == generation_ && marks <= whole_for_;
  }
  // False is certain as of every reading that whole() allows.
  [[nodiscard]] bool may_hold(std::string_view buyer) const noexcept {
    return fingerprints_.contains(base::xxh3_64(buyer));
  }

 private:
  model::Generation generation_ = 0;
  std::int64_t whole_for_ = -1;
  Fingerprints fingerprints_;
};

}  // namespace seckill::admission::remote
