// The schema benchmark's peers: ajv and typebox (Compile; Value.Repair and Value.Parse).
// schema_peer.mjs CASES.json prints JSON: by case, the least nanoseconds per call of each peer.
import { createRequire } from "node:module";
import fs from "node:fs";

const require = createRequire(process.env.NODE_PATH + "/");
const Ajv = require("ajv").default;
const { Type: T } = require("typebox");
const { Compile } = require("typebox/compile");
const { Value } = require("typebox/value");

const REPETITIONS = 7;
const SECONDS = 0.08;

// TypeBox's types from JSON Schema, as far as the cases use it.
function typeOf(schema, root) {
  const { type, properties, required = [], items, anyOf, oneOf, allOf, $ref, $schema, definitions, ...rest } = schema;
  if ($ref) return typeOf(root.definitions[$ref.split("/").pop()], root);
  if (allOf) return T.Intersect(allOf.map((s) => typeOf(s, root)));
  if (anyOf || oneOf) return T.Union((anyOf ?? oneOf).map((s) => typeOf(s, root)));
  if (Array.isArray(type)) return T.Union(type.map((name) => typeOf({ ...schema, type: name }, root)));
  if (rest.const !== undefined) return T.Literal(rest.const);
  if (rest.enum) {
    const { enum: values, ...options } = rest;
    return T.Union(values.map((v) => T.Literal(v)), options);
  }
  switch (type) {
    case "object":
      if (!properties) return T.Record(T.String(), T.Unknown());
      return T.Object(Object.fromEntries(Object.entries(properties).map(([name, s]) =>
        [name, required.includes(name) ? typeOf(s, root) : T.Optional(typeOf(s, root))])), rest);
    case "array": return T.Array(typeOf(items, root), rest);
    case "string": return T.String(rest);
    case "integer": return T.Integer(rest);
    case "number": return T.Number(rest);
    case "boolean": return T.Boolean(rest);
    case "null": return T.Null();
    default: return T.Unknown();
  }
}

const cpu = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e6; };

// The lesser of CPU and wall time: V8's helper threads are not held against it, nor are other programs.
function seconds(loop, n) {
  const start = cpu(), wall = performance.now();
  loop(n);
  return Math.min(cpu() - start, (performance.now() - wall) / 1000);
}

function measure(loop) {
  const until = cpu() + 0.3; // warm up
  let n = 1, spent = 0;
  do { n *= 4; spent = seconds(loop, n); } while (spent < SECONDS / 8);
  while (cpu() < until) spent = seconds(loop, n);
  n = Math.max(1, Math.floor(n * SECONDS / spent));
  const times = [];
  for (let i = 0; i < REPETITIONS; i++) times.push(seconds(loop, n) / n * 1e9);
  return Math.min(...times);
}

let kept; // so that no work can be left out

function each(values, work) {
  return measure((n) => {
    for (let i = 0; i < n; i++) kept = work(values[i % values.length]);
  });
}

function attempt(work) {
  try { return work(); } catch { return undefined; }
}

// Compiling is not repeated often enough to be optimised.
function timeCompile(compile) {
  let best = Infinity;
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    kept = compile();
    best = Math.min(best, (performance.now() - start) * 1e6);
  }
  return best;
}

function caster(schema) {
  const ajv = new Ajv({ strict: false, logger: false, coerceTypes: true, useDefaults: true, removeAdditional: true });
  const fix = ajv.compile(schema);
  return (value) => { const copy = Value.Clone(value); fix(copy); return copy; };
}

function castTimes(values, schema, type) {
  if (values.length === 0) return {};
  return {
    ajv: each(values, caster(schema)),
    typebox_repair: attempt(() => each(values, (value) => Value.Repair(type, value))),
    typebox_parse: attempt(() => each(values, (value) => Value.Parse(type, value))),
  };
}

function run({ schema, valid, dirty }) {
  const values = valid.map((text) => JSON.parse(text)), dirtyValues = dirty.map((text) => JSON.parse(text));
  const type = typeOf(schema, schema);
  const validate = new Ajv({ strict: false, logger: false }).compile(schema);
  const check = Compile(type);
  for (const value of values)
    if (!validate(value) || !check.Check(value)) throw new Error("a valid instance is refused: " + JSON.stringify(validate.errors));
  return {
    check: { ajv: each(values, validate), typebox: each(values, (value) => check.Check(value)) },
    cast_valid: castTimes(values, schema, type),
    cast_dirty: castTimes(dirtyValues, schema, type),
    compile: {
      ajv: timeCompile(() => new Ajv({ strict: false, logger: false }).compile(schema)),
      typebox: timeCompile(() => Compile(type)),
    },
  };
}

const results = {};
for (const one of JSON.parse(fs.readFileSync(process.argv[2], "utf8"))) results[one.name] = run(one);
console.log(JSON.stringify(results));
