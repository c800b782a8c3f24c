// A small writer of Prometheus families over prometheus-cpp's data types: values are read from counters that already
// exist, so the library's own registry of live metrics would only be a second copy.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seckill::ops {

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// One family of counters or gauges, added to `families` when it goes out of scope and has at least one value.
class Family {
 public:
  Family(std::vector<prometheus::MetricFamily>& families, prometheus::MetricType type, std::string_view name,
         std::string_view help);
  ~Family();
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  Family& add(double value, Labels labels = {});
  Family& add(std::uint64_t value, Labels labels = {}) { return add(static_cast<double>(value), labels); }
  Family& add(std::int64_t value, Labels labels = {}) { return add(static_cast<double>(value), labels); }
  // `bounds_s` ascending; `counts` has one entry more: what is above the last bound. Not cumulative.
  Family& add_histogram(const std::vector<double>& bounds_s, const std::vector<std::uint64_t>& counts, double sum_s,
                        Labels labels = {});

 private:
  prometheus::ClientMetric& metric(Labels labels);

  std::vector<prometheus::MetricFamily>* families_;
  prometheus::MetricFamily family_;
};

}  // namespace seckill::ops
