-- Transfer records: `transfers` has the open ones, `spent` those whose store row is closed, `spent_at` when it was. A
-- record is the text "debit|credit units other other_generation at". KEYS 1 … 8.

-- The lane with the transfers it remembers counted as well.
local function read_lane_with_transfers()
  local lane = read_lane()
  local counts = fields(KEYS[1], 'transfers', 'spent')
  local transfers, spent = tonumber(counts[1] or 0), tonumber(counts[2] or 0)
  -- Without its records a lane would take or give a transfer's units again.
  local whole = try('HLEN', KEYS[6]) == transfers and try('HLEN', KEYS[7]) == spent and try('ZCARD', KEYS[8]) == spent
  if lane.phase == 'open' and not whole then lane.phase = 'broken' end
  lane.transfers, lane.spent = transfers, spent
  return lane
end

-- The record of an id, its direction, its units, and the key it is in; nil: not known.
local function find_transfer(id)
  for key = 6, 7 do
    local record = call('HGET', KEYS[key], id)
    if record then
      local direction, units = string.match(record, '^(%a+) (%d+) ')
      return record, direction, tonumber(units), KEYS[key]
    end
  end
  return nil
end

local function remember_transfer(lane, id, record)
  call('HSET', KEYS[6], id, record)
  if lane.transfers == 0 then call('PEXPIREAT', KEYS[6], lane.expires_at) end
  call('HINCRBY', KEYS[1], 'transfers', 1)
end

-- Forgets what was closed longer than memory_ms ago; at most 100 of them, the next step goes on.
local function forget_old_transfers(now, memory_ms)
  local old = call('ZRANGEBYSCORE', KEYS[8], '-inf', '(' .. string.format('%.0f', now - memory_ms), 'LIMIT', 0, 100)
  if #old == 0 then return end
  call('ZREM', KEYS[8], unpack(old))
  call('HDEL', KEYS[7], unpack(old))
  call('HINCRBY', KEYS[1], 'spent', -#old)
end
