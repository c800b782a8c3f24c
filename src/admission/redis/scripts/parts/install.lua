-- What an install step finds before it does anything. KEYS 1 … 13; ARGV 1 generation, 2 leader.
--   stale      the lane is of a later plan or leader
--   installed  this very install, finished
--   ours       this very install under way
--   older      neither: only a begin may go on
local function look()
  local v = fields(KEYS[1], 'leader', 'closed_generation', 'phase', 'generation')
  local b = fields(KEYS[9], 'leader', 'generation')
  local generation, leader = tonumber(ARGV[1]), ARGV[2]
  if is_less(leader, v[1] or '0') or tonumber(v[2] or 0) >= generation then return 'stale' end
  if v[3] and tonumber(v[4]) >= generation then
    local same = tonumber(v[4]) == generation and v[1] == leader
    -- A lane that has lost keys is not what was installed: only a higher generation can make it whole.
    if same and read_lane().phase == 'open' then return 'installed' end
    return 'stale'
  end
  if not b[1] or is_less(b[1], leader) then return 'older' end
  local begun = tonumber(b[2])
  if begun > generation then return 'stale' end
  if begun == generation then return 'ours' end
  return 'older'
end

local function drop_beside()
  call('UNLINK', KEYS[9], KEYS[10], KEYS[11], KEYS[12], KEYS[13])
end

-- Takes away what stands in the lane's place and is no lane (FS-20).
local function clear_place()
  if call('TYPE', KEYS[1]).ok ~= 'hash' then call('UNLINK', KEYS[1]) end
end
