--- `operations call --all`: prints every page of a list.
local core = require("operations.core")
local marked = require("operations.base.marked")
local outcome = require("operations.cli.outcome")
local output = require("operations.cli.output")

local pages = {}

-- Passes the items of a page to `take` until it returns false; returns the problem, if any.
local function take_page(asked, envelope, take)
  local whole = envelope.data
  if asked.answer.options.envelope then
    whole = envelope
  end
  local value, message = asked.answer:select(whole)
  if message then
    return message
  end
  for _, item in ipairs(core.kind(value) == "array" and value or { value }) do
    if not take(item) then
      break
    end
  end
end

-- Takes pages until the end, or enough items; returns the error of a page that cannot be fetched, or the exit code of
-- another failure.
local function take_pages(asked, every, most, take)
  local count, got = 0, 0
  while count < most do
    local envelope, err = every:next()
    if not envelope then
      return err
    end
    got = got + 1
    output.progress(("page %d, %d items"):format(got, count))
    local message = take_page(asked, envelope, function(item)
      count = count + 1
      take(item)
      return count < most
    end)
    if message then
      return output.usage("%s", message)
    end
  end
end

--- Prints the items of all pages as one list. If a page cannot be fetched, the previous ones are printed anyway, except
--- to a file, which is removed.
---@param asked operations.cli.Request
---@param most number  items
---@return integer code
function pages.run(asked, most)
  local answer, list = asked.answer, marked.array()
  local every, err = asked.registry:pages(asked.id, asked.input, asked.context)
  if not every then
    return outcome.failed(asked, err)
  end
  local ok, problem = pcall(take_pages, asked, every, most, function(item)
    if answer.format == "ndjson" then
      answer:item(item)
    else
      list[#list + 1] = item
    end
  end)
  every:close()
  if not ok then
    error(problem, 0)
  end
  local is_failure = type(problem) == "table"
  if answer.format ~= "ndjson" and (not problem or is_failure and not answer.place and #list > 0) then
    answer:print(list)
  end
  if is_failure then
    return outcome.failed(asked, problem)
  end
  return outcome.finish(asked, problem or output.codes.OK)
end

return pages
