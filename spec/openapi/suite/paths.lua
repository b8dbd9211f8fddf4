--- The files below a directory whose paths match a pattern of `find`, in order.
---@param root string
---@param pattern string
---@return string[]
return function(root, pattern)
  local pipe = assert(io.popen(("find '%s' -path '%s' | sort"):format(root, pattern)))
  local paths = {}
  for path in pipe:lines() do
    paths[#paths + 1] = path
  end
  pipe:close()
  return paths
end
