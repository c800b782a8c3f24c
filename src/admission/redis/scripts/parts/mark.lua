-- A mark: one buyer's records, one a ticket, oldest first. A record:
--   at  size
--    0     1  flags: units (0 held, 1 sold, 2 ended) + 4 × state (0 queued, 1 ordered, 2 parked, 3 failed)
--             + 16 published + 32 has terms + 64 has order fields + 128 units take eight bytes
--    1     1  size of the request id; 255: a UUID in 16 bytes
--    2    16  ticket
--   18     8  request digest
--   26     6  admitted at, UTC milliseconds
--   32     1  units, or 8
--    …        request id; with terms 2: their line in the stock hash's `terms`; with order fields 2: their size, and they
-- Numbers are big-endian. No terms: the store is known to have the ticket's row.
local pack, unpack_number = struct.pack, struct.unpack

-- In the ticket index a ticket is its last 14 bytes: the others name the lane, and two more bytes of every field would
-- cost 16.
local function index_of(ticket)
  return sub(ticket, 3)
end

local function is_ended(flags)
  return flags % 4 == 2
end
local function is_published(flags)
  return flags % 32 >= 16
end

-- Where the record's terms would begin, and where the next record does.
local function ends_of(mark, at)
  local flags, size = byte(mark, at, at + 1)
  local terms = at + 32 + (flags >= 128 and 8 or 1) + (size == 255 and 16 or size)
  local next_at = terms
  if flags % 64 >= 32 then next_at = next_at + 2 end
  if flags % 128 >= 64 then
    local high, low = byte(mark, next_at, next_at + 1)
    next_at = next_at + 2 + high * 256 + low
  end
  return terms, next_at
end

local function units_at(mark, at)
  if byte(mark, at) >= 128 then return (unpack_number('>i8', mark, at + 32)) end
  return byte(mark, at + 32)
end

-- Whether the record is of this request id, given as its size byte and its bytes.
local function is_request(mark, at, request)
  local first = at + (byte(mark, at) >= 128 and 40 or 33)
  return sub(mark, at + 1, at + 1) == sub(request, 1, 1) and sub(mark, first, first + #request - 2) == sub(request, 2)
end

-- A new record. terms_at: line of its terms, or nil.
local function new_record(flags, request, ticket, digest, admitted_at, units, terms_at, fields)
  local packed_units
  if units >= 0 and units <= 255 then
    packed_units = char(units)
  else
    packed_units = pack('>i8', units)
    flags = flags + 128
  end
  local tail = ''
  if terms_at then
    flags = flags + 32
    tail = pack('>I2', terms_at)
    if fields ~= '' then
      flags = flags + 64
      tail = tail .. pack('>I2', #fields) .. fields
    end
  end
  return char(flags) .. sub(request, 1, 1) .. ticket .. digest .. pack('>I6', admitted_at) .. packed_units ..
           sub(request, 2) .. tail
end

-- Where the ticket's record is in this mark; nil: nowhere.
local function record_in(mark, ticket)
  local at = 1
  while at <= #mark do
    if sub(mark, at + 2, at + 17) == ticket then return at end
    local _, next_at = ends_of(mark, at)
    at = next_at
  end
  return nil
end

-- buyer, mark and place of a ticket, in the lane whose first key this is; nil: it is not known there.
local function find_ticket(first, ticket)
  local buyer = call('HGET', KEYS[first + 2], index_of(ticket))
  local mark = buyer and call('HGET', KEYS[first + 1], buyer)
  local at = mark and record_in(mark, ticket)
  if not at then return nil end
  return buyer, mark, at
end

-- Units of the mark's live tickets, and how many tickets there are in all.
local function holdings_of(mark)
  local live, tickets, at = 0, 0, 1
  while at <= #mark do
    tickets = tickets + 1
    if not is_ended(byte(mark, at)) then live = live + units_at(mark, at) end
    local _, next_at = ends_of(mark, at)
    at = next_at
  end
  return live, tickets
end

-- The mark with other flags in this record; with `settled` also without its terms: the store has its row.
local function with_flags(mark, at, flags, settled)
  if not settled then return sub(mark, 1, at - 1) .. char(flags) .. sub(mark, at + 1) end
  local terms, next_at = ends_of(mark, at)
  flags = flags % 32 + (flags >= 128 and 128 or 0)
  return sub(mark, 1, at - 1) .. char(flags) .. sub(mark, at + 1, terms - 1) .. sub(mark, next_at)
end

-- Takes a ticket that is known durable elsewhere out of the open intents.
local function close_intent(ticket)
  local removed = call('ZREM', KEYS[4], ticket)
  call('ZREM', KEYS[5], ticket)
  if removed > 0 then call('HINCRBY', KEYS[1], 'intents', -removed) end
end
