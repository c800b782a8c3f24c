// One demo from the open door to the verdict: a real server in this process, or servers that run already; a sample
// sale, a crowd over loopback HTTP, and the report. demo_command.cpp reads the command line and decides what happens
// afterwards.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/config.hpp"
#include "app/demo_folder.hpp"
#include "app/embedded.hpp"
#include "app/signals.hpp"
#include "base/result.hpp"
#include "rehearse/admin_api.hpp"
#include "rehearse/crowd_run.hpp"

namespace seckill::app {

struct DemoOptions {
  std::string sale_file;  // empty: the goods sample
  std::int64_t buyers = 20'000;
  std::int64_t units = 100;
  std::optional<std::int64_t> port;        // unset: 8080, or a free one when it is taken
  std::optional<std::int64_t> admin_port;  // unset: 8081, or a free one
  std::string data;                        // empty: a temporary folder
  // Not empty: the configuration of servers on this machine that run already; the crowd goes to `port`, the operator to
  // `admin_port`, or to the ports of the file.
  std::string running;
  std::uint64_t seed = 20'261'111;
  bool exit = false;
};

// One thread. Prints to standard output as it goes.
class DemoRun {
 public:
  // Borrows `signals`; a signal ends every step soon with Errc::refused and the cause "interrupted".
  DemoRun(DemoOptions options, boost::json::object sample, StopSignals& signals);
  ~DemoRun();

  // Folder, ports, server; or the way to the servers that run. Errors say what to do.
  [[nodiscard]] base::Status start();
  // The sale, the crowd, the report; true when every promise held.
  [[nodiscard]] base::Result<bool> rehearse();
  // A new sale that opens soon, so that the page has something to sell.
  [[nodiscard]] base::Status put_on_another();
  void print_addresses() const;

 private:
  base::Result<Config> configure(bool free_ports) const;
  base::Status start_server(bool free_ports);
  base::Status find_running();
  base::Result<std::vector<std::string>> log_everybody_in() const;
  base::Result<std::string> put_on(std::int64_t opens_in_ms, std::optional<std::int64_t> pay_window_ms, char tail);
  bool show(const rehearse::CrowdRun& run, const rehearse::Progress& progress);
  base::Result<rehearse::Verdict> wait_for_verdict(const std::string& sale);
  base::Result<bool> report(const std::string& sale, rehearse::CrowdRun& run);
  [[nodiscard]] base::Status interrupted() const;
  [[nodiscard]] std::string space_complaint() const;
  [[nodiscard]] std::size_t connections_max();

  const DemoOptions options_;
  const boost::json::object sample_;
  StopSignals& signals_;
  const bool terminal_;
  std::optional<DemoFolder> folder_;  // unset with servers that run already
  Config config_;
  std::unique_ptr<EmbeddedServer> server_;  // ends before its folder is removed; null with servers that run already
  std::uint16_t buyer_port_ = 0;
  std::uint16_t admin_port_ = 0;
  std::unique_ptr<rehearse::AdminApi> admin_;
  std::uint64_t descriptors_ = 0;
  std::string another_;
  // For the progress line.
  std::uint64_t clicks_told_ = 0;
  std::int64_t told_at_ms_ = 0;
  std::uint64_t clicks_per_s_ = 0;
};

}  // namespace seckill::app
