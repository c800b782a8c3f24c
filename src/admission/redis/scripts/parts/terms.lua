-- What intents say beyond their tickets, one line each in the stock hash's `terms`: "price currency limit pay_window_ms".
-- A mark names a line by number, so lines are never changed or removed while the lane lives.
local terms_max = 1000

-- Number of this line, and the lines with it; nil: there are too many others.
local function terms_line(lines, line)
  local number = 0
  for known in string.gmatch(lines, '[^\n]+') do
    number = number + 1
    if known == line then return number, lines end
  end
  if number >= terms_max then return nil, lines end
  return number + 1, lines .. line .. '\n'
end
