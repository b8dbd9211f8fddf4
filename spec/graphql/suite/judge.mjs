// graphql-js, of the directory GRAPHQL_PACKAGES, as the judge: node judge.mjs SCHEMA < requests > answers, lines of
// JSON.
// A request is { query, variables?, run? }; the answer { errors: [message] } and, with run, { data }: the query is
// executed on values that a resolver invents from the types. "node judge.mjs SCHEMA introspect" prints the answer to the
// introspection query.
import { readFileSync } from "node:fs";

const g = await import(process.env.GRAPHQL_PACKAGES + "/graphql/index.mjs");

const text = readFileSync(process.argv[2], "utf8");
const schema = process.argv[2].endsWith(".json") ? g.buildClientSchema(JSON.parse(text), { assumeValid: true }) : g.buildSchema(text, { assumeValid: true });

let count = 0;
function invented(type) {
  if (g.isNonNullType(type)) return invented(type.ofType);
  if (g.isListType(type)) return [invented(type.ofType), invented(type.ofType)];
  count++;
  if (g.isEnumType(type)) return type.getValues()[count % type.getValues().length].value;
  if (g.isScalarType(type)) {
    return { Int: count % 1000, Float: count / 4, Boolean: count % 2 === 0, String: "s" + count, ID: "i" + count }[type.name]
      ?? "custom " + count;
  }
  return {};
}
const resolve = (source, args, context, info) => invented(info.returnType);
const typeOf = (value, context, info, type) => {
  const all = schema.getPossibleTypes(type);
  return all[count++ % all.length].name;
};

function answer({ query, variables, run }) {
  let document;
  try {
    document = g.parse(query);
  } catch (error) {
    return { errors: [error.message] };
  }
  const errors = g.validate(schema, document).map((error) => error.message);
  if (!run || errors.length) return { errors };
  const operation = document.definitions.find((node) => node.kind === "OperationDefinition");
  const root = schema.getRootType(operation.operation);
  const result = g.execute({
    schema, document, variableValues: variables, fieldResolver: resolve, typeResolver: typeOf, rootValue: {},
  });
  return { errors: (result.errors ?? []).map((error) => error.message), data: result.data, root: root.name };
}

if (process.argv[3] === "introspect") {
  const options = { specifiedByUrl: true, inputValueDeprecation: true, oneOf: true };
  process.stdout.write(JSON.stringify(g.introspectionFromSchema(schema, options)));
} else {
  const requests = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
  process.stdout.write(requests.map((line) => JSON.stringify(answer(JSON.parse(line))) + "\n").join(""));
}
