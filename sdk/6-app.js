// What a page sees: `window.app`.

const pathOf = (collection) => `collections/${encodeURIComponent(collection)}`;

// No row has these keys: they are other addresses of a collection.
const RESERVED_KEYS = ['batch', 'count', 'deleted', 'retention', '.', '..'];

const rowCall = async (method, collection, key, options) => {
  const text = String(key ?? '');
  if (!text) throw unsendable('a row is called by its key');
  if (RESERVED_KEYS.includes(text)) {
    throw new AppError({ code: 'row_not_found', status: 404, message: `no row has the key ${text}` });
  }
  return call(method, `${pathOf(collection)}/${encodeURIComponent(text)}`, options);
};

const collection = (name) => Object.freeze({
  name,
  list: ({ filter, sort, limit, cursor: from } = {}) =>
    call('GET', pathOf(name), { query: { filter, sort, limit, cursor: from } }),
  get: (key) => rowCall('GET', name, key),
  create: (data, { key, idempotencyKey } = {}) =>
    createCall(name, pathOf(name), key === undefined ? { data } : { key, data }, idempotencyKey),
  upsert: (on, data, { idempotencyKey } = {}) =>
    createCall(name, pathOf(name), { on, data }, idempotencyKey),
  update: (key, data, { ifMatch, replace } = {}) =>
    rowCall('PATCH', name, key, { body: { data, if_match: ifMatch, replace } }),
  delete: (key, { ifMatch } = {}) =>
    rowCall('DELETE', name, key, { query: { if_match: ifMatch } }),
  count: async () => (await call('GET', `${pathOf(name)}/count`)).count,
  can: (operation, row) => can(name, operation, row),
  subscribe: (callback, options) => subscribe(name, callback, options),
});

const events = Object.freeze({
  send: (type, data = {}) => call('POST', 'events', {
    body: { type, data }, headers: { 'idempotency-key': newKey() },
  }),
  on: (type, callback, { onError } = {}) => {
    const listener = { callback, onError };
    if (!listeners.has(type)) listeners.set(type, new Set());
    listeners.get(type).add(listener);
    const off = () => {
      const set = listeners.get(type);
      if (!set) return;
      set.delete(listener);
      if (!set.size) listeners.delete(type);
      stopIfIdle();
    };
    inOrder(async () => {
      await beginNow(() => listeners.get(type)?.has(listener), (error) => {
        if (!error.retryable) off();
        report(onError, error);
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
// Configurable, so that a page may still declare an `app` of its own.
Object.defineProperty(window, 'app', { value: app, configurable: true, writable: true });
