#!lua flags=allow-oom
--@include parts/lane.lua parts/transfers.lua
-- Gives a debit back, once; its record stays, of 0 units. So it does when there was none, lest the debit come late.
-- KEYS  1 … 8
-- ARGV  1 id
-- Returns {'done', now}, {'refused', now} (the id is a credit's), or {'closed'}.
-- Never gives back what no debit of this lane has taken.
local lane = read_lane_with_transfers()
if lane.phase ~= 'open' then return {'closed'} end
local now = now_ms()
local record, direction, units, key = find_transfer(ARGV[1])
if record and direction ~= 'debit' then return {'refused', now} end
-- Nothing below may fail.
if not record then
  remember_transfer(lane, ARGV[1], string.format('debit 0 -1 0 %.0f', now))
  return {'done', now}
end
if units > 0 then
  call('HSET', key, ARGV[1], (string.gsub(record, '^debit %d+', 'debit 0')))
  call('HINCRBY', KEYS[1], 'available', units)
  call('HINCRBY', KEYS[1], 'epoch', 1)
end
return {'done', now}
