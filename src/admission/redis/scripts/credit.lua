#!lua
--@include parts/lane.lua parts/transfers.lua
-- Adds the units of a committed transfer to the lane, once an id.
-- KEYS  1 … 8
-- ARGV  1 generation, 2 id, 3 units (≥ 1), 4 other end, 5 generation of the other end, 6 how long a closed id is known, ms
-- Returns {'done', now}: added now or before; {'refused', now}: the id is a debit's; {'closed'}, {'stale'}.
-- Never adds twice.
local lane = read_lane_with_transfers()
if lane.phase ~= 'open' then return {'closed'} end
if lane.generation ~= tonumber(ARGV[1]) then return {'stale'} end
local now = now_ms()
local record, direction = find_transfer(ARGV[2])
if record then return {direction == 'debit' and 'refused' or 'done', now} end
-- Nothing below may fail.
forget_old_transfers(now, tonumber(ARGV[6]))
call('HINCRBY', KEYS[1], 'available', ARGV[3])
call('HINCRBY', KEYS[1], 'epoch', 1)
remember_transfer(lane, ARGV[2], string.format('credit %s %s %s %.0f', ARGV[3], ARGV[4], ARGV[5], now))
return {'done', now}
