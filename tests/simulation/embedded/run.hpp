// One run of the embedded world: plays a plan, lets the oracle look at every event, then heals everything and demands
// that all comes to rest.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "simulation/embedded/server.hpp"
#include "simulation/oracle/oracle.hpp"
#include "simulation/runner/world.hpp"

namespace seckill::sim::embedded {

class Run {
 public:
  Run(const Plan& plan, const Breakage& breakage);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunResult play();

 private:
  // --- the server's lives ---
  void boot();
  void crash(Time down_for);
  void crashed(Time down_for);
  [[nodiscard]] bool serving() const { return node_.alive() && server_ && server_->is_open(); }

  // --- steps ---
  void plan_steps();
  void play_step(const Step& step);
  void play_fault(const Step& step);
  void buy(const Step& step);
  void ask_for(const admission::AdmitRequest& request, bool reply_is_lost);
  void replied(std::size_t question, const admission::AdmitReply& reply, bool reply_is_lost);
  void end(const Step& step, model::OrderEvent event);
  void look(const Step& step);
  void change(const Step& step);
  void edit(ops::SaleDesk& desk, const Step& step);
  void command(ops::SaleDesk& desk, const Step& step, model::SaleCommand command);
  void settle_terms();
  // What becomes of a change that was answered: done with, or to be asked for again.
  void finished(const Step& step, base::Errc* failed);
  [[nodiscard]] static std::string name_of(const Step& step);
  void move_stock(ops::SaleDesk& desk, const Step& step);

  // --- looking ---
  void observe();
  // Runs until the condition holds, the time is over, or the oracle complains; true when the condition holds.
  bool run(Time longest, const std::function<bool()>& until);
  void heal();
  [[nodiscard]] bool at_rest();
  void come_to_rest();
  // The identities that reconcile checks in production, and each order's mark.
  void check_identities(const model::ItemKey& item);
  void sell_what_is_left();
  [[nodiscard]] std::string what_is_under_way();
  [[nodiscard]] RunResult result();

  [[nodiscard]] model::ItemKey key(std::int64_t item) const;
  [[nodiscard]] static model::BuyerId buyer(std::int64_t number);
  [[nodiscard]] static model::RequestId request(std::int64_t number);

  const Plan& plan_;
  const Breakage& breakage_;
  const Setup setup_;
  Kernel kernel_;
  Node& node_;
  Tables tables_;
  SimDatabase database_;
  StoreFaults faults_;
  std::uint32_t unknown_permille_ = 0;
  std::uint64_t fault_number_ = 0;  // the latest fault's: an earlier one's end does not end it
  Oracle oracle_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<base::Thread> boot_thread_;
  std::map<std::string, Step> unfinished_;  // changes that an operator has to ask for again, by their id
  bool healed_ = false;
};

}  // namespace seckill::sim::embedded
