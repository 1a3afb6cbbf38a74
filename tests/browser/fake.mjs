// A small server that speaks the participant API (`/s/*`) from memory, with switches for what a
// real server does only rarely: broken streams, lost answers, ended sessions, a feed that forgot.
import { createServer } from 'node:http';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

// The parts of the SDK, joined as src/pages/sdk.rs joins them.
const PARTS = new URL('../../sdk/', import.meta.url);
export const SDK = `(() => {\n'use strict';\nif (window[Symbol.for('rookery.sdk')]) return;\n${
  readdirSync(PARTS).filter((name) => name.endsWith('.js')).sort()
    .map((name) => readFileSync(new URL(name, PARTS), 'utf8')).join('')}})();\n`;
const SOLVER = readFileSync(new URL('worker/solver.js', PARTS), 'utf8');
export const CSP = "default-src 'self'; script-src 'self' 'unsafe-inline'; " +
  "style-src 'self' 'unsafe-inline'; connect-src 'self'; worker-src 'self' blob:";
const SANDBOX = '; sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads';

const envelope = (status, code, retryable, message = code) => ({
  error: { status, code, retryable, message, hint: `hint of ${code}`, request_id: 'req-1', docs_url: '' },
});

export class FakeService {
  constructor() {
    this.rows = new Map();       // collection -> Map(key -> row)
    this.versions = new Map();   // collection/key -> version; goes on after a delete
    this.events = [];            // the feed; seq = index + 1
    this.sessions = new Set();
    this.streams = new Set();
    this.requests = [];          // {method, path, query, headers, body}
    this.faults = [];            // functions (req) => answer | undefined, asked first
    this.challenged = new Set(); // collections that ask for a proof of work
    this.spent = new Set();
    this.replays = new Map();    // idempotency key -> answer
    this.access = {};            // what visitors may do, by collection
    this.role = 'anyone';        // of whoever has a session
    this.floor = 0;              // cursors below it are forgotten
    this.html = '<!doctype html><title>t</title><script src="/s/sdk.js"></script>';
    this.solver = (res) => res.end(SOLVER);
    this.documentSeconds = 0;    // the browser may keep the document for so long
    this.prefix = '';
    this.sandbox = false;
  }

