// What a page sees: `window.app`. Each call is an `async` function, so that what it refuses rejects.

const segment = (text) => sendable(() => encodeURIComponent(text));
// A browser takes dots for steps in the address. No collection is called `-`.
const pathOf = (name) => `collections/${segment(name).replace(/^\.*$/, '-')}`;

// No row has these keys: they are other addresses of a collection.
const RESERVED_KEYS = ['batch', 'count', 'deleted', 'retention', '.', '..'];

const keyOf = (key) => {
  if (!key || typeof key !== 'string') throw unsendable('a key is a text');
  return key;
};

const rowCall = async (method, collection, key, options) => {
  keyOf(key);
  if (RESERVED_KEYS.includes(key)) {
    throw new AppError({
      code: 'row_not_found', status: 404, message: `no row has the key ${key}`,
      hint: `The keys ${RESERVED_KEYS} are reserved.`,
    });
  }
  return call(method, `${pathOf(collection)}/${segment(key)}`, options);
};

const collection = (name) => Object.freeze({
  name,
  list: async (options) => {
    const query = optionsOf(options, 'filter', 'sort', 'limit', 'cursor');
    // Left out, as JSON leaves it, a condition without a value would admit every row.
    sendable(() => JSON.stringify({ ...query.filter }, (member, value) => {
      if (value !== value || /^[uf]/.test(typeof value)) throw unsendable(`${member} is no value`);
      return value;
    }));
    return call('GET', pathOf(name), { query });
  },
  get: async (key, options) => {
    optionsOf(options);
    return rowCall('GET', name, key);
  },
  create: async (data, options) => {
    const { key, idempotencyKey } = optionsOf(options, 'key', 'idempotencyKey');
    const body = key === undefined ? { data } : { key: keyOf(key), data };
    return createCall(name, pathOf(name), body, idempotencyKey);
  },
  upsert: async (on, data, options) => {
    const { idempotencyKey } = optionsOf(options, 'idempotencyKey');
    return createCall(name, pathOf(name), { on, data }, idempotencyKey);
  },
  update: async (key, data, options) => {
    const { ifMatch, replace } = optionsOf(options, 'ifMatch', 'replace');
    return rowCall('PATCH', name, key, { body: { data, if_match: ifMatch, replace } });
  },
  delete: async (key, options) => {
    const { ifMatch } = optionsOf(options, 'ifMatch');
    return rowCall('DELETE', name, key, { query: { if_match: ifMatch } });
  },
  count: async (options) => {
    optionsOf(options);
    return (await call('GET', `${pathOf(name)}/count`)).count;
  },
  can: (operation, row) => can(name, operation, row),
  subscribe: (callback, options) => subscribe(name, callback, options),
});

// The last listener has its place in the feed.
let listening = null;

const events = Object.freeze({
  send: async (type, data = {}, options) => {
    optionsOf(options);
    const headers = { 'idempotency-key': newKey() };
    // Whoever asked to hear it is to hear it.
    await Promise.race([listening, sleep(3000)]);
    return call('POST', 'events', { body: { type, data }, headers });
  },
  on: (type, callback, options) => {
    const { onError } = optionsOf(options, 'onError');
    const listener = { type, callback: callable(callback), onError };
    const ending = new AbortController();
    const off = () => {
      ending.abort();
      listeners.delete(listener);
      stopIfIdle();
    };
    listeners.add(listener);
    listening = inOrder(async () => {
      await beginNow(ending.signal, (error) => {
        if (!error.retryable) off();
        tell(onError, error, `on('${type}')`);
      });
      startStream();
    });
    return off;
  },
});

const app = Object.freeze({
  collection,
  events,
  onAuth,
  signIn,
  signOut,
  AppError,
  get me() { return participant(); },
});
// Configurable, so that a page may still declare an `app` of its own, with `const` too. A `var` or
// a function takes the name over: the second name is for such a page.
Object.defineProperty(window, 'app', { value: app, configurable: true, writable: true });
Object.defineProperty(window, 'rookery', { value: app, configurable: true });
