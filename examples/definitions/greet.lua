local T = require("operations").type
return {
  namespace = "demo", name = "greet", type = "query",
  description = "Greet somebody",
  inputSchema = T.object({
    name = T.string({ minLength = 1, description = "Whom to greet." }),
    times = T.integer({ minimum = 1, maximum = 5, default = 1 }),
  }),
  outputSchema = T.string(),
  handler = function(input) return ("Hello, %s!"):format(input.name):rep(input.times, " ") end,
}
