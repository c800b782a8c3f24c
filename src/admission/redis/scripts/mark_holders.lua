#!lua flags=no-writes
--@include parts/lane.lua
-- A page of the buyers who have a mark, by cursor. Of any lane that is whole, open or not.
-- KEYS  1 … 5
-- ARGV  1 cursor ('0' to begin)
-- Returns {'done', generation, next cursor ('0' at the end), buyer, buyer, …}, or {'closed'}: missing, or a key of it is
-- gone. Whoever has a mark from the first page to the last is in one of them; he may be in two.
-- Never writes.
local lane = read_lane()
if lane.phase == 'missing' or not is_whole(1, lane.marks, lane.tickets, lane.intents) then return {'closed'} end
local page = call('HSCAN', KEYS[2], ARGV[1], 'COUNT', 300)
local reply = {'done', lane.generation, page[1]}
for i = 1, #page[2], 2 do reply[#reply + 1] = page[2][i] end
return reply
