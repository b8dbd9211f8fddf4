--- Converts JSON text to Lua values and back without loss (RFC 8259, strict).
---
--- | JSON    | Lua                                                                      |
--- |---------|--------------------------------------------------------------------------|
--- | null    | `json.null` (lightuserdata NULL, equal to `cjson.null` and `ngx.null`)   |
--- | integer | an integer on Lua 5.4, a number on LuaJIT; where it would be       |
--- |         | rounded, a wide integer; `-0` is a float                                 |
--- | number  | the nearest double; `1e400` is refused, or a string with `huge = "text"` |
--- | array   | a table with the metatable `json.array_mt`, empty ones too               |
--- | object  | a table; an empty one has the metatable `json.object_mt`, others have    |
--- |         | none; of equal keys the last one wins                                    |
---
--- A wide integer is, on LuaJIT, an int64_t outside +-2^53, or a uint64_t from 2^63 on, of its FFI; on Lua 5.4 a
--- userdata from 2^63 on, whose `tostring` is its digits. Checks, casts and JSON treat it as an integer. Integers that
--- do not fit in 64 bits are strings of their digits.
local core = require("operations.core")

---@class operations.json
local json = {
  null = core.null,
  array_mt = core.array_mt,
  object_mt = core.object_mt,
}

---@class operations.json.EncodeOptions
---@field indent? integer  spaces per level (0 to 16); 0, the default, writes all on one line
---@field sort_keys? boolean  members in byte order of their keys (default: in unspecified order)
---@field keep_order? boolean  members in the order that is known of their table (of a text read with `keep_order` or
---  `property_order`, of `operations.type.object`), then the others in byte order: the same value gives the same bytes
---@field max_depth? integer  nested arrays and objects (default 512, at most 2000)

---@class operations.json.DecodeOptions
---@field huge? "error"|"text"  what becomes of a number that no double holds, such as 1e400: an error (default), or its
---  text, a string
---@field integers? "exact"|"text"  what becomes of an integer outside +-2^53: an integer (default), or on both runtimes
---  a string of its digits
---@field max_depth? integer  nested arrays and objects (default 512, at most 2000)
---@field keep_order? boolean  remembers the order of the members of all objects, for `encode` with `keep_order`
---@field property_order? boolean  remembers it for objects that are called `properties` only, for
---  `operations.schema.properties`
---@field unique? boolean  two members with the same name are an error; default: the last one wins
---@field max_size? integer  bytes of text (default: no limit, the text is in memory already)

--- Writes a value as JSON text. Metamethods are not called, the value is not changed.
---
--- A table is an array when it is marked as one (`array_mt`, the marks of lua-cjson and Neovim, a `__jsontype`) or has
--- a value at [1]; an unmarked empty table is `{}`. Numbers are the shortest text that reads back the same.
---
--- A value that JSON cannot express is an error that names its place (a JSON Pointer, also in `err.details.path`): NaN
--- and infinities, functions, invalid UTF-8, arrays with holes, keys other than strings, cycles.
---@type fun(value: any, options?: operations.json.EncodeOptions): string?, operations.Error?  err: VALIDATION_ERROR
json.encode = core.json_encode

--- Reads one JSON value; skips a byte order mark before it.
---
--- The error of invalid JSON has line, column (in characters) and byte, counted from 1, in its message and in
--- `err.details` = `{ line, column, offset }`; `text:sub(offset)` begins at the error. The value is nil only on
--- failure; JSON's null is `json.null`.
---@type fun(text: string, options?: operations.json.DecodeOptions): any, operations.Error?  err: VALIDATION_ERROR
json.decode = core.json_decode

---@class operations.json.Decoder
---@field feed fun(self, bytes: string): true?, operations.Error?  reads one more piece, of any size
---@field finish fun(self): any, operations.Error?  the value; call it last

--- Reads a text in pieces, with the same values and errors as `json.decode`.
---
--- The default of `max_size` is 16 MiB here. After a failure, `feed` and `finish` return the same error again.
---@type fun(options?: operations.json.DecodeOptions): operations.json.Decoder
json.decoder = core.json_decoder

return json
