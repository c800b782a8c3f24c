#include "admission/remote/remote_admission.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/assert.hpp"

namespace seckill::admission::remote {

RemoteAdmission::RemoteAdmission(Ports ports, const Config& config)
    : ports_{std::move(ports)},
      config_{config},
      gate_{ports_.threads},
      calls_{ports_.scripts, ports_.threads, config_.lane_call_deadline},
      alarms_{ports_.threads, config_.calls_max},
      copies_{ports_, config_, gate_, items_},
      relay_{ports_, config_, gate_, items_},
      transfers_{ports_, calls_},
      steals_{
          ports_, config_, copies_, calls_, transfers_, alarms_, [this](CallPtr call) { desk_.ask(std::move(call)); }},
      desk_{ports_, config_, gate_, copies_, relay_, steals_, alarms_},
      rounds_{ports_, config_, copies_, calls_, relay_, items_},
      recovery_{ports_, config_, copies_, calls_, transfers_, items_},
      store_desk_{ports_, config_, copies_, relay_} {
  SECKILL_ASSERT(config_.copy_lease + config_.call_deadline < std::chrono::seconds{5} &&
                     config_.copy_lease + config_.lane_call_deadline < std::chrono::seconds{5},
                 "a rebuild waits 5 s after it closed a lane");
  SECKILL_ASSERT(config_.partitions >= 1 && config_.message_intents_max >= 1 && config_.message_intents_max <= 100,
                 "the broker's port takes 1 to 100 intents a message");
}

RemoteAdmission::~RemoteAdmission() {
  // Empty after stop(). After a crash calls still wait here, each of which keeps its item, and so its own line, alive.
  for (const ItemPtr& item : items_.all()) {
    for (model::LaneIndex lane = 0; lane < item->lane_count; ++lane) item->lanes[lane].waiting.clear();
  }
}

void RemoteAdmission::start() {
  alarms_.start();
  relay_.start();
  copies_.start();
  steals_.start();
  rounds_.start();
  recovery_.start();
  store_desk_.start();
}

void RemoteAdmission::stop() {
  relay_.stop_confirming();
  gate_.close();
  store_desk_.stop();
  recovery_.stop();
  rounds_.stop();
  steals_.stop();
  copies_.stop();
  relay_.stop();
  alarms_.stop();
  gate_.wait_empty();
}

std::optional<RemoteAdmission::Known> RemoteAdmission::known(const model::ItemKey& key) const {
  ItemPtr item = items_.find(key);
  if (item == nullptr) return std::nullopt;
  CopyPtr copy = item->copy();
  if (!copies_.fresh(*copy)) return std::nullopt;
  return Known{.item = std::move(item), .copy = std::move(copy)};
}

bool RemoteAdmission::open_here(const Known& known, model::LaneIndex index) const {
  LaneState& lane = known.item->lanes[index];
  if (rounds_.overfull(lane)) return false;
  const std::scoped_lock lock{lane.mutex};
  return known.copy->lane(index).row.generation > lane.closed_here;
}

namespace {

struct CallDeadline {
  CallPtr call;
  [[nodiscard]] bool over() const noexcept { return call->answered(); }
  void ring() const { call->answer_busy(); }
};

}  // namespace

void RemoteAdmission::admit(const AdmitRequest& request, AdmitDone done) {
  const auto busy = [&] { done({.answer = model::PurchaseAnswer::busy, .ticket = std::nullopt, .own = {}}); };
  auto pass = gate_.enter();
  if (!pass) return busy();
  const auto item = known(request.item);
  if (!item) return busy();
  const model::LaneIndex lane = model::lane_of(request.buyer.view(), item->item->lane_count);
  const store::LaneState state = item->copy->lane(lane).state;
  if (state == store::LaneState::closed || !open_here(*item, lane)) return busy();
  auto place = relay_.try_reserve();
  if (!place) return busy();
  const model::Ticket ticket =
      model::derive_ticket(item->item->ticket_key, request.item, request.buyer, request.request_id.view(), lane);
  const std::chrono::nanoseconds deadline = ports_.threads.now() + config_.call_deadline;
  const auto call =
      std::make_shared<AdmitCall>(request, item->item, lane, ticket, deadline, std::move(*pass), std::move(done));
  call->place = std::move(place);
  if (!alarms_.try_set(config_.call_deadline, CallDeadline{call})) return call->answer_busy();
  if (state == store::LaneState::store) return store_desk_.ask(call);
  desk_.ask(call);
}

std::optional<model::PurchaseAnswer> RemoteAdmission::early_answer(const model::ItemKey& key,
                                                                   std::optional<std::string_view> buyer,
                                                                   std::int64_t units_min) const noexcept {
  const auto item = known(key);
  if (!item) return std::nullopt;
  const model::ItemTerms& terms = item->copy->terms;
  const model::Phase phase = model::phase_at(terms.state, terms.starts_at, terms.ends_at, ports_.clock.now_utc());
  if (phase == model::Phase::not_started) return model::PurchaseAnswer::not_started;
  if (!buyer) return std::nullopt;
  const model::LaneIndex index = model::lane_of(*buyer, item->item->lane_count);
  const store::LaneAuthorityRow& row = item->copy->lane(index);
  if (row.state != store::LaneState::lane || row.undrained()) return std::nullopt;
  const bool sold_out =
      phase == model::Phase::open && item->item->sold_out.covers(units_min, ports_.clock.steady_now());
  if (phase == model::Phase::open && !sold_out) return std::nullopt;
  LaneState& lane = item->item->lanes[index];
  const std::scoped_lock lock{lane.mutex};
  const LaneState::FlagReading& flag = sold_out ? lane.sold_out_reading : lane.refusing_reading;
  if (flag.generation != row.row.generation || lane.closed_here >= row.row.generation) return std::nullopt;
  if (!sold_out && flag.version != terms.version) return std::nullopt;
  if (!lane.holders.whole(flag.generation, flag.marks) || lane.holders.may_hold(*buyer)) return std::nullopt;
  if (sold_out) return model::PurchaseAnswer::sold_out;
  return phase == model::Phase::paused ? model::PurchaseAnswer::paused : model::PurchaseAnswer::ended;
}

std::optional<model::Ticket> RemoteAdmission::ticket_of(const model::ItemKey& key, const model::BuyerId& buyer,
                                                        const model::RequestId& request_id) const {
  const ItemPtr item = items_.find(key);
  if (item == nullptr) return std::nullopt;
  return model::derive_ticket(item->ticket_key, key, buyer, request_id.view(),
                              model::lane_of(buyer.view(), item->lane_count));
}

namespace {

std::unexpected<base::Error> not_looked_up(const model::ItemKey& key, std::string cause) {
  return base::fail(base::Errc::unavailable, "looking up tickets of " + key.text(), std::move(cause));
}

// One question that is answered once: by the lane and the relay, or by its deadline.
template <typename Done>
struct Lookup {
  explicit Lookup(Done done_) : done{std::move(done_)} {}
  std::atomic<bool> answered{false};
  Done done;
  void answer(base::Result<LaneScripts::FoundTickets> found) {
    if (!answered.exchange(true, std::memory_order_acq_rel)) done(std::move(found));
  }
};

template <typename Done>
struct LookupDeadline {
  std::shared_ptr<Lookup<Done>> lookup;
  model::ItemKey item;
  [[nodiscard]] bool over() const noexcept { return lookup->answered.load(std::memory_order_acquire); }
  void ring() { lookup->answer(not_looked_up(item, "no answer in time")); }
};

}  // namespace

void RemoteAdmission::look_up(const model::ItemKey& key, const model::BuyerId& buyer, std::optional<model::Ticket> only,
                              TicketsDone done) {
  const auto fail = [key](std::string cause) { return not_looked_up(key, std::move(cause)); };
  auto pass = gate_.enter();
  const auto item = known(key);
  if (!pass || !item) return done(fail("its lanes are not known here now"));
  const model::LaneIndex lane = model::lane_of(buyer.view(), item->item->lane_count);
  if (item->copy->lane(lane).state != store::LaneState::lane) return done(fail("its lane is not open"));
  const auto lookup = std::make_shared<Lookup<TicketsDone>>(std::move(done));
  if (!alarms_.try_set(config_.call_deadline, LookupDeadline{lookup, key}))
    return lookup->answer(fail("too many calls"));
  ports_.scripts.buyer_tickets(
      item->item->lane_key(lane), item->copy->server(lane), buyer,
      [this, lookup, only, fail, generation = item->copy->lane(lane).row.generation,
       undrained = item->copy->lane(lane).undrained(),
       pass = std::move(pass)](base::Result<LaneScripts::FoundTickets> found) mutable {
        if (!found) return lookup->answer(fail(found.error().text()));
        if (found->code != LaneCode::done) return lookup->answer(fail("its lane is not open"));
        // "No record" is said only by a lane that knows all: of the copy's generation, with nothing older on its way.
        const bool knows_all = found->generation == generation && !undrained;
        const bool has_it =
            only && std::ranges::find(found->tickets, *only, &TicketView::ticket) != found->tickets.end();
        if (!knows_all && !has_it) return lookup->answer(fail("its lane does not know of all tickets yet"));
        if (only) std::erase_if(found->unpublished, [&](const auto& intent) { return intent.ticket != *only; });
        std::vector<model::OrderIntent> unpublished = std::move(found->unpublished);
        std::vector<Places::Place> places;
        while (places.size() < unpublished.size()) {
          auto place = relay_.try_reserve();
          if (!place) return lookup->answer(fail("the queue is full"));
          places.push_back(std::move(*place));
        }
        desk_.publish_all(std::move(unpublished), std::move(places),
                          [lookup, fail, found = std::move(found), pass = std::move(pass)](bool durable) mutable {
                            if (!durable) return lookup->answer(fail("not known durable yet"));
                            for (TicketView& view : found->tickets) view.durable = true;
                            lookup->answer(std::move(found));
                          });
      });
}

void RemoteAdmission::find_ticket(const model::ItemKey& item, const model::BuyerId& buyer, const model::Ticket& ticket,
                                  std::move_only_function<void(base::Result<std::optional<TicketView>>)> done) {
  look_up(item, buyer, ticket, [ticket, done = std::move(done)](base::Result<LaneScripts::FoundTickets> found) mutable {
    if (!found) return done(std::unexpected(std::move(found.error())));
    // All of them are this buyer's: another's ticket is no ticket (FS-24).
    for (TicketView& view : found->tickets) {
      if (view.ticket == ticket) return done(std::optional{std::move(view)});
    }
    done(std::optional<TicketView>{});
  });
}

void RemoteAdmission::buyer_tickets(const model::ItemKey& item, const model::BuyerId& buyer,
                                    std::move_only_function<void(base::Result<std::vector<TicketView>>)> done) {
  look_up(item, buyer, std::nullopt, [done = std::move(done)](base::Result<LaneScripts::FoundTickets> found) mutable {
    if (!found) return done(std::unexpected(std::move(found.error())));
    done(std::move(found->tickets));
  });
}

void RemoteAdmission::release(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) {
  end_ticket(item, ticket, End::release, std::move(done));
}

void RemoteAdmission::post(const model::ItemKey& item, const model::Ticket& ticket, LaneDone done) {
  end_ticket(item, ticket, End::post, std::move(done));
}

void RemoteAdmission::end_ticket(const model::ItemKey& key, const model::Ticket& ticket, End end, LaneDone done) {
  auto pass = gate_.enter();
  const auto item = known(key);
  if (!pass || !item) return done(LaneAck::closed);
  const model::LaneIndex lane = ticket.lane();
  if (lane >= item->item->lane_count) return done(LaneAck::applied);
  switch (item->copy->lane(lane).state) {
    case store::LaneState::store: return done(LaneAck::applied);
    case store::LaneState::closed: return done(LaneAck::closed);
    case store::LaneState::lane: break;
  }
  // A late answer may be of a lane that was rebuilt since, from rows read before this end: it is sent again.
  const std::chrono::nanoseconds until = ports_.threads.now() + config_.lane_call_deadline;
  auto answer = [this, until, done = std::move(done),
                 pass = std::move(pass)](const base::Result<LaneCode>& code) mutable {
    const bool applied = code && *code == LaneCode::done && ports_.threads.now() < until;
    done(applied ? LaneAck::applied : LaneAck::closed);
  };
  const LaneKey lane_key = item->item->lane_key(lane);
  const LaneServer server = item->copy->server(lane);
  if (end == End::release) return ports_.scripts.release(lane_key, server, ticket, std::move(answer));
  ports_.scripts.post(lane_key, server, ticket, std::move(answer));
}

}  // namespace seckill::admission::remote
