// Waiting for what is answered by callback: the protocols of this folder are written as plain sequences on a thread of
// their own, while lanes and broker answer from theirs. A wait has a bound, and an answer that comes after it is
// dropped: unknown stays unknown.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "admission/lane_scripts.hpp"
#include "base/result.hpp"
#include "base/threads.hpp"

namespace seckill::admission::leading {

// Places for `count` answers. Owned by one thread; the callbacks may come from any, and may outlive it.
template <typename T>
class Answers {
 public:
  Answers(base::Threads& threads, std::size_t count) : threads_{threads}, state_{std::make_shared<State>()} {
    state_->changed = threads.make_signal();
    state_->values.resize(count);
    state_->missing = count;
  }

  // What is handed over to be called with answer `index`. Once for each index.
  [[nodiscard]] std::move_only_function<void(T)> place(std::size_t index) {
    return [state = state_, index](T value) {
      const std::lock_guard lock{state->mutex};
      if (state->values[index]) return;
      state->values[index].emplace(std::move(value));
      if (--state->missing == 0) state->changed->notify_all();
    };
  }

  // Blocks until all have come or `longest` has passed; nullopt where none came. Call once.
  [[nodiscard]] std::vector<std::optional<T>> wait(std::chrono::nanoseconds longest) {
    std::unique_lock lock{state_->mutex};
    (void)threads_.wait_for(*state_->changed, lock, longest, [this] { return state_->missing == 0; });
    auto values = std::move(state_->values);
    state_->values.assign(values.size(), std::nullopt);  // what comes late finds its place and is dropped with it
    return values;
  }

 private:
  struct State {
    std::mutex mutex;
    std::unique_ptr<base::Signal> changed;
    std::vector<std::optional<T>> values;
    std::size_t missing = 0;
  };
  base::Threads& threads_;
  std::shared_ptr<State> state_;
};

// Lane calls, sent together and awaited together; no answer in time is Errc::timeout: unknown. Blocks.
template <typename T>
class LaneCalls {
 public:
  LaneCalls(base::Threads& threads, std::size_t count) : answers_{threads, count} {}
  [[nodiscard]] LaneAnswer<T> place(std::size_t index) { return answers_.place(index); }
  [[nodiscard]] std::vector<base::Result<T>> wait(std::chrono::nanoseconds longest) {
    std::vector<base::Result<T>> results;
    for (auto& answer : answers_.wait(longest)) {
      results.push_back(answer ? std::move(*answer)
                               : base::fail(base::Errc::timeout, "asking a lane", "no answer in time"));
    }
    return results;
  }

 private:
  Answers<base::Result<T>> answers_;
};

// One lane call: `call` gets the callback to hand over. Blocks.
template <typename T, typename Call>
[[nodiscard]] base::Result<T> ask_lane(base::Threads& threads, std::chrono::nanoseconds longest, Call call) {
  LaneCalls<T> calls{threads, 1};
  call(calls.place(0));
  return std::move(calls.wait(longest).front());
}

}  // namespace seckill::admission::leading
