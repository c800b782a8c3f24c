#!lua flags=allow-oom
--@include parts/lane.lua parts/mark.lua
-- The intents of these tickets are known durable elsewhere: marks `published`, out of the open intents. Also in a closed
-- lane.
-- KEYS  1 … 5
-- ARGV  tickets (16 bytes each), 1 … 500
-- Returns {'done'}, or {'closed'} when the lane is missing.
-- Never needs memory, never changes units, never makes a ticket.
local lane = read_lane()
if lane.phase == 'missing' then return {'closed'} end
local places = {}
for i, ticket in ipairs(ARGV) do places[i] = index_of(ticket) end
local buyers, asked = call('HMGET', KEYS[3], unpack(places)), {}
for i = 1, #ARGV do
  if buyers[i] then asked[#asked + 1] = buyers[i] end
end
if #asked == 0 then return {'done'} end
local marks = {}
for i, mark in ipairs(call('HMGET', KEYS[2], unpack(asked))) do marks[asked[i]] = mark end

local changed, published = {}, {}
for i, ticket in ipairs(ARGV) do
  local buyer = buyers[i]
  local mark = buyer and marks[buyer]
  local at = mark and record_in(mark, ticket)
  local flags = at and byte(mark, at)
  if at and not is_published(flags) then
    marks[buyer] = with_flags(mark, at, flags + 16, false)
    changed[buyer] = true
    published[#published + 1] = ticket
  end
end
if #published == 0 then return {'done'} end

local new_marks = {}
for buyer in pairs(changed) do
  new_marks[#new_marks + 1] = buyer
  new_marks[#new_marks + 1] = marks[buyer]
end
-- Nothing below may fail.
call('HSET', KEYS[2], unpack(new_marks))
local removed = call('ZREM', KEYS[4], unpack(published))
call('ZREM', KEYS[5], unpack(published))
call('HINCRBY', KEYS[1], 'intents', -removed)
return {'done'}
