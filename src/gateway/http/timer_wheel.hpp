// One coarse timer for all deadlines of a thread. A timer a request costs 5 % of a refusal; here, moving a deadline
// into the future is one store, because an entry stays in its place and is looked at again when that place comes up.
// Time is a tick number that the owner advances. Keeps P9: every wait of a connection ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace seckill::gateway::http {

// A thing with a deadline. Not movable while scheduled. One thread.
class WheelEntry {
 public:
  WheelEntry() noexcept = default;
  WheelEntry(const WheelEntry&) = delete;
  WheelEntry& operator=(const WheelEntry&) = delete;
  ~WheelEntry() { unlink(); }

  void unlink() noexcept {
    next_->prev_ = prev_;
    prev_->next_ = next_;
    next_ = prev_ = this;
    placed_ = 0;
  }

 private:
  friend class TimerWheel;
  WheelEntry* next_ = this;
  WheelEntry* prev_ = this;
  std::uint64_t due_ = 0;     // the deadline
  std::uint64_t placed_ = 0;  // the tick at which its place comes up, never after due_; 0: not scheduled
};

// One thread. O(1) for all, whatever the number of entries.
class TimerWheel {
 public:
  // The entry's deadline becomes the tick `in` from now, at least one.
  void schedule(WheelEntry& entry, std::uint64_t in) noexcept {
    entry.due_ = now_ + (in == 0 ? 1 : in);
    if (entry.placed_ != 0 && entry.placed_ <= entry.due_) [[likely]] {
      return;
    }
    place(entry);
  }

  // Moves time one tick on and calls expired(entry) for each entry that is due; it is unscheduled by then, and may be
  // scheduled or destroyed in the call.
  template <typename Expired>
  void advance(Expired&& expired) {
    ++now_;
    WheelEntry due;
    WheelEntry& slot = slots_[now_ % slots];
    while (slot.next_ != &slot) {
      WheelEntry& entry = *slot.next_;
      entry.unlink();
      link(due, entry);  // first out of the slot: what is placed again may come back to it
    }
    while (due.next_ != &due) {
      WheelEntry& entry = *due.next_;
      entry.unlink();
      if (entry.due_ > now_) {
        place(entry);
      } else {
        expired(entry);
      }
    }
  }

  [[nodiscard]] std::uint64_t now() const noexcept { return now_; }

 private:
  static constexpr std::size_t slots = 128;

  static void link(WheelEntry& list, WheelEntry& entry) noexcept {
    entry.next_ = &list;
    entry.prev_ = list.prev_;
    list.prev_->next_ = &entry;
    list.prev_ = &entry;
  }

  void place(WheelEntry& entry) noexcept {
    entry.unlink();
    const std::uint64_t furthest = now_ + slots - 1;
    entry.placed_ = entry.due_ < furthest ? entry.due_ : furthest;
    link(slots_[entry.placed_ % slots], entry);
  }

  std::array<WheelEntry, slots> slots_;
  std::uint64_t now_ = 0;
};

}  // namespace seckill::gateway::http
