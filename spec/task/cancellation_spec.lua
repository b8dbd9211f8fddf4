local cancellation = require("spec.task.cancellation_contract")

cancellation({ describe = describe, it = it, setup = setup, teardown = teardown, assert = assert })
