---@meta
-- Made by `operations export --types lua`. An editor reads it; programs do not load it.

---@alias operations.Null lightuserdata  JSON's null: operations.null

---@class tasks.watch.input
---@field seconds? number  How long to wait for new tasks after those that are there.

---@class tasks.watch.output
---@field id integer
---@field title string
---@field priority tasks.watch.output.priority
---@field done boolean

---@alias tasks.watch.output.priority "low"|"normal"|"high"

---@class tasks.list.input
---@field done? boolean  Only tasks that are done, or only those that are not.
---@field limit? integer  At most so many.

---@class tasks.Task
---@field id integer
---@field title string
---@field priority tasks.Task.priority
---@field done boolean

---@alias tasks.Task.priority "low"|"normal"|"high"

---@class tasks.create.input
---@field body tasks.NewTask

---@class tasks.NewTask
---@field title string
---@field priority? tasks.NewTask.priority

---@alias tasks.NewTask.priority "low"|"normal"|"high"

---@class tasks.create.output
---@field id integer
---@field title string
---@field priority tasks.create.output.priority
---@field done boolean

---@alias tasks.create.output.priority "low"|"normal"|"high"

---@class tasks.get.input
---@field id integer  The number of the task.

---@class tasks.get.output
---@field id integer
---@field title string
---@field priority tasks.get.output.priority
---@field done boolean

---@alias tasks.get.output.priority "low"|"normal"|"high"

---@class tasks.client
---@field watch fun(input?: tasks.watch.input): (fun(): tasks.watch.output?)?, operations.Error?  Watch tasks as they are created
---@field list fun(input?: tasks.list.input): tasks.Task[]?, operations.Error?  List tasks
---@field create fun(input: tasks.create.input): tasks.create.output?, operations.Error?  Create a task
---@field get fun(input: tasks.get.input): tasks.get.output?, operations.Error?  Get one task

---@class tasks.env
---@field watch fun(input?: tasks.watch.input): ((fun(): { data: tasks.watch.output, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta }?))?, operations.Error?  Watch tasks as they are created
---@field list fun(input?: tasks.list.input): ({ data: tasks.Task[], meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta })?, operations.Error?  List tasks
---@field create fun(input: tasks.create.input): ({ data: tasks.create.output, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta })?, operations.Error?  Create a task
---@field get fun(input: tasks.get.input): ({ data: tasks.get.output, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta })?, operations.Error?  Get one task

---@class operations.Registry
local Registry = {}

---@class operations
local operations = {}

---@class operations.Env
---@field [string] table<string, fun(input?: any): any, operations.Error?>
---@field tasks tasks.env

---@overload fun(self: operations.Registry, id: "tasks.list", input?: tasks.list.input, context?: operations.Context|table): ({ data: tasks.Task[], meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta })?, operations.Error?
---@overload fun(self: operations.Registry, id: "tasks.create", input: tasks.create.input, context?: operations.Context|table): ({ data: tasks.create.output, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta })?, operations.Error?
---@overload fun(self: operations.Registry, id: "tasks.get", input: tasks.get.input, context?: operations.Context|table): ({ data: tasks.get.output, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta })?, operations.Error?
function Registry:execute(id, input, context) end

---@overload fun(self: operations.Registry, id: "tasks.watch", input?: tasks.watch.input, context?: operations.Context|table): ((fun(): { data: tasks.watch.output, meta: operations.LocalMeta|operations.HttpMeta|operations.McpMeta }?))?, operations.Error?
function Registry:subscribe(id, input, context) end

---@overload fun(registry: operations.Registry, namespace: "tasks", context?: operations.Context|table): tasks.client
function operations.client(registry, namespace, context) end
