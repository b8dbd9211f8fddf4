-- Tests a program without a network and without waiting: an upstream that fails twice, and a deadline.
--     lua test.lua
local operations = require("operations")
local testing = operations.testing

-- The program: the price of an item, tried up to three times within five seconds.
local function price(http, id)
  local answer, err
  for attempt = 1, 3 do
    answer, err = http.request({ url = "https://shop.test/price/" .. id })
    if answer and answer.status == 200 then
      return operations.json.decode(answer.body).price
    end
    operations.sleep(attempt)
  end
  return nil, err or operations.error("HTTP_" .. answer.status, "no price")
end

testing.with_clock(function(clock)
  local fake = testing.http({ ["GET /price/1"] = { { status = 503 }, { lost = "reset" }, { json = { price = 12 } } } })
  local start = clock.now()
  assert(price(fake, 1) == 12)
  assert(clock.now() - start == 3000, "it waited one and two seconds")
  assert(#fake.requests == 3)
end)

testing.with_clock(function()
  local slow = testing.http({ ["*"] = { delay = 60000 } })
  local _, err = operations.within(5000, price, slow, 1)
  assert(err.code == "TIMEOUT")
end)
print("passed")
