// The other side of `make fuzz-schema`: reads lines { schema, values }, writes for each a line with what the peer says
// of every value ([true, false, ...]), or the message of why it does not compile.
// schema_peer.mjs ajv|hyperjump INPUT OUTPUT
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import fs from "node:fs";

const require = createRequire(process.env.NODE_PATH + "/");

function ajvPeer() {
  const Ajv = require("ajv/dist/2020").default;
  const addFormats = require("ajv-formats").default;
  const ajv = new Ajv({ strict: false, validateSchema: false, ownProperties: true, logger: false, addUsedSchema: false });
  addFormats(ajv);
  return ({ schema, values }) => {
    const validate = ajv.compile(schema);
    const verdicts = values.map((value) => validate(value));
    if (typeof schema === "object") ajv.removeSchema(schema);
    return verdicts;
  };
}

async function hyperjumpPeer() {
  const load = (name) => import(pathToFileURL(require.resolve(name)));
  const { registerSchema, unregisterSchema, validate } = await load("@hyperjump/json-schema/draft-2020-12");
  const { setShouldValidateFormat } = await load("@hyperjump/json-schema");
  await load("@hyperjump/json-schema/formats");
  setShouldValidateFormat(true);
  let count = 0;
  return async ({ schema, values }) => {
    const uri = `https://fuzz.example/${count++}`;
    registerSchema(schema, uri, "https://json-schema.org/draft/2020-12/schema");
    try {
      const compiled = await validate(uri);
      return values.map((value) => compiled(value).valid);
    } finally {
      unregisterSchema(uri);
    }
  };
}

const [name, input, output] = process.argv.slice(2);
const answer = name === "ajv" ? ajvPeer() : await hyperjumpPeer();
const answers = [];
for (const line of fs.readFileSync(input, "utf8").split("\n").filter((text) => text !== "")) {
  try {
    answers.push(await answer(JSON.parse(line)));
  } catch (e) {
    answers.push(e.message);
  }
}
fs.writeFileSync(output, answers.map((verdicts) => JSON.stringify(verdicts) + "\n").join(""));
