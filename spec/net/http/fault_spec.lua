local faults = require("spec.net.http.fault_contract")

faults({ describe = describe, it = it, setup = setup, teardown = teardown, assert = assert })
