#!lua
--@include parts/lane.lua parts/mark.lua parts/terms.lua
-- Takes an intent of an older generation into this lane; what limit or stock refuse is remembered as ended.
-- KEYS  1 … 5
-- ARGV  1 generation, 2 buyer, 3 request id (size byte and bytes), 4 ticket (16 bytes), 5 digest (8 bytes), 6 units,
--       7 admitted_at, 8 limit, 9 terms line ("price currency limit pay_window_ms"), 10 order fields ('' when none)
-- Returns {'done', 'adopted' | 'refused' | 'superseded', generation, now}, {'closed', 'refused', generation} or
-- {'stale', 'refused', generation}.
-- Never takes more than is available, never takes a ticket twice, never takes back what it refused.
local lane = read_lane()
if lane.phase ~= 'open' then return {'closed', 'refused', lane.generation} end
if tonumber(ARGV[1]) > lane.generation then return {'stale', 'refused', lane.generation} end
local buyer, request, ticket, digest = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local units, admitted_at = tonumber(ARGV[6]), tonumber(ARGV[7])
local now = now_ms()
local known_buyer, known_mark, at = find_ticket(1, ticket)
if known_buyer then
  local same = known_buyer == buyer and is_request(known_mark, at, request) and
                 sub(known_mark, at + 18, at + 25) == digest
  local adopted = same and not is_ended(byte(known_mark, at))
  return {'done', adopted and 'adopted' or 'superseded', lane.generation, now}
end
if call('HEXISTS', KEYS[3], index_of(ticket)) == 1 then
  return {'done', 'superseded', lane.generation, now}  -- no derivation gives two tickets one index, and no lane holds both
end
local terms_at, terms = terms_line(lane.terms, ARGV[9])
if not terms_at then return {'closed', 'refused', lane.generation} end
local mark = call('HGET', KEYS[2], buyer)
local live, count = holdings_of(mark or '')
local adopted = units >= 1 and units <= tonumber(ARGV[8]) - live and count < math.min(lane.tickets_max, 16) and
                  lane.available >= units
local record
if adopted then
  record = new_record(0, request, ticket, digest, admitted_at, units, terms_at, ARGV[10])
else
  record = new_record(2 + 4 * 3 + 16, request, ticket, digest, admitted_at, units, nil, '')  -- ended, failed, published
end
-- Nothing below may fail.
call('HSET', KEYS[2], buyer, (mark or '') .. record)
call('HSET', KEYS[3], index_of(ticket), buyer)
if lane.tickets == 0 then
  call('PEXPIREAT', KEYS[2], lane.expires_at)
  call('PEXPIREAT', KEYS[3], lane.expires_at)
end
call('HSET', KEYS[1], 'tickets', lane.tickets + 1, 'marks', lane.marks + (mark and 0 or 1))
if not adopted then return {'done', 'refused', lane.generation, now} end
call('HSET', KEYS[1], 'available', lane.available - units, 'held', lane.held + units, 'intents', lane.intents + 1,
     'terms', terms)
call('ZADD', KEYS[4], now, ticket)
call('ZADD', KEYS[5], admitted_at, ticket)
if lane.intents == 0 then
  call('PEXPIREAT', KEYS[4], lane.expires_at)
  call('PEXPIREAT', KEYS[5], lane.expires_at)
end
return {'done', 'adopted', lane.generation, now}
