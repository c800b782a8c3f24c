#!lua flags=allow-oom
--@include parts/lane.lua parts/transfers.lua
-- Takes a transfer's record out of sight, because the store's row is closed; the id stays spent a while.
-- KEYS  1 … 8
-- ARGV  1 id, 2 how long a closed id is known, ms
-- Returns {'done', now} or {'closed'}.
-- Never changes units.
local lane = read_lane_with_transfers()
if lane.phase ~= 'open' then return {'closed'} end
local now = now_ms()
local record = call('HGET', KEYS[6], ARGV[1])
-- Nothing below may fail.
forget_old_transfers(now, tonumber(ARGV[2]))
if not record then return {'done', now} end
call('HDEL', KEYS[6], ARGV[1])
call('HSET', KEYS[7], ARGV[1], record)
call('ZADD', KEYS[8], now, ARGV[1])
call('HINCRBY', KEYS[1], 'transfers', -1)
if call('HINCRBY', KEYS[1], 'spent', 1) == 1 then
  call('PEXPIREAT', KEYS[7], lane.expires_at)
  call('PEXPIREAT', KEYS[8], lane.expires_at)
end
return {'done', now}
