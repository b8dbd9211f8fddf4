--- An expected failure is `nil, err`, and err is an object with a code that programs can act on.
local operations = require("operations")
local T = operations.type

local registry = operations.registry()

assert(registry:register({
  namespace = "bank",
  name = "withdraw",
  type = "mutation",
  inputSchema = T.object({ amount = T.integer({ minimum = 1 }) }),
  errorSchemas = { { code = "INSUFFICIENT_FUNDS", description = "There is less money than was asked for." } },
  handler = function(input)
    if input.amount > 100 then
      error("INSUFFICIENT_FUNDS: there are only 100")
    elseif input.amount == 13 then
      return nil, operations.error("UNLUCKY", "not this one", { try = 14 })
    end
    return input.amount
  end,
}))

local function withdraw(amount)
  local envelope, err = registry:execute("bank.withdraw", { amount = amount })
  if envelope then
    print(envelope.data)
  else
    print(err.code, err.message)
  end
  return err
end

withdraw(50) --> 50
withdraw(500) --> INSUFFICIENT_FUNDS	there are only 100
print(withdraw(13).details.try)
--> UNLUCKY	not this one
--> 14
print(withdraw(0).details[1].path)
--> VALIDATION_ERROR	/amount: expected a number of at least 1, got 0
--> /amount
print(select(2, registry:execute("bank.rob"))) --> OPERATION_NOT_FOUND: no operation 'bank.rob'

-- assert raises the object; its text is the code and the message.
print(select(2, pcall(function()
  return assert(registry:execute("bank.withdraw", { amount = 500 }))
end))) --> INSUFFICIENT_FUNDS: there are only 100
