#include "ops/metric_families.hpp"

#include <limits>

namespace seckill::ops {

Family::Family(std::vector<prometheus::MetricFamily>& families, prometheus::MetricType type, std::string_view name,
               std::string_view help)
    : families_{&families} {
  family_.name = std::string{name};
  family_.help = std::string{help};
  family_.type = type;
}

Family::~Family() {
  if (!family_.metric.empty()) families_->push_back(std::move(family_));
}

Family& Family::add(double value, Labels labels) {
  prometheus::ClientMetric& added = metric(labels);
  if (family_.type == prometheus::MetricType::Counter) {
    added.counter.value = value;
  } else {
    added.gauge.value = value;
  }
  return *this;
}

Family& Family::add_histogram(const std::vector<double>& bounds_s, const std::vector<std::uint64_t>& counts,
                              double sum_s, Labels labels) {
  prometheus::ClientMetric& added = metric(labels);
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cumulative += counts[i];
    added.histogram.bucket.push_back(
        {cumulative, i < bounds_s.size() ? bounds_s[i] : std::numeric_limits<double>::infinity()});
  }
  added.histogram.sample_count = cumulative;
  added.histogram.sample_sum = sum_s;
  return *this;
}

prometheus::ClientMetric& Family::metric(Labels labels) {
  prometheus::ClientMetric& added = family_.metric.emplace_back();
  for (const auto& [name, value] : labels) added.label.push_back({std::string{name}, std::string{value}});
  return added;
}

}  // namespace seckill::ops
