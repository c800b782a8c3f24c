// Which terms of an item may have been in force when: an edit holds somewhere from the moment it is sent, and the terms
// before it may hold until the edit is known to have reached every lane.
#pragma once

#include <vector>

#include "base/clock.hpp"
#include "model/sale.hpp"

namespace seckill::sim {

class TermsHistory {
 public:
  // May hold from now on, beside what may hold already.
  void may_hold(const model::ItemTerms& terms, base::UtcMs now) { spans_.push_back({terms, now, never}); }
  // From now on these alone hold.
  void hold_alone(const model::ItemTerms& terms, base::UtcMs now) {
    for (Span& span : spans_) {
      if (span.until == never) span.until = now;
    }
    may_hold(terms, now);
  }
  // True when terms for which `holds` is true may have been in force between the two, both included.
  template <typename Holds>
  [[nodiscard]] bool may(base::UtcMs from, base::UtcMs to, Holds holds) const {
    for (const Span& span : spans_) {
      if (span.from <= to && span.until >= from && holds(span.terms)) return true;
    }
    return false;
  }

 private:
  static constexpr base::UtcMs never = INT64_MAX;
  struct Span {
    model::ItemTerms terms;
    base::UtcMs from = 0;
    base::UtcMs until = never;
  };
  std::vector<Span> spans_;
};

}  // namespace seckill::sim
