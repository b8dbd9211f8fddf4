--- The resources of the editor that clients can read, and notifications of their changes.
local buffers = require("operations.nvim.serve.buffers")
local findings = require("operations.nvim.serve.findings")
local marks = require("operations.base.marked")
local task = require("operations.task")

local api = vim.api

local resources = {}

local PAUSE = 0.2 -- seconds; changes within this time are reported once

-- The beginning of a buffer; `_meta.next` is the position of the rest, for buffers_read.
local function read_buffer(input)
  local read = buffers.read({ buffer = tonumber(input.buffer) or -1 })
  if not read then
    return nil -- unknown resource
  end
  return { text = read.text, blob = read.base64, mimeType = read.text and "text/plain" or "application/octet-stream",
    _meta = { name = read.name, modified = read.modified, tick = read.tick, next = read.next } }
end

local function numbers_of_buffers(start)
  local list = {}
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    local number = tostring(buffer)
    list[#list + 1] = vim.bo[buffer].buflisted and number:sub(1, #start) == start and number or nil
  end
  return list
end

local function list_buffers()
  local list = marks.array()
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    list[#list + 1] = vim.bo[buffer].buflisted and buffers.describe(buffer) or nil
  end
  return { buffers = list }
end

local offered = {
  { uri = "nvim://buffers", title = "Listed buffers", read = list_buffers },
  { uri = "nvim://diagnostics", title = "Diagnostics of all buffers", read = function()
    return findings.diagnostics({})
  end },
  { uri = "nvim://quickfix", title = "The quickfix list", read = findings.quickfix },
  { uriTemplate = "nvim://buffer/{buffer}", name = "buffer", title = "The text of a buffer, by its number",
    complete = { buffer = numbers_of_buffers }, read = read_buffer },
}

-- Reports changes a little later: keys are typed fast.
local function teller(server)
  local pending
  return function(uri)
    if next(server.links) == nil then
      return
    elseif pending then
      pending[uri] = true
      return
    end
    pending = { [uri] = true }
    task.detach(function()
      task.sleep(PAUSE)
      local uris = pending
      pending = nil
      for changed in pairs(uris) do
        server:updated(changed)
      end
    end)
  end
end

--- Offers the resources, and notifies subscribed clients of changes.
---@param server operations.McpServer
---@param group integer  of autocommands
function resources.add(server, group)
  for _, resource in ipairs(offered) do
    server:resource(resource)
  end
  local tell = teller(server)
  local function on(events, uri)
    api.nvim_create_autocmd(events, { group = group, callback = function(event)
      tell(uri or "nvim://buffer/" .. event.buf)
    end })
  end
  on({ "BufAdd", "BufDelete", "BufFilePost", "BufWritePost" }, "nvim://buffers")
  on({ "TextChanged", "TextChangedI", "BufReadPost", "BufUnload" })
  on({ "QuickFixCmdPost" }, "nvim://quickfix")
  on({ "DiagnosticChanged" }, "nvim://diagnostics")
end

return resources
