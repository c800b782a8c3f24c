#!lua flags=allow-oom
--@include parts/lane.lua parts/mark.lua
-- Claims intents that nobody has claimed for a while, those first whose last claim is the oldest. Also in a closed lane.
-- KEYS  1 … 5
-- ARGV  1 age in milliseconds, 2 how many at most (1 … 500)
-- Returns {now, generation, terms, buyer, record, buyer, record, …}; nothing claimed: no pairs.
-- Never adds or removes an intent, never changes a mark.
local lane = read_lane()
local now = now_ms()
local reply = {now, lane.generation, lane.terms}
if lane.phase == 'missing' then return reply end
local age, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local number = '%.0f'
local claimed = call('ZRANGEBYSCORE', KEYS[4], '-inf', string.format(number, math.min(now, now - age)), 'LIMIT', 0, most)
if #claimed < most then
  -- A clock that went back must not keep an intent from being claimed for ever.
  for _, ticket in ipairs(call('ZRANGEBYSCORE', KEYS[4], '(' .. string.format(number, now), '+inf', 'LIMIT', 0,
                               most - #claimed)) do claimed[#claimed + 1] = ticket end
end
local claims = {}
for _, ticket in ipairs(claimed) do
  local buyer, mark, at = find_ticket(1, ticket)
  if buyer then
    local _, next_at = ends_of(mark, at)
    reply[#reply + 1] = buyer
    reply[#reply + 1] = sub(mark, at, next_at - 1)
    claims[#claims + 1] = now
    claims[#claims + 1] = ticket
  end
end
-- Nothing below may fail.
if #claims > 0 then call('ZADD', KEYS[4], 'XX', unpack(claims)) end
return reply
