-- The C modules are opened, over and over.
return function()
  for _, name in ipairs({ "operations.core", "operations.system", "operations.reactor", "operations.transfer" }) do
    package.loaded[name] = nil
    assert(require(name))
  end
end
