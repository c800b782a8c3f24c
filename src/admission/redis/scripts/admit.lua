#!lua
--@include parts/lane.lua parts/mark.lua
-- Up to 64 requests for one lane: each judged against the state the one before it left, then hold, mark and intent of
-- all that were admitted.
-- KEYS  1 … 5
-- ARGV  1 generation; then for each request: buyer, request id (size byte and bytes), ticket (16 bytes), digest
--       (8 bytes), units, order fields ('' when none)
-- Returns {'done', now, line of the current terms, terms, answer…}, {'closed'} or {'stale'}. An answer is
--   1 admitted · {1, record} the request's own ticket · 0 short of stock · {-1, mark} or -1 limit reached
--   -2 other content under a known request id · -3 not started · -4 ended · -5 paused · -9 undecided
-- Never writes before all is decided, never takes more than is available, never forgets a ticket.
-- A number as its digits: Redis would print it as a double, which costs many times as much.
local function whole(number)
  return string.format('%d', number)
end

local generation, asks = ARGV[1], (#ARGV - 1) / 6
local v = fields(KEYS[1], 'phase', 'generation', 'available', 'held', 'marks', 'tickets', 'intents', 'starts_at',
                 'ends_at', 'state', 'limit', 'tickets_max', 'terms_at', 'terms', 'expires_at')
if v[1] ~= 'open' then return {'closed'} end
local available, held, marks, tickets, intents = tonumber(v[3]), tonumber(v[4]), tonumber(v[5]), tonumber(v[6]),
                                                 tonumber(v[7])
if not is_whole(1, marks, tickets, intents) then return {'closed'} end
if v[2] ~= generation then return {'stale'} end

local buyers, indexes = {}, {}
for i = 1, asks do
  buyers[i] = ARGV[i * 6 - 4]
  indexes[i] = index_of(ARGV[i * 6 - 2])
end
local known = {}
for i, mark in ipairs(call('HMGET', KEYS[2], unpack(buyers))) do known[buyers[i]] = mark end
local owners = call('HMGET', KEYS[3], unpack(indexes))

local now = now_ms()
local now_text = whole(now)
local phase = nil
if v[10] == '4' or now >= tonumber(v[9]) then
  phase = -4
elseif v[10] == '1' or now < tonumber(v[8]) then
  phase = -3
elseif v[10] == '3' then
  phase = -5
end
local limit, tickets_max, terms_at = tonumber(v[11]), math.min(tonumber(v[12]), 16), tonumber(v[13])

local reply = {'done', now, terms_at, v[14]}
local new_tickets, changed, claims, is_changed, taken = {}, {}, {}, {}, {}
for i = 1, asks do
  local base = i * 6 - 4
  local buyer, request, ticket, digest = ARGV[base], ARGV[base + 1], ARGV[base + 2], ARGV[base + 3]
  local units = tonumber(ARGV[base + 4])
  local mark = known[buyer]
  local answer, live, count, at = nil, 0, 0, 1
  while mark and at <= #mark do
    local _, next_at = ends_of(mark, at)
    if is_request(mark, at, request) then
      if sub(mark, at + 18, at + 25) == digest then
        answer = {1, sub(mark, at, next_at - 1)}
      else
        answer = -2
      end
      break
    end
    if not is_ended(byte(mark, at)) then live = live + units_at(mark, at) end
    count = count + 1
    at = next_at
  end
  if not answer then answer = phase end
  if not answer and (units < 1 or units > limit - live or count >= tickets_max) then
    answer = mark and {-1, mark} or -1
  end
  if not answer and available < units then answer = 0 end
  if not answer and (owners[i] or taken[ticket]) then
    answer = -9  -- another buyer's ticket: no derivation gives it twice, and no lane holds it twice
  end
  if not answer then
    answer = 1
    available, held, tickets, intents = available - units, held + units, tickets + 1, intents + 1
    if not mark then marks = marks + 1 end
    known[buyer] = (mark or '') .. new_record(0, request, ticket, digest, now, units, terms_at, ARGV[base + 5])
    if not is_changed[buyer] then
      is_changed[buyer] = true
      changed[#changed + 1] = buyer
    end
    taken[ticket] = true
    new_tickets[#new_tickets + 1] = indexes[i]
    new_tickets[#new_tickets + 1] = buyer
    claims[#claims + 1] = now_text
    claims[#claims + 1] = ticket
  end
  reply[i + 4] = answer
end
if #changed == 0 then return reply end

local new_marks = {}
for i, buyer in ipairs(changed) do
  new_marks[i * 2 - 1] = buyer
  new_marks[i * 2] = known[buyer]
end
-- Nothing below may fail.
call('HSET', KEYS[1], 'available', whole(available), 'held', whole(held), 'marks', whole(marks), 'tickets', whole(tickets),
     'intents', whole(intents))
call('HSET', KEYS[2], unpack(new_marks))
call('HSET', KEYS[3], unpack(new_tickets))
call('ZADD', KEYS[4], unpack(claims))
call('ZADD', KEYS[5], unpack(claims))
-- A key that begins to be lives as long as its lane.
if v[6] == '0' then
  call('PEXPIREAT', KEYS[2], v[15])
  call('PEXPIREAT', KEYS[3], v[15])
end
if v[7] == '0' then
  call('PEXPIREAT', KEYS[4], v[15])
  call('PEXPIREAT', KEYS[5], v[15])
end
return reply
