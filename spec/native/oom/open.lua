-- The C modules are opened, over and over.
return function()
  for _, name in ipairs({ "operations.core", "operations.system", "operations.reactor" }) do
    package.loaded[name] = nil
    assert(type(require(name)) == "table")
  end
end
