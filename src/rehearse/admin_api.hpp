// The operator's side of a rehearsal, over the admin API like any operator: puts a sale on, reads what became of it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "drivers/http_client.hpp"
#include "rehearse/journal.hpp"

namespace seckill::rehearse {

// One line of the server's own verdict.
struct Promise {
  std::string promise;  // "P1"
  std::string title;
  std::string detail;
  bool holds = false;
};
struct Verdict {
  bool drained = false;  // nothing is under way any more
  std::vector<Promise> promises;
};

struct Funnel {
  std::vector<std::pair<std::string, std::int64_t>> stages;  // in the order of the funnel
  std::map<std::string, std::int64_t> refusals;
  std::map<std::string, std::int64_t> orders;  // by state
};

// One thread; every call blocks. Errors: as drivers::HttpClient says, or `refused` with what the server answered.
class AdminApi {
 public:
  AdminApi(std::uint16_t port, std::string operator_token);

  base::Status create_sale(const boost::json::object& sale);
  base::Status preload(std::string_view sale);
  base::Result<ServerFacts> facts(std::string_view sale);
  base::Result<Verdict> verdict(std::string_view sale);
  base::Result<Funnel> funnel(std::string_view sale);

 private:
  base::Result<boost::json::object> call(std::string method, std::string_view path, std::string body = {});

  drivers::HttpClient http_;
  std::string base_url_;
  std::string token_;
};

}  // namespace seckill::rehearse