  async start() {
    this.server = createServer((req, res) => this.handle(req, res).catch((error) => {
      res.writeHead(500).end(String(error.stack));
    }));
    await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', resolve); });
    this.url = `http://app.localhost:${this.server.address().port}${this.prefix}/`;
    return this;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => { this.server.close(resolve); });
  }

  collection(name) {
    if (!this.rows.has(name)) this.rows.set(name, new Map());
    return this.rows.get(name);
  }

  // Writes a row as somebody else would, and tells every stream.
  write(name, key, data, type, by = { kind: 'agent', id: 'agt_1' }) {
    const rows = this.collection(name);
    const old = rows.get(key);
    const at = new Date(1_800_000_000_000 + this.events.length).toISOString();
    const version = (this.versions.get(`${name}/${key}`) || 0) + 1;
    this.versions.set(`${name}/${key}`, version);
    const row = {
      key, data, version, creator: old ? old.creator : by, editor: by,
      created_at: old ? old.created_at : at, updated_at: at,
    };
    if (type === 'row.deleted') rows.delete(key);
    else rows.set(key, row);
    this.emit({ type: type || (old ? 'row.updated' : 'row.created'), at, by, collection: name, key,
      version: row.version, ...(type === 'row.deleted' ? {} : { data }) });
    return row;
  }

  emit(event) {
    const seq = this.events.length + 1;
    this.events.push({ seq, cursor: `c${seq}`, ...event });
    for (const stream of this.streams) this.send(stream);
  }

  send(stream) {
    while (stream.at < this.events.length) {
      const event = this.events[stream.at];
      stream.at += 1;
      stream.res.write(`id: ${event.cursor}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    if (stream.caughtUp || this.holdBack) return;
    stream.caughtUp = true;
    stream.res.write(`id: c${stream.at}\n\n`);
  }

  // Breaks every open stream: with `how` = 'cut' in the middle of a frame, else in peace.
  breakStreams(how = 'end') {
    for (const { res } of this.streams) {
      if (how === 'cut') {
        res.write('id: c999\ndata: {"type":"row.upda');
        setTimeout(() => res.destroy(), 20);
      } else {
        res.end();
      }
    }
    this.streams.clear();
  }

  seen(method, path) {
    return this.requests.filter((r) => r.method === method && r.path === path);
  }

  async handle(req, res) {
    const url = new URL(req.url, 'http://x');
    const path = url.pathname.slice(this.prefix.length);
    if (req.method === 'GET' && (path === '/s/sdk.js' || path === '/s/solver.js')) {
      res.writeHead(200, { 'content-type': 'text/javascript', 'access-control-allow-origin': '*' });
      return path === '/s/sdk.js' ? res.end(SDK) : this.solver(res);
    }
    if (path === '/s/sign-in') {
      this.requests.push({ method: req.method, path: 'sign-in', query: url.searchParams });
      res.writeHead(200, { 'content-type': 'text/html' });
      return res.end('<!doctype html><title>Sign in</title>');
    }
    if (!path.startsWith('/s/')) {
      res.writeHead(200, { 'content-type': 'text/html; charset=utf-8',
        'cache-control': `max-age=${this.documentSeconds}`,
        'content-security-policy': CSP.replaceAll("'self'", this.sandbox ? this.url : "'self'") +
          (this.sandbox ? SANDBOX : '') });
      return res.end(this.html);
    }
    const cors = { 'access-control-allow-origin': '*', 'access-control-allow-methods': '*',
      'access-control-allow-headers': '*' };
    if (req.method === 'OPTIONS') return res.writeHead(204, cors).end();
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const request = { method: req.method, path: path.slice(3), query: url.searchParams,
      headers: req.headers, body: text ? JSON.parse(text) : undefined };
    this.requests.push(request);
    const answer = await this.answer(request, res);
    if (answer === 'destroy') return req.socket.destroy();
    if (answer === 'cut') {
      // Not a bare close: on a reused connection Chromium would send the request again by itself.
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 99 });
      return res.write('{', () => req.socket.destroy());
    }
    if (answer === 'streaming') return undefined;
    const [status, body, headers] = answer;
    res.writeHead(status, { 'content-type': 'application/json', ...cors, ...headers });
    return res.end(body === undefined ? undefined : JSON.stringify(body));
  }

  refuse(status, code, retryable = false, headers = {}) {
    return [status, envelope(status, code, retryable), headers];
  }

  async answer(request, res) {
    for (const fault of this.faults) {
      const answer = await fault(request, res);
      if (answer) return answer;
    }
    const cookie = /service_participant=(\w+)/.exec(request.headers.cookie || '');
    const token = request.headers['x-service-participant-token'] || (cookie && cookie[1]);
    const { method, path } = request;
    if (path === 'session' && method === 'POST' && !this.sessions.has(token)) {
      const made = randomBytes(8).toString('hex');
      this.sessions.add(made);
      return [201, { kind: 'anonymous', id: `anon_${made}`, role: this.role, token: made },
        { 'set-cookie': `service_participant=${made}; HttpOnly; SameSite=Lax; Path=/` }];
    }
    if (path === 'session' && method === 'DELETE') {
      this.sessions.delete(token);
      return [204, undefined, { 'set-cookie': 'service_participant=; Max-Age=0; Path=/' }];
    }
    if (token && !this.sessions.has(token)) return this.refuse(401, 'participant_token_invalid');
    // Nobody may read what everybody may, and change nothing.
    if (!token && method !== 'GET') return this.refuse(401, 'unauthorized');
    const me = { kind: 'anonymous', id: token ? `anon_${token}` : null };
    // To whoever is a participant already, a POST says the same.
    if (path === 'session') return [200, { ...me, role: this.role }];
    if (path === 'access') return [200, { collections: this.access }];
    if (path === 'challenge') return [200, this.task()];
    if (path === 'feed') return this.feed(request, res);
    if (path === 'events') {
      this.emit({ type: `event.${request.body.type}`, at: 't', by: me, data: request.body.data });
      return [201, { seq: this.events.length }];
    }
    const [, name, key] = path.split('/').map(decodeURIComponent);
    return this.rowRoute(request, me, name, key);
  }

  task() {
    const salt = `${randomBytes(12).toString('hex')}?expires=1900000000&c=${'x'.repeat(40)}`;
    const number = 1500;
    const challenge = createHash('sha256').update(salt + number).digest('hex');
    return { algorithm: 'SHA-256', challenge, salt, signature: 'sig', maxnumber: 20_000 };
  }

  solved(header) {
    if (!header || this.spent.has(header)) return false;
    this.spent.add(header);
    const { challenge, number, salt, signature } = JSON.parse(Buffer.from(header, 'base64'));
    return signature === 'sig' &&
      createHash('sha256').update(salt + number).digest('hex') === challenge;
  }

  rowRoute(request, me, name, key) {
    const rows = this.collection(name);
    const { method, body, query } = request;
    if (method === 'GET' && key === 'count') return [200, { count: rows.size }];
    if (method === 'GET' && key !== undefined) {
      return rows.has(key) ? [200, rows.get(key)] : this.refuse(404, 'row_not_found');
    }
    if (method === 'GET') {
      // Pages go on after a key, so that a change of earlier rows moves nothing.
      const [after, feed] = (query.get('cursor') || `.c${this.events.length}`).split('.');
      const rest = [...rows.values()].filter((row) => row.key > after)
        .sort((x, y) => (x.key < y.key ? -1 : 1));
      const items = rest.slice(0, Number(query.get('limit') || 50));
      return [200, { items, feed_cursor: feed,
        next_cursor: items.length < rest.length ? `${items.at(-1).key}.${feed}` : null }];
    }
    if (method === 'POST') {
      const idempotency = request.headers['idempotency-key'];
      if (this.replays.has(idempotency)) return this.replays.get(idempotency);
      if (this.challenged.has(name)) {
        const proof = request.headers['x-service-challenge-token'];
        if (!proof) return this.refuse(403, 'challenge_required');
        if (!this.solved(proof)) return this.refuse(403, 'challenge_verification_failed');
      }
      const row = this.write(name, body.key || `row_${this.events.length + 1}`, body.data, undefined, me);
      this.replays.set(idempotency, [201, row]);
      return [201, row];
    }
    if (!rows.has(key)) return this.refuse(404, 'row_not_found');
    if (method === 'DELETE') return [200, this.write(name, key, {}, 'row.deleted', me)];
    if (body.if_match !== undefined && body.if_match !== rows.get(key).version) {
      const refusal = envelope(409, 'conflict', false);
      refusal.error.details = { current: rows.get(key) };
      return [409, refusal];
    }
    return [200, this.write(name, key, { ...rows.get(key).data, ...body.data }, undefined, me)];
  }

  feed(request, res) {
    const since = request.query.get('since');
    if (!since) return [200, { events: [], cursor: `c${this.events.length}`, more: false }];
    const at = Number(since.slice(1));
    if (at < this.floor) return this.refuse(410, 'resync_required');
    res.writeHead(200, { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' });
    res.write(': hello\n\n');
    const stream = { res, at };
    this.streams.add(stream);
    res.on('close', () => this.streams.delete(stream));
    this.send(stream);
    return 'streaming';
  }
}
