// Proof-of-work challenges (the ALTCHA protocol), and the creates that may need one.

const challenged = new Set();

// The solver's text. A worker is made of a blob of it, because a page in the sandbox may start none
// from an address.
let solver = null;

const unsolvable = (message) => new AppError({
  code: 'challenge_unsolvable', message,
  hint: 'This browser blocks the challenge: try another.',
});

const solve = async ({ algorithm, challenge, salt, signature, maxnumber: max }) => {
  if (algorithm !== 'SHA-256' || !/^[0-9a-f]{64}$/.test(challenge)) {
    throw unsolvable('unknown algorithm');
  }
  try {
    solver ||= withRetries(true, () => exchange('GET', 'solver.js', {}, 'text', 'string'));
    const number = await work(await solver, { salt, challenge, max });
    if (number === null) throw unsolvable('no number fits the challenge');
    return btoa(JSON.stringify({ algorithm, challenge, number, salt, signature }));
  } catch (error) {
    // What did not come, or is no solver, is asked for again.
    solver = null;
    throw error;
  }
};

const work = async (text, task) => {
  const source = URL.createObjectURL(new Blob([text]));
  let worker;
  try {
    return await new Promise((resolve, reject) => {
      worker = new Worker(source);
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
      worker.postMessage(task);
    });
  } catch ({ message }) {
    throw unsolvable(message || 'no worker starts');
  } finally {
    worker?.terminate();
    URL.revokeObjectURL(source);
  }
};

// A provider's script, loaded once for all widgets.
let provider = null;

const loadProvider = async (src, api) => {
  await new Promise((resolve, reject) => {
    const loader = document.createElement('script');
    loader.src = src;
    loader.onload = resolve;
    loader.onerror = reject;
    document.head.append(loader);
  });
  // reCAPTCHA alone loads a second script, and says when.
  if (api === 'grecaptcha') await new Promise((resolve) => window[api].ready(resolve));
};

// A provider's widget shows what it must in a corner of the page, and gives a token. A content blocker
// may have put something else in its place, which fails in whichever way.
const showWidget = async ({ site_key: sitekey, script_url: src, api }) => {
  const box = document.createElement('div');
  box.style.cssText = 'position:fixed;bottom:1rem;right:1rem;z-index:999999999';
  try {
    document.body.append(box);
    if (!window[api]?.render) {
      provider ||= loadProvider(src, api);
      await Promise.race([provider, sleep(REQUEST_TIMEOUT_MS)]);
    }
    return await new Promise((resolve, reject) => {
      window[api].render(box, {
        sitekey, callback: resolve, 'error-callback': reject, 'expired-callback': reject,
      });
    });
  } catch {
    provider = null;
    throw unsolvable(`${api} gave no token`);
  } finally {
    box.remove();
  }
};

const challengeToken = async (collection) => {
  const task = await call('GET', 'challenge', { query: { collection } });
  return task.provider ? showWidget(task) : solve(task);
};

// A create or upsert: safe to send again because of its key, and with a challenge's answer where
// the collection asks for one. An answer serves one request: what `call` sends again brings the same, and
// finds it spent where the first was looked at and refused. Then another is made, once.
const createCall = async (collection, path, body, key) => {
  const headers = { 'idempotency-key': key || newKey() };
  for (let left = challenged.has(collection) ? 1 : 2; ; left -= 1) {
    try {
      if (challenged.has(collection)) {
        headers['x-service-challenge-token'] = await challengeToken(collection);
      }
      return await call('POST', path, { body, headers });
    } catch (error) {
      if (!left || !/^challenge_(required|verification_failed)$/.test(error.code)) throw error;
      challenged.add(collection);
    }
  }
};

const newKey = () => crypto.getRandomValues(new Uint32Array(4)).join('-');
