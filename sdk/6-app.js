// What a page sees: `window.app`.

const pathOf = (collection, key) => `collections/${encodeURIComponent(collection)}` +
  (key === undefined ? '' : `/${encodeURIComponent(key)}`);

const collection = (name) => Object.freeze({
  name,
  list: ({ filter, sort, limit, cursor: from } = {}) =>
    call('GET', pathOf(name), { query: { filter, sort, limit, cursor: from } }),
  get: (key) => call('GET', pathOf(name, key)),
  create: (data, { key, idempotencyKey } = {}) =>
    createCall(name, pathOf(name), key === undefined ? { data } : { key, data }, idempotencyKey),
  upsert: (on, data, { idempotencyKey } = {}) =>
    createCall(name, pathOf(name), { on, data }, idempotencyKey),
  update: (key, data, { ifMatch, replace } = {}) =>
    call('PATCH', pathOf(name, key), { body: { data, if_match: ifMatch, replace } }),
  delete: (key, { ifMatch } = {}) =>
    call('DELETE', pathOf(name, key), { query: { if_match: ifMatch } }),
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
