#!lua flags=allow-oom
--@include parts/lane.lua parts/mark.lua
-- Gives a ticket's held units back, once; whatever the ticket's generation.
-- KEYS  1 … 5
-- ARGV  1 ticket (16 bytes)
-- Returns {'done'}: given back now or before, sold, or not known here; {'closed'}.
-- Never needs memory, never gives back what is sold, never forgets the ticket.
local lane = read_lane()
if lane.phase ~= 'open' then return {'closed'} end
local buyer, mark, at = find_ticket(1, ARGV[1])
if not buyer then return {'done'} end
local flags, units = byte(mark, at), units_at(mark, at)
local was_held, was_published = flags % 4 == 0, is_published(flags)
if not was_published then flags = flags + 16 end
if was_held then
  local state = floor(flags % 16 / 4)
  flags = flags + 2                                -- ended
  if state == 0 then flags = flags + 4 end         -- queued: ordered, for its row is there
  if state == 2 then flags = flags + 4 end         -- parked: failed, for it was discarded
end
-- Nothing below may fail.
call('HSET', KEYS[2], buyer, with_flags(mark, at, flags, true))
if not was_published then close_intent(ARGV[1]) end
if was_held then
  call('HINCRBY', KEYS[1], 'available', units)
  call('HINCRBY', KEYS[1], 'held', -units)
  call('HINCRBY', KEYS[1], 'epoch', 1)
end
return {'done'}
