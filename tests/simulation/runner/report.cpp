#include "simulation/runner/report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace seckill::sim {
namespace {

double hours(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::ratio<3600>>{time}.count(); }

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream out{path, std::ios::trunc};
  out << text << '\n';
  return static_cast<bool>(out.flush());
}

}  // namespace

bool write_report(const std::string& path, const World& world, const Totals& totals) {
  const double wall_s = std::chrono::duration<double>{totals.wall_time}.count();
  boost::json::object points;
  for (const auto& [name, passed] : totals.passages) {
    const auto crashed = totals.crashed_at.find(name);
    points[name] = {{"passed", passed}, {"crashed", crashed == totals.crashed_at.end() ? 0 : crashed->second}};
  }
  const boost::json::object report{
      {"world", world.name},
      {"seeds", totals.seeds},
      {"violations", totals.violations},
      {"virtual_hours", std::round(hours(totals.virtual_time) * 100) / 100},
      {"purchases", totals.purchases},
      {"requests", totals.requests},
      {"events", totals.events},
      {"wall_s", std::round(wall_s * 10) / 10},
      {"purchases_per_s", wall_s > 0 ? std::round(static_cast<double>(totals.purchases) / wall_s) : 0},
      {"points", points},
  };
  return write(path, boost::json::serialize(report));
}

bool add_to_record(const std::string& path, const World& world, const Totals& totals) {
  boost::json::object record;
  if (std::ifstream in{path}) {
    std::ostringstream text;
    text << in.rdbuf();
    boost::system::error_code error;
    const boost::json::value read = boost::json::parse(text.str(), error);
    if (error || !read.is_object()) return false;
    record = read.as_object();
  }
  boost::json::value& all = record["worlds"];
  if (!all.is_object()) all.emplace_object();
  boost::json::value& before = all.as_object()[world.name];
  boost::json::object& own = before.is_object() ? before.as_object() : before.emplace_object();
  const auto sum = [&](const char* key, double more) {
    const boost::json::value* found = own.if_contains(key);
    return (found != nullptr && found->is_number() ? found->to_number<double>() : 0.0) + more;
  };
  own["seeds"] = static_cast<std::uint64_t>(sum("seeds", static_cast<double>(totals.seeds)));
  own["violations"] = static_cast<std::uint64_t>(sum("violations", static_cast<double>(totals.violations)));
  own["virtual_hours"] = std::round(sum("virtual_hours", hours(totals.virtual_time)) * 100) / 100;
  own["purchases"] = static_cast<std::uint64_t>(sum("purchases", static_cast<double>(totals.purchases)));
  // Of this run: how fast it is says something of one machine, not of all runs together.
  const double wall_s = std::chrono::duration<double>{totals.wall_time}.count();
  own["purchases_per_s"] = wall_s > 0 ? std::round(static_cast<double>(totals.purchases) / wall_s) : 0;
  own["date"] = today();
  record["date"] = today();
  return write(path, boost::json::serialize(record));
}

}  // namespace seckill::sim
