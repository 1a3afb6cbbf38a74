// An OpenID provider for tests: certified code, two humans, and no questions asked.
// Usage: node idp.mjs REDIRECT_URI; without a port in it, any port of this machine will do (RFC 8252,
// 7.3). Prints its issuer. GET /as?who=NAME says who signs in next.
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

// Whoever reads the first line closes the pipe: nothing else may be written there.
console.info = console.warn = () => {};

const people = {
  grace: { email: "grace@example.org", email_verified: true },
  ada: { email: "Ada@Example.org", email_verified: true },
  mallory: { email: "ada@example.org", email_verified: false },
  nameless: {},
};
let who = "ada";
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [{
    client_id: "rookery",
    client_secret: "a secret of the tests",
    application_type: new URL(process.argv[2]).port ? "web" : "native",
    redirect_uris: [process.argv[2]],
  }],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  cookies: { keys: ["a key of the tests"] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
});
const answer = provider.callback();

async function agree(request, response) {
  const { params } = await provider.interactionDetails(request, response);
  const grant = new provider.Grant({ accountId: who, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  const result = { login: { accountId: who }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result);
}

server.on("request", (request, response) => {
  const url = new URL(request.url, issuer);
  if (url.pathname === "/as") {
    who = url.searchParams.get("who");
    response.end();
  } else if (url.pathname.startsWith("/interaction/")) {
    agree(request, response).catch((error) => response.writeHead(500).end(String(error)));
  } else {
    answer(request, response);
  }
});
console.log(issuer);
