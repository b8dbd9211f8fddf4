// Each strict definition goes through the SDK's own schema transform and comes back equal. Prints what does not.
// node transforms.mjs openai|anthropic file.json, with npm's packages in TOOLS_NPM.
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [, , vendor, file] = process.argv;
const at = (path) => import(pathToFileURL(resolve(process.env.TOOLS_NPM, path)).href);
const transform = vendor === "openai"
  ? (await at("openai/lib/transform.mjs")).toStrictJsonSchema
  : (await at("@anthropic-ai/sdk/lib/transform-json-schema.mjs")).transformJSONSchema;

// `required` is a set: the SDK sorts it as the members of the text come.
const sorted = (value) => Array.isArray(value) ? value.map(sorted)
  : value && typeof value === "object" ? Object.fromEntries(Object.entries(value).map(([key, item]) =>
    [key, key === "required" && Array.isArray(item) ? [...item].sort() : sorted(item)]))
  : value;

let strict = 0, wrong = 0;
for (const tool of JSON.parse(readFileSync(file, "utf8"))) {
  const definition = tool.function ?? tool;
  if (!definition.strict) continue;
  strict++;
  const schema = definition.parameters ?? definition.input_schema;
  try {
    const made = transform(structuredClone(schema));
    if (isDeepStrictEqual(sorted(made), sorted(schema))) continue;
    console.log(`${definition.name}: changed\n  ${JSON.stringify(schema)}\n  ${JSON.stringify(made)}`);
  } catch (error) {
    console.log(`${definition.name}: ${error.message}\n  ${JSON.stringify(schema)}`);
  }
  wrong++;
}
console.log(`${strict} strict definitions, ${wrong} changed`);
process.exit(wrong > 0 ? 1 : 0);
