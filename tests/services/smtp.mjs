// Mail servers and the mailboxes behind them, for tests: in the clear, with STARTTLS, with TLS from
// the first byte. Usage: node smtp.mjs. Prints the origin of its own questions:
//   GET /servers       where the mail servers are, and the certificate that they have; `silentFirst`
//                      takes the first four connections without a word
//   GET /next?to=A     the next mail to A, read as a mail program does, when there is one
//   GET /count?to=A    how many mails to A there were
//   GET /tries?to=A    how often A was to take one
// The servers with TLS want the user "rookery" with the password "a secret: of/the tests". An
// address that begins with "refused" has no mailbox, one with "later" takes mail the second time,
// and one with "never" puts it off each time.
import { createServer } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import PostalMime from "postal-mime";
import selfsigned from "selfsigned";
import { SMTPServer } from "smtp-server";

// Whoever reads the first line closes the pipe: nothing else may be written there.
console.info = console.warn = () => {};

const host = "127.0.0.1";
const mailboxes = new Map();

function mailbox(address) {
  if (!mailboxes.has(address)) mailboxes.set(address, { count: 0, tries: 0, mails: [], waiting: [] });
  return mailboxes.get(address);
}

function refuse(code, text) {
  return Object.assign(new Error(text), { responseCode: code });
}

async function read(stream, session) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const raw = Buffer.concat(chunks);
  const { from, to, subject, text, html } = await PostalMime.parse(raw);
  const head = raw.toString("latin1").split("\r\n\r\n", 1)[0].replaceAll(/\r\n[ \t]/g, " ");
  const headers = head.split("\r\n").map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const { mailFrom, rcptTo } = session.envelope;
  const envelope = { from: mailFrom.address, to: rcptTo.map((it) => it.address) };
  const { secure, user, hostNameAppearsAs: greeted } = session;
  const mail = { envelope, headers, from, to, subject, text, html, secure, user, greeted };
  for (const address of envelope.to) {
    const box = mailbox(address);
    box.count += 1;
    const waiting = box.waiting.shift();
    if (waiting) waiting(mail);
    else box.mails.push(mail);
  }
}

function next(address) {
  const box = mailbox(address);
  return box.mails.shift() ?? new Promise((done) => box.waiting.push(done));
}

async function serve(options) {
  const server = new SMTPServer({
    disableReverseLookup: true,
    logger: false,
    onAuth: ({ username, password }, session, done) => {
      const known = username === "rookery" && password === "a secret: of/the tests";
      done(known ? null : refuse(535, "wrong"), { user: username });
    },
    onRcptTo: ({ address }, session, done) => {
      if (address.startsWith("refused")) return done(refuse(550, "no such mailbox"));
      const tries = ++mailbox(address).tries;
      const putOff = address.startsWith("never") || (address.startsWith("later") && tries === 1);
      done(putOff ? refuse(451, "try again") : null);
    },
    onData: (stream, session, done) => read(stream, session).then(() => done(), done),
    ...options,
  });
  // A client that does not trust the certificate hangs up.
  server.on("error", () => {});
  await new Promise((done) => server.listen(0, host, done));
  return `${host}:${server.server.address().port}`;
}

const { private: key, cert } = await selfsigned.generate([{ name: "commonName", value: host }], {
  algorithm: "sha256",
  keySize: 2048,
  extensions: [
    { name: "basicConstraints", cA: false },
    { name: "subjectAltName", altNames: [{ type: 7, ip: host }] },
  ],
});
const clear = { disabledCommands: ["STARTTLS", "AUTH"] };
const plain = await serve(clear);

// Says nothing on the first four connections, and goes on as `clear` on the others.
let connections = 0;
const silentFirst = createTcpServer((socket) => {
  connections += 1;
  if (connections <= 4) return;
  const [address, port] = plain.split(":");
  const behind = connect(port, address);
  for (const end of [socket, behind]) end.on("error", () => {});
  socket.pipe(behind).pipe(socket);
});
await new Promise((done) => silentFirst.listen(0, host, done));

const servers = {
  clear: plain,
  silentFirst: `${host}:${silentFirst.address().port}`,
  starttls: await serve({ key, cert, allowInsecureAuth: false }),
  tls: await serve({ key, cert, secure: true }),
  certificate: cert,
};
const control = createServer(async (request, response) => {
  const url = new URL(request.url, "http://control");
  const to = url.searchParams.get("to");
  const body = {
    "/servers": () => servers,
    "/next": () => next(to),
    "/count": () => mailbox(to).count,
    "/tries": () => mailbox(to).tries,
  }[url.pathname];
  response.end(JSON.stringify(await body()));
});
await new Promise((done) => control.listen(0, host, done));
console.log(`http://${host}:${control.address().port}`);
