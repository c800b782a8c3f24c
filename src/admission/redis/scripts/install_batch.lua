#!lua
--@include parts/lane.lua parts/mark.lua parts/terms.lua parts/install.lua
-- Adds tickets to the lane beside, each once.
-- KEYS  1 … 13
-- ARGV  1 generation, 2 leader; then for each of up to 500 tickets: buyer, request id (size byte and bytes), ticket
--       (16 bytes), digest (8 bytes), units, admitted_at, flags (mark.lua's first 5 bits), terms line ('' when the store
--       has its row), order fields ('' when none)
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

-- What is known of these tickets and buyers before the batch.
local places, buyers = {}, {}
for base = 3, #ARGV, 9 do
  buyers[#buyers + 1] = ARGV[base]
  places[#places + 1] = index_of(ARGV[base + 2])
end
if #buyers == 0 then return {'done'} end
local indexed, marks_before = call('HMGET', KEYS[11], unpack(places)), {}
for i, mark in ipairs(call('HMGET', KEYS[10], unpack(buyers))) do marks_before[buyers[i]] = mark end

local marks_after, added, index, claims, ages = {}, {}, {}, {}, {}
for i, buyer in ipairs(buyers) do
  local base = i * 9 - 6
  local request, ticket, digest = ARGV[base + 1], ARGV[base + 2], ARGV[base + 3]
  local units, admitted_at, flags = tonumber(ARGV[base + 4]), tonumber(ARGV[base + 5]), tonumber(ARGV[base + 6])
  if units < (is_ended(flags) and 0 or 1) then return {'refused'} end
  if indexed[i] then
    local mark = indexed[i] == buyer and marks_before[buyer]
    local at = mark and record_in(mark, ticket)
    local same = at and is_request(mark, at, request) and sub(mark, at + 18, at + 25) == digest and
                   units_at(mark, at) == units
    if not same then return {'refused'} end
  elseif not added[ticket] then
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
    local mark = marks_after[buyer] or marks_before[buyer]
    if not mark then marks = marks + 1 end
    marks_after[buyer] = (mark or '') ..
                           new_record(flags, request, ticket, digest, admitted_at, units, terms_at, ARGV[base + 8])
    added[ticket] = true
    index[#index + 1] = index_of(ticket)
    index[#index + 1] = buyer
    tickets = tickets + 1
    if flags % 4 == 0 then held = held + units end
    if flags % 4 == 1 then sold = sold + units end
  end
end
if #index == 0 then return {'done'} end
local new_marks = {}
for buyer, mark in pairs(marks_after) do
  new_marks[#new_marks + 1] = buyer
  new_marks[#new_marks + 1] = mark
end
-- Nothing below may fail.
call('HSET', KEYS[9], 'held', held, 'sold', sold, 'marks', marks, 'tickets', tickets, 'intents', intents, 'terms', terms)
call('HSET', KEYS[10], unpack(new_marks))
call('HSET', KEYS[11], unpack(index))
if #claims > 0 then
  call('ZADD', KEYS[12], unpack(claims))
  call('ZADD', KEYS[13], unpack(ages))
end
for key = 10, 13 do call('PEXPIREAT', KEYS[key], expires_at) end
return {'done'}
