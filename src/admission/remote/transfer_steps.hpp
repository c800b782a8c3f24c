// The steps of one transfer between lanes, or from a lane to the pool (DESIGN §4.3), and how one that stopped half way
// goes on. Each step is idempotent by the transfer's id; whoever finds it may do the next one.
//
//   what stands         source lane     store row    target lane     the next step
//   ------------------  --------------  -----------  --------------  ---------------------------------------------
//   begun               –               –            –               debit
//   debited             debit record    –            –               commit; when old, or refused: abandon
//   abandoned           debit record    abandoned    –               undo_debit (once), then close the record
//   undone              debit record 0  abandoned    –               close the record
//   committed           debit record    open         –               credit (done, or stale: a rebuild has the units)
//   credited            debit record    open         credit record   close the row
//   closed              records left    closed       records left    close the records
//
// The store's key decides between commit and abandon, so debit is undone only after `abandoned` was read from it, and a
// credit is made only of a committed row. A reply that is lost is unknown, and then nothing is undone: what the store
// says later decides. The pool has no lane: a transfer to it ends with its row.
//
// P2: units in transit always have a debit record or a row that is not closed.
#pragma once

#include <cstdint>
#include <string>

#include "admission/remote/config.hpp"
#include "admission/remote/item_copies.hpp"
#include "admission/remote/lane_calls.hpp"
#include "admission/remote/remote_item.hpp"

namespace seckill::admission::remote {

class TransferSteps {
 public:
  // Borrows all of them for its whole life. All methods block; any thread that may.
  TransferSteps(const Ports& ports, const LaneCalls& calls) : ports_{ports}, calls_{calls} {}

  // Moves up to `units` free units; the answer says how many arrived, 0 when the source has none free. An Error: they
  // did not all arrive; what stands of it is finished or abandoned by recovery. `to` may be the pool. Requires:
  // `copy` is fresh and says that both lanes are in state `lane`.
  [[nodiscard]] base::Result<std::int64_t> move(const RemoteItem& item, const ItemCopy& copy, model::LaneIndex from,
                                                std::int32_t to, std::int64_t units, const std::string& id);

  // Takes a transfer that was found standing as far as it goes, by what the store says of its id. True when nothing of
  // it is left to be done. Requires: its own mover has given it up (old).
  bool settle(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer);

  // Credits the lane and closes row and record; for a committed row, also one from the pool.
  [[nodiscard]] base::Status finish(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer);

 private:
  base::Status abandon(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer);
  base::Status undo(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer);
  bool close_records(const RemoteItem& item, const ItemCopy& copy, const store::LaneTransfer& transfer);
  bool close_record(const RemoteItem& item, const ItemCopy& copy, std::int32_t end, const std::string& id);

  const Ports& ports_;
  const LaneCalls& calls_;
};

}  // namespace seckill::admission::remote
