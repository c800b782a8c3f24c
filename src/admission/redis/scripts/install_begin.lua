#!lua
--@include parts/lane.lua parts/install.lua parts/terms.lua
-- Closes the lane that is there and begins a new one beside it.
-- KEYS  1 … 13
-- ARGV  1 generation, 2 leader, 3 available, 4 epoch, 5 starts_at, 6 ends_at, 7 state, 8 price_minor, 9 currency, 10 limit,
--       11 tickets_max, 12 pay_window_ms, 13 version, 14 expires_at of these terms, 15 the shortest life of a key, ms
-- Returns {'done'} or {'stale'}.
-- Never touches marks, intents or units of the lane that is there.
local sees = look()
if sees == 'stale' then return {'stale'} end
if sees == 'installed' then return {'done'} end
local v = fields(KEYS[1], 'phase', 'generation', 'closed_generation')
-- A past time would remove the keys at once.
local expires_at = math.max(tonumber(ARGV[14]), now_ms() + tonumber(ARGV[15]))
local _, terms = terms_line('', table.concat({ARGV[8], ARGV[9], ARGV[10], ARGV[12]}, ' '))
-- Nothing below may fail.
clear_place()
drop_beside()
call('HSET', KEYS[9], 'phase', 'installing', 'generation', ARGV[1], 'leader', ARGV[2], 'available', ARGV[3], 'held', 0,
     'sold', 0, 'epoch', ARGV[4], 'marks', 0, 'tickets', 0, 'intents', 0, 'transfers', 0, 'spent', 0, 'starts_at',
     ARGV[5], 'ends_at', ARGV[6], 'state', ARGV[7], 'price_minor', ARGV[8], 'currency', ARGV[9], 'limit', ARGV[10],
     'tickets_max', ARGV[11], 'pay_window_ms', ARGV[12], 'version', ARGV[13], 'terms_at', 1, 'terms', terms,
     'expires_at', expires_at)
call('PEXPIREAT', KEYS[9], expires_at)
call('HSET', KEYS[1], 'leader', ARGV[2])
if v[1] == 'open' then
  call('HSET', KEYS[1], 'phase', 'closed', 'closed_generation', math.max(tonumber(v[3] or 0), tonumber(v[2])))
end
if not v[1] then call('PEXPIREAT', KEYS[1], expires_at) end
return {'done'}
