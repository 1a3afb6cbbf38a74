// A push service and a browser behind it, for tests: subscriptions with keys of their own, messages
// decrypted by a stock library, tokens verified. Usage: node push.mjs. Prints its origin.
//   GET /subscribe?name=N&answers=503@60,201   a PushSubscription; what its posts are answered, in
//                                           order, and after how many seconds to come again
//   GET /next?name=N                        the next post to it, when there is one
//   GET /count?name=N                       how many posts to it there were
import { createECDH, createPublicKey, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import ece from "http_ece";
import { jwtVerify } from "jose";

// Whoever reads the first line closes the pipe: nothing else may be written there.
console.info = console.warn = () => {};

const browsers = new Map();

function subscribe(name, answers) {
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  const auth = randomBytes(16);
  browsers.set(name, { keys, auth, answers, count: 0, posts: [], waiting: [] });
  return {
    endpoint: `${origin}/to/${name}`,
    expirationTime: null,
    keys: { p256dh: keys.getPublicKey("base64url"), auth: auth.toString("base64url") },
  };
}

// RFC 8292, section 3: who sends it, by the key that the browser subscribed with.
async function sender(authorization) {
  const [, token, key] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization);
  const point = Buffer.from(key, "base64url");
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  const { payload, protectedHeader } = await jwtVerify(
    token,
    createPublicKey({ key: jwk, format: "jwk" }),
    // The server's clock is the test's.
    { algorithms: ["ES256"], audience: origin, currentDate: new Date("2026-01-31T12:00:00Z") },
  );
  return { key, header: protectedHeader, claims: payload };
}

async function receive(name, request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const browser = browsers.get(name);
  browser.count += 1;
  const [answer, after] = (browser.answers.shift() ?? "201").split("@");
  const { authorization, ttl, urgency } = request.headers;
  const encoding = request.headers["content-encoding"];
  const post = { answer: Number(answer), ttl, urgency, encoding };
  try {
    post.sender = await sender(authorization);
    const message = ece.decrypt(Buffer.concat(chunks), {
      version: "aes128gcm",
      privateKey: browser.keys,
      authSecret: browser.auth.toString("base64url"),
    });
    post.message = JSON.parse(message.toString("utf8"));
  } catch (error) {
    post.failure = String(error);
  }
  const waiting = browser.waiting.shift();
  if (waiting) waiting(post);
  else browser.posts.push(post);
  return [Number(answer), after ? { "retry-after": after } : {}];
}

function next(name) {
  const browser = browsers.get(name);
  return browser.posts.shift() ?? new Promise((done) => browser.waiting.push(done));
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, origin);
  const name = url.searchParams.get("name");
  if (url.pathname.startsWith("/to/")) {
    const [status, after] = await receive(url.pathname.slice("/to/".length), request);
    const elsewhere = status >= 300 && status < 400 ? { location: `${origin}/to/elsewhere` } : {};
    response.writeHead(status, { ...elsewhere, ...after }).end();
    return;
  }
  const answers = url.searchParams.get("answers")?.split(",").filter(Boolean) ?? [];
  const body = {
    "/subscribe": () => subscribe(name, answers),
    "/next": () => next(name),
    "/count": () => browsers.get(name).count,
  }[url.pathname];
  response.end(JSON.stringify(await body()));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;
console.log(origin);
