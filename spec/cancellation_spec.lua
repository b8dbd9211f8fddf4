local cancellation = require("spec.cancellation_contract")

cancellation({ describe = describe, it = it, setup = setup, teardown = teardown, assert = assert })
