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

const solve = async (task) => {
  solver = solver || withRetries(true, solverText);
  const text = await solver.catch((error) => {
    solver = null;
    throw error;
  });
  return work(text, task);
};

const work = (text, task) => new Promise((resolve, reject) => {
  const started = performance.now();
  const source = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const worker = new Worker(source);
  const fail = (message) => reject(new AppError({
    code: 'challenge_unsolvable', message,
    hint: 'The challenge of the server could not be solved in this browser: try another.',
  }));
  const end = () => {
    worker.terminate();
    URL.revokeObjectURL(source);
  };
  worker.onmessage = ({ data: number }) => {
    end();
    if (number === null) return fail('no number fits the challenge');
    const { algorithm, challenge, salt, signature } = task;
    const took = Math.round(performance.now() - started);
    return resolve(btoa(JSON.stringify({ algorithm, challenge, number, salt, signature, took })));
  };
  worker.onerror = (event) => {
    end();
    fail(event.message || 'the worker could not start');
  };
  if (task.algorithm !== 'SHA-256' || !/^([0-9a-f]{8}){8}$/.test(task.challenge)) {
    end();
    fail(`algorithm ${task.algorithm} is not known`);
  } else {
    worker.postMessage({
      salt: task.salt, challenge: task.challenge, max: task.maxnumber || task.maxNumber || 1e6,
    });
  }
});

// A provider's widget shows what it must in a corner of the page, and gives a token.
const showWidget = ({ site_key: sitekey, script_url: src, api }) => new Promise((resolve, reject) => {
  const box = document.createElement('div');
  box.style.cssText = 'position:fixed;bottom:1rem;right:1rem;z-index:2147483647';
  const end = (settle, value) => {
    box.remove();
    settle(value);
  };
  const fail = () => end(reject, new AppError({
    code: 'challenge_unsolvable', message: `${api} gave no token`,
    hint: 'The widget that tells visitors from robots could not do so. Something may block it.',
  }));
  const render = () => window[api].render(box, {
    sitekey, callback: (answer) => end(resolve, answer),
    'error-callback': fail, 'expired-callback': fail,
  });
  document.body.append(box);
  if (window[api]) return render();
  const loader = document.createElement('script');
  loader.src = src;
  // reCAPTCHA alone loads a second script, and says when.
  loader.onload = () => (api === 'grecaptcha' ? window[api].ready(render) : render());
  loader.onerror = fail;
  return document.head.append(loader);
});

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
    if (error.code !== 'challenge_required' && error.code !== 'challenge_verification_failed') {
      throw error;
    }
    challenged.add(collection);
    return send();
  }
};

const newKey = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
