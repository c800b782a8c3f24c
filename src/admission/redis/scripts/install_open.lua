#!lua
--@include parts/lane.lua parts/install.lua
-- Puts the lane beside in the place of the lane that is there, when it is what the plan says.
-- KEYS  1 … 13
-- ARGV  1 generation, 2 leader, 3 tickets, 4 available, 5 held, 6 sold
-- Returns {'done'}, {'stale'}, or {'refused'}: begin or tickets are missing, or the sums are not the plan's.
-- Never copies: keys are renamed, and the old ones' memory is given back in the background.
local sees = look()
if sees == 'stale' then return {'stale'} end
if sees == 'installed' then return {'done'} end
if sees == 'older' then return {'refused'} end
local b = call('HMGET', KEYS[9], 'tickets', 'available', 'held', 'sold', 'marks', 'intents')
for i = 1, 4 do
  if tonumber(b[i]) ~= tonumber(ARGV[i + 2]) then return {'refused'} end
end
if not is_whole(9, tonumber(b[5]), tonumber(b[1]), tonumber(b[6])) then return {'refused'} end
local closed_generation = call('HGET', KEYS[1], 'closed_generation') or '0'
local present = {}
for i = 0, 4 do present[i] = call('EXISTS', KEYS[9 + i]) == 1 end
-- Nothing below may fail.
call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8])
for i = 0, 4 do
  if present[i] then call('RENAME', KEYS[9 + i], KEYS[1 + i]) end
end
call('HSET', KEYS[1], 'phase', 'open', 'closed_generation', closed_generation)
return {'done'}
