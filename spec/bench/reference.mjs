// The reference design's registry on typebox, doing its work per call: look up, access check, Value.Check of the input,
// the handler, wrap, Value.Repair (Value.Cast before typebox 1) and Value.Check of the output.
import { createRequire } from "node:module";

const require = createRequire(process.env.NODE_PATH + "/");
export const { Type } = require("typebox");
const { Value } = require("typebox/value");

const sources = new Set(["local", "http", "mcp"]);
export const isEnvelope = (v) => typeof v === "object" && v !== null && "data" in v && typeof v.meta === "object" &&
  v.meta !== null && sources.has(v.meta.source);
const isUnknown = (schema) => schema["~kind"] === "Unknown";

function allowed(rules, identity) {
  const any = rules.requiredScopesAny ?? [];
  if (rules.requiredScopes.length === 0 && any.length === 0 && !rules.resourceType) return true;
  if (!identity) return false;
  if (!rules.requiredScopes.every((scope) => identity.scopes.includes(scope))) return false;
  if (any.length > 0 && !any.some((scope) => identity.scopes.includes(scope))) return false;
  if (!rules.resourceType) return true;
  return Object.entries(identity.resources ?? {}).some(([key, actions]) =>
    key.startsWith(rules.resourceType + ":") && actions.includes(rules.resourceAction));
}

class CallError extends Error {
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export class Registry {
  operations = new Map();

  find(id, value, context) {
    const found = this.operations.get(id);
    if (!found) throw new CallError("OPERATION_NOT_FOUND", `no operation ${id}`);
    if (!allowed(found.accessControl, context.identity)) throw new CallError("ACCESS_DENIED", id);
    if (!Value.Check(found.inputSchema, value)) {
      const issues = Value.Errors(found.inputSchema, value);
      throw new CallError("VALIDATION_ERROR", issues.map((e) => `${e.instancePath}: ${e.message}`).join("; "), issues);
    }
    return found;
  }

  async execute(id, value, context) {
    const found = this.find(id, value, context);
    const result = await found.handler(value, context);
    const envelope = isEnvelope(result)
      ? result : { data: result, meta: { source: "local", operationId: id, timestamp: Date.now() } };
    if (!isUnknown(found.outputSchema)) {
      envelope.data = Value.Repair(found.outputSchema, envelope.data);
      if (!Value.Check(found.outputSchema, envelope.data))
        for (const e of Value.Errors(found.outputSchema, envelope.data)) console.warn(e.instancePath, e.message);
    }
    return envelope;
  }

  async *subscribe(id, value, context) {
    const found = this.find(id, value, context);
    for await (const item of found.handler(value, context))
      yield isEnvelope(item) ? item : { data: item, meta: { source: "local", operationId: id, timestamp: Date.now() } };
  }
}
