// An authorization server by npm's jose: serves its keys at /jwks.json, prints its port, and for each line of stdin,
// { alg, kid?, header?, claims, secret? }, a line { token, accepted }: is the token one that jose accepts itself?
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const jose = await import(pathToFileURL(require.resolve("jose")));
const issuer = "https://login.example", audience = "https://api.example";
const kinds = [["RS256"], ["RS384"], ["RS512"], ["PS256"], ["PS384"], ["PS512"], ["ES256"], ["ES384"], ["ES512"],
  ["EdDSA", { crv: "Ed25519" }]];
const keys = {}, set = [];

for (const [alg, options] of kinds) {
  const pair = await jose.generateKeyPair(alg, { extractable: true, ...options });
  keys[alg] = pair.privateKey;
  set.push({ ...await jose.exportJWK(pair.publicKey), alg, use: "sig", kid: alg });
}

const known = jose.createLocalJWKSet({ keys: set });

async function accepted(token) {
  try {
    await jose.jwtVerify(token, known, { issuer, audience, clockTolerance: 60, requiredClaims: ["exp"],
      algorithms: kinds.map(([alg]) => alg) });
    return true;
  } catch {
    return false;
  }
}

async function make({ alg, header, claims, secret }) {
  if (alg === "none")
    return new jose.UnsecuredJWT(claims).encode();
  const key = secret ? new TextEncoder().encode(JSON.stringify(set[0])) : keys[alg];
  return new jose.SignJWT(claims).setProtectedHeader({ alg, kid: alg, typ: "at+jwt", ...header }).sign(key);
}

const server = createServer((request, response) => {
  response.setHeader("Content-Type", "application/jwk-set+json");
  response.end(JSON.stringify({ keys: set }));
});

server.listen(0, "127.0.0.1", async () => {
  console.log(server.address().port);
  for await (const line of createInterface({ input: process.stdin })) {
    const token = await make(JSON.parse(line));
    console.log(JSON.stringify({ token, accepted: await accepted(token) }));
  }
  process.exit();
});
