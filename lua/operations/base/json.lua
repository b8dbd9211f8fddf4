--- JSON text to Lua values and back (RFC 8259, strict), nothing lost either way.
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
--- A wide integer is, on LuaJIT outside +-2^53, an int64_t or from 2^63 on a uint64_t of its FFI; on Lua 5.4, from 2^63
--- on, a userdata of which `tostring` gives the digits. It is an integer wherever values are checked, cast or written.
--- Integers that 64 bits do not hold are strings of their digits.
local core = require("operations.core")

---@class operations.json
local json = {
  null = core.null,
  array_mt = core.array_mt,
  object_mt = core.object_mt,
}

---@class operations.json.EncodeOptions
---@field indent? integer  spaces per level (0 to 16); 0, the default, writes all on one line
---@field sort_keys? boolean  members in byte order of their keys (default: in no certain order)
---@field max_depth? integer  nested arrays and objects (default 512, at most 2000)

---@class operations.json.DecodeOptions
---@field huge? "error"|"text"  what becomes of a number that no double holds, such as 1e400: an error (default), or its
---  text, a string
---@field integers? "exact"|"text"  what becomes of an integer outside +-2^53: an integer (default), or on both runtimes
---  a string of its digits
---@field max_depth? integer  nested arrays and objects (default 512, at most 2000)
---@field property_order? boolean  remembers the order of the members of objects that are called `properties`, for
---  `operations.schema.properties`
---@field unique? boolean  an object with two members of one name is an error; else the last one wins
---@field max_size? integer  bytes of text (default: no limit, the text is in memory already)

--- Writes a value as JSON text. Metamethods are not called, the value is not changed.
---
--- A table is an array when it is marked as one (`array_mt`, the marks of lua-cjson and Neovim, a `__jsontype`) or has
--- a value at [1]; an unmarked empty table is `{}`. Numbers are the shortest text that reads back the same.
---
--- A value that JSON cannot hold is an error that names its place (a JSON Pointer, also in `err.details.path`): NaN and
--- infinities, functions, strings that are no UTF-8, arrays with holes, keys that are no strings, cycles.
---@type fun(value: any, options?: operations.json.EncodeOptions): string?, operations.Error?  err: VALIDATION_ERROR
json.encode = core.json_encode

--- Reads one JSON value; a byte order mark before it is passed over.
---
--- The error of a text that is no JSON says line and column (in characters) and byte, all counted from 1, in its
--- message and in `err.details` = `{ line, column, offset }`; `text:sub(offset)` starts with what is wrong.
--- The value is nil on failure only; JSON's null is `json.null`.
---@type fun(text: string, options?: operations.json.DecodeOptions): any, operations.Error?  err: VALIDATION_ERROR
json.decode = core.json_decode

---@class operations.json.Decoder
---@field feed fun(self, bytes: string): true?, operations.Error?  reads one more piece, of any size
---@field finish fun(self): any, operations.Error?  the value; nothing can follow

--- Reads a text that comes piece by piece, as `json.decode` reads it whole: same values, same errors.
---
--- `max_size` is 16 MiB here when it is not set. After a failure `feed` and `finish` say the same again.
---@type fun(options?: operations.json.DecodeOptions): operations.json.Decoder
json.decoder = core.json_decoder

return json
