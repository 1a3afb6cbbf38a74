// Proof-of-work challenges (the ALTCHA protocol), and the creates that may need one.

const challenged = new Set();

// The solver's text. A worker is made of a blob of it, because a page in the sandbox may start none
// from an address.
let solver = null;

const solverText = async () => {
  const response = await fetchOnce('GET', 'solver.js');
  if (!response.ok) throw await errorOf(response);
  return response.text();
};

const unsolvable = (message) => new AppError({
  code: 'challenge_unsolvable', message,
  hint: 'This browser blocks the challenge: try another.',
});

const solve = async ({ algorithm, challenge, salt, signature, maxnumber, maxNumber = 1e6 }) => {
  if (algorithm !== 'SHA-256' || !/^([0-9a-f]{8}){8}$/.test(challenge)) {
    throw unsolvable(`unknown algorithm ${algorithm}`);
  }
  solver = solver || withRetries(true, solverText);
  const text = await solver.catch((error) => {
    solver = null;
    throw error;
  });
  const started = timing.now();
  const number = await work(text, { salt, challenge, max: maxnumber || maxNumber });
  if (number === null) throw unsolvable('no number fits the challenge');
  const took = Math.round(timing.now() - started);
  return btoa(JSON.stringify({ algorithm, challenge, number, salt, signature, took }));
};

const work = (text, task) => {
  const source = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const worker = new Worker(source);
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(unsolvable(message || 'no worker starts'));
    worker.postMessage(task);
  }).finally(() => {
    worker.terminate();
    URL.revokeObjectURL(source);
  });
};

// A provider's widget shows what it must in a corner of the page, and gives a token.
const showWidget = ({ site_key: sitekey, script_url: src, api }) => {
  const box = document.createElement('div');
  box.style.cssText = 'position:fixed;bottom:1rem;right:1rem;z-index:2147483647';
  document.body.append(box);
  return new Promise((resolve, reject) => {
    const fail = () => reject(unsolvable(`${api} gave no token`));
    const render = () => window[api].render(box, {
      sitekey, callback: resolve, 'error-callback': fail, 'expired-callback': fail,
    });
    if (window[api]) return render();
    const loader = document.createElement('script');
    loader.src = src;
    // reCAPTCHA alone loads a second script, and says when.
    loader.onload = () => (api === 'grecaptcha' ? window[api].ready(render) : render());
    loader.onerror = fail;
    return document.head.append(loader);
  }).finally(() => box.remove());
};

const challengeToken = async (collection) => {
  const task = await call('GET', 'challenge', { query: { collection } });
  return task.provider ? showWidget(task) : solve(task);
};

// A create or upsert: safe to send again because of its key, and with a challenge's answer where
// the collection asks for one. An answer serves one request, so each attempt has its own.
const createCall = async (collection, path, body, key) => {
  const headers = { 'idempotency-key': key || newKey() };
  const send = async () => {
    if (challenged.has(collection)) {
      headers['x-service-challenge-token'] = await challengeToken(collection);
    }
    return call('POST', path, { body, headers });
  };
  try {
    return await send();
  } catch (error) {
    if (!/^challenge_(required|verification_failed)$/.test(error.code)) throw error;
    challenged.add(collection);
    return send();
  }
};

const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-');
