// An OpenID provider whose word is not to be believed, for tests. Usage: node hostile_idp.mjs.
// Prints its issuer. GET /say?how=HOW&nonce=NONCE chooses what the next token says; everybody who
// redeems a code then is told so. "honest" is the one that is true.
import { createServer } from "node:http";
import { SignJWT, UnsecuredJWT, exportJWK, exportSPKI, generateKeyPair } from "jose";

// Whoever reads the first line closes the pipe: nothing else may be written there.
console.info = console.warn = () => {};

const secret = "a secret of the tests";
const own = await generateKeyPair("RS256");
const foreign = await generateKeyPair("RS256");
const pem = await exportSPKI(own.publicKey);
const jwk = { ...(await exportJWK(own.publicKey)), kid: "own", use: "sig" };
const now = () => Math.floor(Date.now() / 1000);
let how = "honest";
let nonce = "";

function claims() {
  const person = { sub: "victim", email: "victim@example.org", email_verified: true };
  const said = { iss: issuer, aud: "rookery", nonce, iat: now(), exp: now() + 300, ...person };
  const lies = {
    "another issuer": { iss: "https://accounts.example.org" },
    "an issuer with a slash": { iss: `${issuer}/` },
    "no issuer": { iss: undefined },
    "another audience": { aud: "another" },
    "two audiences": { aud: ["rookery", "another"] },
    "another party": { aud: ["rookery", "another"], azp: "another" },
    "no audience": { aud: undefined },
    "expired": { iat: now() - 900, exp: now() - 600 },
    "no end": { exp: undefined },
    "not yet": { nbf: now() + 600 },
    "another nonce": { nonce: `${nonce}x` },
    "no nonce": { nonce: undefined },
    "no subject": { sub: undefined },
    "an empty subject": { sub: "" },
    "a subject without end": { sub: "x".repeat(256) },
    "a subject with a zero": { sub: "a\u0000b" },
    "somebody else's address": { email: undefined, email_verified: undefined },
    "a failure of who it is": { email: undefined, email_verified: undefined },
    "an unverified address": { sub: "mallory", email_verified: false },
    "an address without a word": { sub: "mallory", email_verified: undefined },
    "an address with another word": { sub: "mallory", email_verified: 1 },
    "an address whose word is text": { sub: "mallory", email_verified: "false" },
    "a verified address in text": { email_verified: "true" },
  };
  return { ...said, ...lies[how] };
}

async function token() {
  const said = claims();
  const sign = (key, header) => new SignJWT(said).setProtectedHeader(header).sign(key);
  const bytes = (text) => new TextEncoder().encode(text);
  switch (how) {
    case "unsigned":
      return new UnsecuredJWT(said).encode();
    case "unsigned in capitals":
      return new UnsecuredJWT(said).encode().replace(/^[^.]+/, () =>
        Buffer.from(JSON.stringify({ alg: "NONE", kid: "own" })).toString("base64url"));
    case "signed in a way that has to be understood":
      return new SignJWT(said)
        .setProtectedHeader({ alg: "RS256", kid: "own", crit: ["x"], x: 1 })
        .sign(own.privateKey, { crit: { x: true } });
    case "without its signature":
      return (await sign(own.privateKey, { alg: "RS256", kid: "own" })).replace(/[^.]+$/, "");
    case "signed with the shared secret":
      return sign(bytes(secret), { alg: "HS256", kid: "own" });
    case "signed with the public key":
      return sign(bytes(pem), { alg: "HS256", kid: "own" });
    case "signed by another key":
      return sign(foreign.privateKey, { alg: "RS256", kid: "own" });
    case "signed by an unknown key":
      return sign(foreign.privateKey, { alg: "RS256", kid: "foreign" });
    case "signed by a key that it brings":
      return sign(foreign.privateKey, {
        alg: "RS256",
        kid: "own",
        jwk: await exportJWK(foreign.publicKey),
      });
    case "signed as by another family":
      return (await sign(own.privateKey, { alg: "RS256", kid: "own" })).replace(/^[^.]+/, () =>
        Buffer.from(JSON.stringify({ alg: "ES256", kid: "own" })).toString("base64url"));
    case "changed": {
      const [head, , end] = (await sign(own.privateKey, { alg: "RS256", kid: "own" })).split(".");
      const body = Buffer.from(JSON.stringify({ ...said, sub: "admin" })).toString("base64url");
      return `${head}.${body}.${end}`;
    }
    case "none at all":
      return undefined;
    case "no token":
      return "a.b.c";
    default:
      return sign(own.privateKey, { alg: "RS256", kid: "own" });
  }
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, issuer);
  const answers = {
    "/say": () => {
      how = url.searchParams.get("how");
      nonce = url.searchParams.get("nonce");
      return {};
    },
    "/.well-known/openid-configuration": () => ({
      issuer: how === "of another name" ? "https://accounts.example.org" : issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: how === "with keys elsewhere" ? "http://192.0.2.1/jwks" : `${issuer}/jwks`,
      authorization_response_iss_parameter_supported: how === "who answers",
    }),
    "/jwks": () => ({ keys: [jwk] }),
    "/token": async () => ({ access_token: "x", token_type: "Bearer", id_token: await token() }),
    "/userinfo": () => ({ sub: "admin", email: "victim@example.org", email_verified: true }),
  };
  if (url.pathname === "/token" && how === "a refusal") response.statusCode = 400;
  if (url.pathname === "/token" && how === "a failure") response.statusCode = 500;
  if (url.pathname === "/userinfo" && how === "a failure of who it is") response.statusCode = 500;
  if (url.pathname === "/token" && how === "without end") {
    // More than anybody reads.
    response.end(JSON.stringify({ id_token: "x".repeat(1 << 20) }));
    return;
  }
  response.end(JSON.stringify(await answers[url.pathname]()));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
console.log(issuer);
