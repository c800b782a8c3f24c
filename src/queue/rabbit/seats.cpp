#include "queue/rabbit/seats.hpp"

#include <algorithm>

#include "queue/rabbit/topology.hpp"

namespace seckill::queue::rabbit {

namespace amqp = drivers::amqp;

Share share_of(const std::vector<std::uint32_t>& taken, std::optional<std::uint32_t> mine) {
  Share share{.workers = static_cast<std::uint32_t>(taken.size()), .number = std::nullopt};
  if (!mine) return share;
  const auto found = std::ranges::find(taken, *mine);
  if (found != taken.end()) share.number = static_cast<std::uint32_t>(found - taken.begin());
  return share;
}

base::Result<Share> Seats::look(amqp::Connection& connection, const RabbitConfig& config) {
  std::vector<std::uint32_t> taken;
  std::optional<std::uint32_t> free;
  // As many seats as partitions: a worker more would have nothing to do, and waits for one to become free.
  for (std::uint32_t seat = 0; seat < config.partitions; ++seat) {
    if (!looking_open_) {
      if (auto opened = connection.open_channel(looking_channel); !opened) {
        return std::unexpected{std::move(opened).error()};
      }
      looking_open_ = true;
    }
    const auto state = declare_seat(connection, looking_channel, seat_queue(config, seat));
    if (!state) {
      if (!connection.alive()) return std::unexpected{state.error()};
      looking_open_ = false;  // a seat whose node is down is nobody's
      continue;
    }
    if (seat == mine_ || state->consumers > 0) {
      taken.push_back(seat);
    } else if (!free) {
      free = seat;
    }
  }
  if (!mine_ && free) {
    if (auto seated = sit_down(connection, config, *free); !seated) {
      if (!connection.alive()) return std::unexpected{std::move(seated).error()};
      sitting_open_ = false;  // somebody was quicker: another one at the next look
    } else {
      mine_ = free;
      taken.insert(std::ranges::upper_bound(taken, *free), *free);
    }
  }
  return share_of(taken, mine_);
}

void Seats::channel_gone(amqp::ChannelNumber channel) noexcept {
  if (channel == looking_channel) looking_open_ = false;
  if (channel != sitting_channel) return;
  sitting_open_ = false;
  mine_.reset();
}

base::Status Seats::sit_down(amqp::Connection& connection, const RabbitConfig& config, std::uint32_t seat) {
  if (!sitting_open_) {
    if (auto opened = connection.open_channel(sitting_channel); !opened) return opened;
    sitting_open_ = true;
  }
  return connection.consume(sitting_channel, seat_queue(config, seat), true, true);
}

}  // namespace seckill::queue::rabbit
