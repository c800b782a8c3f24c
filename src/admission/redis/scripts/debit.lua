#!lua
--@include parts/lane.lua parts/transfers.lua
-- Takes up to so many free units out of the lane, once an id.
-- KEYS  1 … 8
-- ARGV  1 generation, 2 id, 3 units (≥ 1), 4 other end, 5 generation of the other end, 6 how long a closed id is known, ms
-- Returns {'done', units, now}: taken now or before; {'refused', 0, now}: none are free, or the id is a credit's;
-- {'closed', 0}, {'stale', 0}.
-- Never takes what is held, never takes twice.
local lane = read_lane_with_transfers()
if lane.phase ~= 'open' then return {'closed', 0} end
if lane.generation ~= tonumber(ARGV[1]) then return {'stale', 0} end
local now = now_ms()
local record, direction, units = find_transfer(ARGV[2])
if record then
  if direction ~= 'debit' then return {'refused', 0, now} end
  return {'done', units, now}
end
units = math.min(tonumber(ARGV[3]), lane.available)
if units == 0 then return {'refused', 0, now} end
-- Nothing below may fail.
forget_old_transfers(now, tonumber(ARGV[6]))
call('HINCRBY', KEYS[1], 'available', -units)
remember_transfer(lane, ARGV[2], string.format('debit %.0f %s %s %.0f', units, ARGV[4], ARGV[5], now))
return {'done', units, now}
