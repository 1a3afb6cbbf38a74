// The SDK of an app's page: it defines `window.app`, the same as `window.rookery`, and nothing else.
// No dependencies, no eval; a page may freeze every global after it. The parts are joined, in the order of their names, into
// the one file /s/sdk.js (src/pages/sdk.rs). Documentation: docs/SDK.md.
//
// This part: one request, its error, its retries.

Object.defineProperty(window, Symbol.for('rookery.sdk'), { value: true });

const script = document.currentScript;
const BASE = new URL('.', script?.src || new URL('/s/sdk.js', location));
// The calls of a page in the sandbox of path mode have no cookie: it carries its token itself.
const SANDBOXED = self.origin === 'null';
// The browser's own: a page, or its test, may put another in its place.
const timing = performance;

const REQUEST_TIMEOUT_MS = 30_000;
const ATTEMPTS_MAX = 4;
const BACKOFF_MIN_MS = 300;
const BACKOFF_MAX_MS = 30_000;
// The server sends at least a comment every 15 s: a stream that is silent for longer may be dead, and
// one that is silent for much longer is.
const STREAM_ALIVE_MS = 20_000;
const STREAM_DEAD_MS = 45_000;
// Characters.
const FRAME_MAX = 4_000_000;
const PAGE_ROWS = 200;
const ROWS_MAX = 10_000;

class AppError extends Error {
  // Fields, not assignments: they work also where a page has frozen Error.prototype.
  name = 'AppError';
  // `message` may be what was thrown, too.
  constructor({
    code, message, status = 0, hint = '', retryable = false, details = null, required = null,
    request_id: requestId = null,
  }, retryAfterMs = 0) {
    super(message?.message || message || code);
    Object.assign(this, { code, status, hint, retryable, details, required, requestId, retryAfterMs });
  }

  // The message is not among what JSON takes of an error by itself.
  toJSON() { return { ...this, message: this.message }; }
}

const networkError = (message) => new AppError({
  code: 'network', message, retryable: true,
  hint: 'No answer came in time: a write may have happened.',
});

const backoff = (attempt) =>
  Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** attempt) * (0.5 + Math.random() / 2);

const sleep = (ms, signal) => new Promise((resolve) => {
  // As options it brings the `signal` that takes both listeners away.
  const ended = new AbortController();
  const done = () => {
    ended.abort();
    clearTimeout(timer);
    resolve();
  };
  const timer = setTimeout(done, ms);
  addEventListener('online', done, ended);
  signal?.addEventListener('abort', done, ended);
});

// Lets `task` have each of `set`. What a page's callback adds meanwhile is none of them, and what it takes
// away is left out.
const each = (set, task) => {
  for (const one of [...set]) if (set.has(one)) task(one);
};

const report = (callback, ...args) => {
  try {
    callback?.(...args);
  } catch (error) {
    // A page's own mistake is shown as one, and the subscription lives on.
    setTimeout(() => { throw error; });
  }
};

// Tells whoever asked that `what` failed. Where nobody listens, the console says why it has ended:
// a page that stays empty is not to be a riddle.
const tell = (onError, error, what) => {
  if (onError) report(onError, error);
  else if (!error.retryable) {
    console.error(`${what} has ended: ${error.code}: ${error.message}. ${error.hint}`);
  }
};

// In path mode the document brings the token of whom the browser's cookie names. A copy of the page
// that somebody saves is to hold none.
let token = script?.dataset.participant;
if (token) delete script.dataset.participant;

// Where the files of such a page are not everybody's, its base is the address of those files
// (src/pages/files_pass.rs), and a link to a place in the page would lead there.
if (token && script.previousElementSibling?.localName === 'base') {
  // Behind all listeners of the page: what one of them has dealt with is not ours.
  addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="#"]:not([target])');
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    location.hash = link.getAttribute('href');
  });
}

const address = (path, query = {}) => {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value != null) url.searchParams.set(name, typeof value === 'object' ? JSON.stringify(value) : value);
  }
  return url;
};

// What a page asks for and nobody could send.
const unsendable = (message) => new AppError({
  code: 'invalid_request', message,
  hint: 'Nothing was sent. See /reference/sdk.',
});

// The options of a call. One that it does not know is a mistake: left out in silence, a misspelt
// guard would guard nothing.
const optionsOf = (options = {}, ...known) => {
  const such = `options are an object of ${known.join() || 'nothing'}`;
  if (!options || typeof options !== 'object' || Array.isArray(options)) throw unsendable(such);
  for (const [name, value] of Object.entries(options)) {
    if (!known.includes(name)) throw unsendable(`${name} is no option: ${such}`);
    // NaN, or a misspelt member's undefined, is no guard to the server.
    if (name === 'ifMatch' && !Number.isInteger(value)) throw unsendable(`${name} is no version`);
  }
  return options;
};

// Makes what a call sends. What cannot be made is a mistake of the page too.
const sendable = (make) => {
  try {
    return make();
  } catch (cause) {
    throw unsendable(cause);
  }
};

const callable = (callback) => {
  if (typeof callback !== 'function') throw unsendable('the callback is no function');
  return callback;
};

const fetchOnce = async (method, path, { query, body, headers, signal }) => {
  const request = sendable(() => {
    const sent = new Headers(headers);
    if (token) sent.set('x-service-participant-token', token);
    if (body !== undefined) sent.set('content-type', 'application/json');
    return [address(path, query), {
      method, headers: sent, signal, cache: 'no-store',
      credentials: SANDBOXED ? 'omit' : 'same-origin',
      body: JSON.stringify(body),
    }];
  });
  try {
    return await fetch(...request);
  } catch (cause) {
    throw networkError(cause);
  }
};

const errorOf = async (response) => {
  const wait = response.headers.get('retry-after') * 1000 || 0;
  const answer = await response.json().catch(() => null);
  if (answer?.error?.code) {
    return new AppError({ status: response.status, ...answer.error }, wait);
  }
  return foreignError(response, [200, 429, 502, 503, 504].includes(response.status), wait);
};

// Something between page and service answered in its place, or changed what it said: it may have handed
// the call on.
const foreignError = ({ status }, retryable, wait) => new AppError({
  code: `http_${status}`, status, retryable,
  hint: 'Something on the way answered: a write may have happened.',
}, wait);

// One request, one answer, in bounded time. The service answers with nothing but objects, and with its
// solver's text.
const exchange = async (method, path, options, read = 'json', type = 'object') => {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort('no answer'), REQUEST_TIMEOUT_MS);
  try {
    const response = await fetchOnce(method, path, { ...options, signal: abort.signal });
    if (!response.ok) throw await errorOf(response);
    if (response.status === 204) return null;
    const answer = await response[read]().catch((cause) => {
      if (cause.name !== 'SyntaxError') throw networkError('the answer broke off');
    });
    if (answer && typeof answer === type) return answer;
    throw foreignError(response, true);
  } finally {
    clearTimeout(timer);
  }
};

// What the server says is retryable was not applied, so any call may be sent again: its answers have a
// request's id. After a broken connection, or an answer that is not the server's, nobody knows, but of a
// 429: then only what may safely happen twice is.
const withRetries = async (repeatable, send) => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send();
    } catch (error) {
      const again = error.retryable && (repeatable || error.requestId || error.status === 429);
      if (!again || attempt === ATTEMPTS_MAX) throw error;
      // Longer each time, and not at the moment when all others do whom the server told the same.
      await sleep(error.retryAfterMs * attempt + backoff(attempt - 1));
    }
  }
};
