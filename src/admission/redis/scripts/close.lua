#!lua flags=allow-oom
--@include parts/lane.lua parts/install.lua
-- Closes a lane of this generation or an older one, for good, and drops a lane beside that is not newer.
-- KEYS  1 … 13
-- ARGV  1 generation, 2 leader, 3 how long a missing lane remembers them, ms
-- Returns {'done'}, or {'stale'}: the lane is of a newer generation or knows a later leader.
-- Never touches marks, intents or units.
local v = fields(KEYS[1], 'leader', 'closed_generation', 'phase', 'generation')
local begun = fields(KEYS[9], 'generation')[1]
local generation, leader = tonumber(ARGV[1]), ARGV[2]
if is_less(leader, v[1] or '0') then return {'stale'} end
if v[3] and tonumber(v[4]) > generation then return {'stale'} end
-- Nothing below may fail.
clear_place()
call('HSET', KEYS[1], 'leader', leader, 'closed_generation', math.max(tonumber(v[2] or 0), generation))
if v[3] == 'open' then call('HSET', KEYS[1], 'phase', 'closed') end
if not v[3] then call('PEXPIREAT', KEYS[1], now_ms() + tonumber(ARGV[3])) end
if begun and tonumber(begun) <= generation then drop_beside() end
return {'done'}
