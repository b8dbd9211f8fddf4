-- /loaded: the modules of the library that were loaded since the workers began, one a line; "spec.loaded" is the set of
-- the others.
local names = {}
for name in pairs(package.loaded) do
  if name:find("^operations%.") and not package.loaded["spec.loaded"][name] then
    names[#names + 1] = name .. "\n"
  end
end
table.sort(names)
ngx.print(table.concat(names))
