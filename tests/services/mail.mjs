// A mail server for tests: takes mail by SMTP and hands it out by HTTP.
// Usage: node mail.mjs. Prints its two addresses. GET /?to=ADDRESS answers with the newest mail to
// that address, {from, to, subject, text, html}, as soon as there is one, and forgets it.
import { createServer } from "node:http";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";

const held = new Map();
const waiting = new Map();

const deliver = (address, mail) => {
  const reader = waiting.get(address);
  if (reader) {
    waiting.delete(address);
    reader.end(JSON.stringify(mail));
  } else {
    held.set(address, mail);
  }
};

const take = async (stream, session) => {
  const { from, to, subject, text, html } = await PostalMime.parse(await buffer(stream));
  const mail = { from: from.address, to: to.map(({ address }) => address), subject, text, html };
  for (const { address } of session.envelope.rcptTo) deliver(address, mail);
};

const smtp = new SMTPServer({
  disabledCommands: ["AUTH", "STARTTLS"],
  logger: false,
  onData: (stream, session, done) => { take(stream, session).then(() => done(), done); },
});
smtp.listen(0, "127.0.0.1");

const http = createServer((request, response) => {
  const to = new URL(request.url, "http://localhost").searchParams.get("to");
  response.setHeader("content-type", "application/json");
  const mail = held.get(to);
  held.delete(to);
  if (mail) response.end(JSON.stringify(mail));
  else waiting.set(to, response);
});
http.listen(0, "127.0.0.1");

await Promise.all([once(smtp.server, "listening"), once(http, "listening")]);
console.log(`smtp://127.0.0.1:${smtp.server.address().port} http://127.0.0.1:${http.address().port}`);
