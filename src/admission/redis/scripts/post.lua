#!lua flags=allow-oom
--@include parts/lane.lua parts/mark.lua
-- Turns a ticket's held units into a sale, once; whatever the ticket's generation.
-- KEYS  1 … 5
-- ARGV  1 ticket (16 bytes)
-- Returns {'done'}: sold now or before, ended, or not known here; {'closed'}.
-- Never needs memory, never sells what was given back.
local lane = read_lane()
if lane.phase ~= 'open' then return {'closed'} end
local buyer, mark, at = find_ticket(1, ARGV[1])
if not buyer then return {'done'} end
local flags, units = byte(mark, at), units_at(mark, at)
local was_held, was_published = flags % 4 == 0, is_published(flags)
if not was_published then flags = flags + 16 end
if was_held then flags = flags - floor(flags % 16 / 4) * 4 + 4 + 1 end  -- ordered, sold
-- Nothing below may fail.
call('HSET', KEYS[2], buyer, with_flags(mark, at, flags, true))
if not was_published then close_intent(ARGV[1]) end
if was_held then
  call('HINCRBY', KEYS[1], 'held', -units)
  call('HINCRBY', KEYS[1], 'sold', units)
end
return {'done'}
