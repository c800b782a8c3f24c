#!lua
--@include parts/lane.lua parts/mark.lua parts/terms.lua parts/install.lua
-- Adds tickets to the lane beside, each once.
-- KEYS  1 … 13
-- ARGV  1 generation, 2 leader; then for each ticket: buyer, request id (size byte and bytes), ticket (16 bytes), digest
--       (8 bytes), units, admitted_at, flags (mark.lua's first 5 bits), terms line ('' when the store has its row), order
--       fields ('' when none)
-- Returns {'done'}, {'stale'}, or {'refused'}: begin is missing, or a ticket is known with other content or has no units.
-- Never touches the lane that is there.
local sees = look()
if sees == 'stale' then return {'stale'} end
if sees == 'installed' then return {'done'} end
if sees == 'older' then return {'refused'} end
local b = call('HMGET', KEYS[9], 'held', 'sold', 'marks', 'tickets', 'intents', 'terms', 'expires_at')
local held, sold, marks, tickets, intents = tonumber(b[1]), tonumber(b[2]), tonumber(b[3]), tonumber(b[4]),
                                            tonumber(b[5])
if not is_whole(9, marks, tickets, intents) then return {'refused'} end
local terms, expires_at = b[6], b[7]

local new_marks, added, claims, ages = {}, {}, {}, {}
for base = 3, #ARGV, 9 do
  local buyer, request, ticket, digest = ARGV[base], ARGV[base + 1], ARGV[base + 2], ARGV[base + 3]
  local units, admitted_at, flags = tonumber(ARGV[base + 4]), tonumber(ARGV[base + 5]), tonumber(ARGV[base + 6])
  if units < (is_ended(flags) and 0 or 1) then return {'refused'} end
  local known_buyer, known_mark, at = find_ticket(9, ticket)
  if known_buyer then
    local same = known_buyer == buyer and is_request(known_mark, at, request) and
                   sub(known_mark, at + 18, at + 25) == digest and units_at(known_mark, at) == units
    if not same then return {'refused'} end
  elseif not added[ticket] then
    if call('HEXISTS', KEYS[11], index_of(ticket)) == 1 then return {'refused'} end
    local terms_at = nil
    if ARGV[base + 7] ~= '' then
      terms_at, terms = terms_line(terms, ARGV[base + 7])
      if not terms_at then return {'refused'} end
      claims[#claims + 1] = 0  -- claimed by nobody: the next sweep publishes it
      claims[#claims + 1] = ticket
      ages[#ages + 1] = admitted_at
      ages[#ages + 1] = ticket
      intents = intents + 1
    end
    local mark = new_marks[buyer] or call('HGET', KEYS[10], buyer)
    if not mark then marks = marks + 1 end
    new_marks[buyer] = (mark or '') ..
                         new_record(flags, request, ticket, digest, admitted_at, units, terms_at, ARGV[base + 8])
    added[ticket] = buyer
    tickets = tickets + 1
    if flags % 4 == 0 then held = held + units end
    if flags % 4 == 1 then sold = sold + units end
  end
end
-- Nothing below may fail.
for buyer, mark in pairs(new_marks) do call('HSET', KEYS[10], buyer, mark) end
for ticket, buyer in pairs(added) do call('HSET', KEYS[11], index_of(ticket), buyer) end
for i = 1, #claims, 2 do
  call('ZADD', KEYS[12], claims[i], claims[i + 1])
  call('ZADD', KEYS[13], ages[i], ages[i + 1])
end
call('HSET', KEYS[9], 'held', held, 'sold', sold, 'marks', marks, 'tickets', tickets, 'intents', intents, 'terms', terms)
for key = 10, 13 do call('PEXPIREAT', KEYS[key], expires_at) end
return {'done'}
