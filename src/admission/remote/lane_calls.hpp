// Calls of lanes that a thread waits for: the same port, with a deadline. Not on the thread that calls back.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "admission/remote/remote_item.hpp"
#include "base/threads.hpp"

namespace seckill::admission::remote {

class LaneCalls {
 public:
  LaneCalls(LaneScripts& lanes, base::Threads& threads, std::chrono::nanoseconds longest)
      : scripts{lanes}, threads_{threads}, longest_{longest} {}

  LaneScripts& scripts;

  // Begins a call and blocks until it answers; Errc::timeout (unknown) when it has not after the deadline. A later
  // answer is dropped. Any thread that may block.
  template <typename T>
  [[nodiscard]] base::Result<T> await(std::move_only_function<void(LaneAnswer<T>)> begin) const {
    struct Slot {
      std::mutex mutex;
      std::unique_ptr<base::Signal> told;
      std::optional<base::Result<T>> value;
    };
    const auto slot = std::make_shared<Slot>();  // a late answer finds it still there
    slot->told = threads_.make_signal();
    begin([slot](base::Result<T> value) {
      const std::scoped_lock lock{slot->mutex};
      slot->value.emplace(std::move(value));
      slot->told->notify_all();
    });
    std::unique_lock lock{slot->mutex};
    if (!threads_.wait_for(*slot->told, lock, longest_, [&] { return slot->value.has_value(); })) {
      return base::fail(base::Errc::timeout, "asking a lane", "no answer in time");
    }
    return std::move(*slot->value);
  }

  // Readings of all lanes, asked for at once; one that did not answer in time is an Error.
  [[nodiscard]] std::vector<base::Result<LaneReading>> read_all(const RemoteItem& item, const ItemCopy& copy) const;
  [[nodiscard]] base::Result<LaneReading> read(const RemoteItem& item, const ItemCopy& copy,
                                               model::LaneIndex lane) const;

 private:
  base::Threads& threads_;
  const std::chrono::nanoseconds longest_;
};

}  // namespace seckill::admission::remote
