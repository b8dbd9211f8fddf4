local contract = require("spec.middleware.contract")

contract({ describe = describe, it = it, assert = assert })
