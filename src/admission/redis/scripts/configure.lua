#!lua flags=allow-oom
--@include parts/lane.lua parts/terms.lua
-- Installs terms of a higher version.
-- KEYS  1 … 8
-- ARGV  1 starts_at, 2 ends_at, 3 state, 4 price_minor, 5 currency, 6 limit, 7 tickets_max, 8 pay_window_ms, 9 version,
--       10 expires_at of these terms
-- Returns {'done'}: these terms or newer ones are in force; {'closed'}; {'refused'}: the lane has had too many terms.
-- Never changes what is admitted, never shortens the life of a key.
local lane = read_lane()
if lane.phase ~= 'open' then return {'closed'} end
if tonumber(ARGV[9]) <= tonumber(call('HGET', KEYS[1], 'version')) then return {'done'} end
local terms_at, terms = terms_line(lane.terms, table.concat({ARGV[4], ARGV[5], ARGV[6], ARGV[8]}, ' '))
if not terms_at then return {'refused'} end
-- Nothing below may fail.
call('HSET', KEYS[1], 'starts_at', ARGV[1], 'ends_at', ARGV[2], 'state', ARGV[3], 'price_minor', ARGV[4], 'currency',
     ARGV[5], 'limit', ARGV[6], 'tickets_max', ARGV[7], 'pay_window_ms', ARGV[8], 'version', ARGV[9], 'terms_at',
     terms_at, 'terms', terms)
if tonumber(ARGV[10]) > tonumber(lane.expires_at) then
  call('HSET', KEYS[1], 'expires_at', ARGV[10])
  for _, key in ipairs(KEYS) do call('PEXPIREAT', key, ARGV[10]) end
end
return {'done'}
