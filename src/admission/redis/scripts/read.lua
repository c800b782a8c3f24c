#!lua flags=no-writes
--@include parts/lane.lua parts/transfers.lua
-- One exact reading of a lane.
-- KEYS  1 … 8
-- ARGV  none
-- Returns {phase, now, generation, available, held, sold, epoch, marks, intents, oldest intent's admitted_at, id, record,
-- id, record, …} with the open transfers; {'missing', now} when the lane is not there. phase: open, closed, or broken: a
-- key of it is gone or of another type, so nothing it says is to be believed.
-- Never writes.
local lane = read_lane_with_transfers()
local now = now_ms()
if lane.phase == 'missing' then return {'missing', now} end
local v = call('HMGET', KEYS[1], 'sold', 'epoch')
local oldest = try('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
local reply = {lane.phase, now, lane.generation, lane.available, lane.held, v[1], v[2], lane.marks, lane.intents,
               oldest[2] or '0'}
for _, part in ipairs(try('HGETALL', KEYS[6])) do reply[#reply + 1] = part end
return reply
