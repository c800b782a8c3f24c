#!lua flags=no-writes
--@include parts/lane.lua
-- A page of marks, by cursor. Also in a closed lane.
-- KEYS  1 … 5
-- ARGV  1 cursor ('0' to begin)
-- Returns {next cursor ('0' at the end), generation, terms, buyer, mark, buyer, mark, …}. Every mark that is there from
-- the first page to the last is in one of them; it may be in two.
-- Never writes.
local lane = read_lane()
if lane.phase == 'missing' then return {'0', 0, ''} end
local page = try('HSCAN', KEYS[2], ARGV[1], 'COUNT', 100)
if page.err then return {'0', lane.generation, lane.terms} end
local reply = {page[1], lane.generation, lane.terms}
for _, part in ipairs(page[2]) do reply[#reply + 1] = part end
return reply
