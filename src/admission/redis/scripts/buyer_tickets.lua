#!lua flags=no-writes
--@include parts/lane.lua
-- One buyer's mark.
-- KEYS  1 … 5
-- ARGV  1 buyer
-- Returns {'done', generation, terms, mark ('' when there is none)}, or {'closed'}.
-- Never writes.
local lane = read_lane()
if lane.phase ~= 'open' then return {'closed'} end
return {'done', lane.generation, lane.terms, call('HGET', KEYS[2], ARGV[1]) or ''}
