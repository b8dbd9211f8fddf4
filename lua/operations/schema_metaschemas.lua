local metaschemas = {}
function metaschemas.find()
  return nil
end
return metaschemas
