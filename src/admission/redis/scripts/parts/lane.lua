-- What every script knows of a lane. KEYS, in this order and all in the lane's slot; a script is given the first five
-- at least:
--   1 stock   2 marks   3 tickets   4 intents   5 ages   6 transfers   7 spent   8 spent_at
--   9 … 13    stock, marks, tickets, intents and ages of the lane beside: the one that is being installed
local call, try, byte, sub, char, floor = redis.call, redis.pcall, string.byte, string.sub, string.char, math.floor

-- This server's clock, in UTC milliseconds.
local function now_ms()
  local time = call('TIME')
  return time[1] * 1000 + floor(time[2] / 1000)
end

-- Compares decimal numbers that may be larger than a Lua number is exact.
local function is_less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

-- Whether a lane that starts at this key still has every key that its own counts speak of: an evicted or deleted key
-- must never read as "no buyer yet" (FS-45). Reads each of them: one of another type is as good as lost (FS-20), and is
-- found before anything is written.
local function is_whole(first, marks, tickets, intents)
  return try('HLEN', KEYS[first + 1]) == marks and try('HLEN', KEYS[first + 2]) == tickets and
           try('ZCARD', KEYS[first + 3]) == intents and try('ZCARD', KEYS[first + 4]) == intents
end

-- Fields of a hash of numbers, as HMGET gives them. What stands there and is no hash is no lane: none of its fields is
-- there, so that the lane can be put right.
local function fields(key, ...)
  local v = try('HMGET', key, ...)
  return v.err and {} or v
end

-- The lane's own numbers. phase: missing, open, closed; an open lane that is not whole is broken.
local function read_lane()
  local v = fields(KEYS[1], 'phase', 'generation', 'available', 'held', 'marks', 'tickets', 'intents', 'tickets_max',
                   'terms', 'expires_at')
  local lane = {
    phase = v[1] or 'missing',
    generation = tonumber(v[2] or 0),
    available = tonumber(v[3] or 0),
    held = tonumber(v[4] or 0),
    marks = tonumber(v[5] or 0),
    tickets = tonumber(v[6] or 0),
    intents = tonumber(v[7] or 0),
    tickets_max = tonumber(v[8] or 0),
    terms = v[9] or '',
    expires_at = v[10],
  }
  if lane.phase == 'open' and not is_whole(1, lane.marks, lane.tickets, lane.intents) then lane.phase = 'broken' end
  return lane
end
