// A seckill server in a process of its own, on free loopback ports and a data folder that goes away with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/login/token_signer.hpp"
#include "rehearse/admin_api.hpp"

namespace seckill::bench {

// One thread. Every method throws std::runtime_error with a sentence when the server misbehaves.
class ShopProcess {
 public:
  // An empty `folder` means a fresh temporary one, removed at the end.
  ShopProcess(std::string binary, unsigned threads, std::filesystem::path folder = {});
  ~ShopProcess();  // kills
  ShopProcess(const ShopProcess&) = delete;
  ShopProcess& operator=(const ShopProcess&) = delete;

  // Starts the process and waits until it is ready; the time from start to ready.
  std::chrono::duration<double> start();
  void stop();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] pid_t process() const noexcept { return process_; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  [[nodiscard]] rehearse::AdminApi& admin() noexcept { return *admin_; }

  struct SaleShape {
    std::string id;
    std::int64_t total = 1;
    std::int64_t limit = 1;
    std::int64_t starts_in_ms = -1'000;
    unsigned lanes = 1;
  };
  // Creates and preloads a sale with the one item "item".
  void open_sale(const SaleShape& shape);
  [[nodiscard]] std::string token(std::string_view buyer) const;

  // A purchase as a page sends it, whole bytes.
  [[nodiscard]] static std::string purchase(std::string_view sale, std::string_view token, std::string_view request_id,
                                            int quantity);
  // Sends one request on a connection of its own and returns the whole response.
  [[nodiscard]] std::string ask(const std::string& request) const;

 private:
  void write_config() const;

  const std::string binary_;
  const unsigned threads_;
  std::filesystem::path folder_;
  bool own_folder_ = false;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
  pid_t process_ = -1;
  std::unique_ptr<rehearse::AdminApi> admin_;
  std::unique_ptr<gateway::TokenSigner> signer_;
};

// A loopback port that was free a moment ago.
[[nodiscard]] std::uint16_t free_port();

}  // namespace seckill::bench
