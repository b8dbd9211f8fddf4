// The peer of tokens.lua: npm's jose makes keys and tokens, prints them, and then verifies each for SECONDS.
// Usage: node tokens.mjs SECONDS.  Prints { keys, tokens }; after a line on stdin, CPU us and verifications/s of each.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const jose = await import(pathToFileURL(createRequire(import.meta.url).resolve("jose")));
const seconds = Number(process.argv[2]);
const issuer = "https://login.example", audience = "https://api.example";
const keys = [], tokens = {};
for (const alg of ["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"]) {
  const pair = await jose.generateKeyPair(alg, { extractable: true });
  keys.push({ ...await jose.exportJWK(pair.publicKey), alg, use: "sig", kid: alg });
  tokens[alg] = await new jose.SignJWT({ scope: "tasks:read tasks:write", client_id: "app" })
    .setProtectedHeader({ alg, kid: alg, typ: "at+jwt" }).setIssuer(issuer).setAudience(audience).setSubject("ada")
    .setIssuedAt().setExpirationTime("1h").sign(pair.privateKey);
}
console.log(JSON.stringify({ keys, tokens }));

const set = jose.createLocalJWKSet({ keys });
const options = { issuer, audience, clockTolerance: 60, requiredClaims: ["exp"] };
for await (const alg of createInterface({ input: process.stdin })) {
  for (let i = 0; i < 200; i++) await jose.jwtVerify(tokens[alg], set, options);
  const start = performance.now(), before = process.cpuUsage();
  let count = 0;
  while (performance.now() - start < seconds * 1000) {
    await jose.jwtVerify(tokens[alg], set, options);
    count++;
  }
  const used = process.cpuUsage(before);
  console.log(JSON.stringify({ rate: count / (performance.now() - start) * 1000,
    cpu: (used.user + used.system) / count }));
}
