#include "ops/sale_desk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/crypto.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace seckill::ops {
namespace {

namespace log = base::log;

std::string quoted(std::string_view text) {
  std::string out;
  base::append_json_string(out, text);
  return out;
}

// What an edit changes, as the audit row's JSON.
std::string edit_detail(const model::SaleId& id, const model::SaleEdit& edit) {
  std::string out = fmt::format(R"({{"sale":{},"version":{})", quoted(id.view()), edit.version);
  if (edit.title) out += ",\"title\":" + quoted(*edit.title);
  if (edit.starts_at) out += fmt::format(R"(,"starts_at":{})", *edit.starts_at);
  if (edit.ends_at) out += fmt::format(R"(,"ends_at":{})", *edit.ends_at);
  out += ",\"items\":[";
  for (std::size_t i = 0; i < edit.items.size(); ++i) {
    const model::ItemEdit& item = edit.items[i];
    out += fmt::format(R"({}{{"sku":{})", i > 0 ? "," : "", quoted(item.sku.view()));
    if (item.title) out += ",\"title\":" + quoted(*item.title);
    if (item.price_minor) out += fmt::format(R"(,"price_minor":{})", *item.price_minor);
    if (item.limit) out += fmt::format(R"(,"limit":{})", *item.limit);
    if (item.tickets_max) out += fmt::format(R"(,"tickets_max":{})", *item.tickets_max);
    if (item.pay_window_ms) out += fmt::format(R"(,"pay_window_ms":{})", *item.pay_window_ms);
    out += "}";
  }
  return out + "]}";
}

bool has_lanes(model::SaleState state) {
  return state == model::SaleState::preloaded || state == model::SaleState::paused;
}

}  // namespace

SaleDesk::SaleDesk(store::Store& store, admission::Admission& admission, const base::Clock& clock, SaleChanged changed,
                   std::int64_t lanes_kept_ms)
    : store_{store},
      admission_{admission},
      clock_{clock},
      changed_{std::move(changed)},
      lanes_kept_ms_{lanes_kept_ms} {}

base::Result<model::Sale> SaleDesk::create(model::Sale sale, const std::string& actor) {
  base::random_bytes(sale.ticket_key);
  sale.created_at = clock_.now_utc();
  sale.state = model::SaleState::draft;
  sale.version = 1;
  const auto detail =
      fmt::format(R"({{"sale":{},"title":{},"items":{},"starts_at":{},"ends_at":{}}})", quoted(sale.id.view()),
                  quoted(sale.title), sale.items.size(), sale.starts_at, sale.ends_at);
  if (auto created = store_.create_sale(sale, audit("sale.create", detail, actor)); !created) {
    return std::unexpected(created.error());
  }
  return changed(sale.id);
}

base::Result<model::Sale> SaleDesk::edit(const model::SaleId& id, const model::SaleEdit& edit,
                                         const std::string& actor) {
  auto sale = store_.find_sale(id);
  if (!sale) return sale;
  auto edited = model::apply_edit(*sale, edit, clock_.now_utc());
  if (!edited) return edited;
  if (auto updated = store_.update_sale(*edited, audit("sale.edit", edit_detail(id, edit), actor)); !updated) {
    return std::unexpected(updated.error());
  }
  if (auto configured = configure(*edited); !configured) return std::unexpected(configured.error());
  return changed(id);
}

base::Result<model::Sale> SaleDesk::command(const model::SaleId& id, model::SaleCommand command,
                                            const std::string& actor) {
  auto sale = store_.find_sale(id);
  if (!sale) return sale;
  const auto next = model::apply_command(sale->state, command);
  if (!next) return std::unexpected(next.error());
  const base::UtcMs now = clock_.now_utc();
  if (command == model::SaleCommand::preload && now >= sale->ends_at) {
    return base::fail(base::Errc::refused, "preloading sale " + id.str(), "the sale has ended; move ends_at first");
  }
  if (*next != sale->state) {
    const auto entry =
        audit(fmt::format("sale.{}", name(command)), fmt::format(R"({{"sale":{}}})", quoted(id.view())), actor);
    const auto stored = command == model::SaleCommand::preload ? store_.preload(id, now, entry)
                                                               : store_.set_sale_state(id, sale->state, *next, entry);
    if (!stored) return std::unexpected(stored.error());
    sale = store_.find_sale(id);
    if (!sale) return sale;
  }
  // Also when the state was reached before: a change that stopped between store and lanes is finished by repeating it.
  if (command == model::SaleCommand::preload) {
    if (auto installed = install(*sale); !installed) return std::unexpected(installed.error());
  }
  if (auto configured = configure(*sale); !configured) return std::unexpected(configured.error());
  return changed(id);
}

base::Status SaleDesk::install_all() {
  constexpr std::int64_t sales_max = 100'000;
  const auto sales = store_.list_sales(sales_max);
  if (!sales) return std::unexpected(sales.error());
  const base::UtcMs now = clock_.now_utc();
  for (const model::Sale& sale : *sales) {
    if (!has_lanes(sale.state) || long_over(sale, sale.ends_at, lanes_kept_ms_, now)) continue;
    if (auto installed = install(sale); !installed) return installed;
    changed_(sale.id);
  }
  return {};
}

std::vector<model::ItemKey> SaleDesk::installed() const {
  const std::lock_guard lock{mutex_};
  return installed_;
}

base::Result<std::vector<ItemUnits>> SaleDesk::units_of(const model::Sale& sale) const {
  std::vector<ItemUnits> units;
  for (const model::SaleItem& item : sale.items) {
    auto one = units_of(model::ItemKey{sale.id, item.sku});
    if (!one) return std::unexpected(one.error());
    units.push_back(*std::move(one));
  }
  return units;
}

base::Result<ItemUnits> SaleDesk::units_of(const model::ItemKey& item) const {
  auto stored = store_.item_stock(item);
  if (!stored) return std::unexpected(stored.error());
  return ItemUnits{*std::move(stored), admission_.lanes(item)};
}

base::Status SaleDesk::install(const model::Sale& sale) {
  for (const model::SaleItem& item : sale.items) {
    if (auto opened = admission_.install(sale, item, store_); !opened) return opened;
    const model::ItemKey key{sale.id, item.sku};
    const std::lock_guard lock{mutex_};
    if (known_.insert(key).second) {
      installed_.push_back(key);
      log::info("{} is served here", key.text());
    }
  }
  return {};
}

base::Status SaleDesk::configure(const model::Sale& sale) {
  for (const model::SaleItem& item : sale.items) {
    const auto status = admission_.configure({sale.id, item.sku}, model::terms_of(sale, item));
    // Not here: install will read these terms from the store.
    if (!status && status.error().code != base::Errc::not_found) return status;
  }
  return {};
}

base::Result<model::Sale> SaleDesk::changed(const model::SaleId& id) {
  changed_(id);
  return store_.find_sale(id);
}

store::AuditEntry SaleDesk::audit(std::string action, std::string detail, const std::string& actor) const {
  return {.actor = actor, .action = std::move(action), .detail = std::move(detail), .at = clock_.now_utc()};
}

}  // namespace seckill::ops
