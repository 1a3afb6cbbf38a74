// Who am I: one participant session for all calls, made when the first call needs it.

let session;

// Who wants to know who the visitor is, and what each was told last.
const watchers = new Set();
let known = null;

const announce = (me) => {
  const now = me && JSON.stringify([me.kind, me.id, me.role, me.custom_role]);
  // What is live is the new visitor's from here on: its cursor fits no more, so rows are read anew.
  if (now !== known) reopen();
  known = now;
  each(watchers, (watcher) => {
    if (watcher.told === now) return;
    watcher.told = now;
    report(watcher.callback, me);
  });
};

const onAuth = (callback, options) => {
  const { onError } = optionsOf(options, 'onError');
  const watcher = { callback: callable(callback) };
  watchers.add(watcher);
  const asked = participant();
  // Whoever signs out while it asks is nobody, whatever the answer says.
  asked.then((me) => { if (session === asked) announce(me); }, (error) => tell(onError, error, 'onAuth'));
  return () => { watchers.delete(watcher); };
};

// Whom the cookie or the token names now; null is nobody.
const look = async () => {
  try {
    const me = await exchange('GET', 'session');
    return me?.id ? me : null;
  } catch (error) {
    if (error.status === 401) return null;
    throw error;
  }
};

// Another tab or window may have signed in or out, or the visitor's role have changed.
const lookAgain = async () => {
  if (document.hidden || !(watchers.size || session)) return;
  // While it is being made, nobody is who the visitor is.
  await session?.catch(() => {});
  const before = session;
  const me = await look().catch(() => undefined);
  if (me === undefined || session !== before) return;
  session = me && Promise.resolve(me);
  announce(me);
};
document.addEventListener('visibilitychange', lookAgain);
addEventListener('focus', lookAgain);

// Leaves the page for the site's sign-in, which leads back to `returnTo`, a path of this app.
const signIn = async (options) => {
  const { returnTo } = optionsOf(options, 'returnTo');
  const { origin, pathname, search, hash } = sendable(() => new URL(returnTo || location, location));
  if (origin !== location.origin) throw unsendable('returnTo is no path of this app');
  location.assign(address('sign-in', { return_to: pathname + search + hash }));
  return new Promise(() => {});
};

const signOut = async (options) => {
  optionsOf(options);
  await withRetries(true, () => exchange('DELETE', 'session'));
  session = null;
  token = null;
  announce(null);
};

// Its token has ended, its cookie is gone (taken by another tab that left, cleared, run out), or the
// app is.
const isStale = ({ code }) =>
  ['participant_token_invalid', 'unauthorized', 'app_not_found'].includes(code);

// Runs `task` while no other page of the app runs one, as far as the browser can say so.
const inTurn = async (task) => {
  let ran;
  await navigator.locks?.request('rookery.session', () => (ran = task())).catch(() => {});
  return ran || task();
};

const openSession = async (renew) => {
  const me = !renew && await withRetries(true, look);
  if (me) return me;
  token = null;
  // Of two pages that come at once the second brings the cookie that the first was given, and is told
  // who that is. Without turns each would be somebody, and the browser keep one cookie.
  const made = await withRetries(true, () => inTurn(() => exchange('POST', 'session', { body: {} })));
  const { token: secret, ...mine } = made || {};
  if (SANDBOXED) token = secret;
  return mine;
};

// One session for all calls that run at once. A failed attempt is not kept.
const participant = (stale) => {
  if (session && session !== stale) return session;
  const mine = openSession(stale).then((me) => {
    if (session === mine) announce(me);
    return me;
  }, (error) => {
    if (session === mine) {
      session = null;
      // Whoever was somebody is not let in any more.
      if (known && !error.retryable) announce(null);
    }
    throw error;
  });
  session = mine;
  return mine;
};

// Runs `send` as a participant; one that is none any more is replaced once, and once more after `send`
// has said that it was taken for one.
const asParticipant = async (send) => {
  let used = participant();
  for (let again = false; ; again = true) {
    await used;
    try {
      return await send(() => { again = false; });
    } catch (error) {
      if (!isStale(error)) throw error;
      // It came as nobody: another session would be forgotten in the same way.
      if (error.code === 'unauthorized' && !token && (again || !navigator.cookieEnabled)) {
        throw Object.assign(error, { code: 'no_cookies', message: 'the browser keeps no cookies' });
      }
      if (again) throw error;
      used = participant(used);
    }
  }
};

// Whatever has headers has an `Idempotency-Key` among them.
const call = (method, path, options) => asParticipant(() => withRetries(
  method === 'GET' || options?.headers,
  () => exchange(method, path, options),
));

// What the visitor may do, by collection, for as long as it is the same visitor.
const ABILITIES_MS = 30_000;
let abilities = null;

const OPERATIONS = ['read', 'write', 'update', 'delete', 'count'];

const can = async (name, operation, row = null) => {
  if (!OPERATIONS.includes(operation)) {
    throw unsendable(`${operation} is no operation: ${OPERATIONS}`);
  }
  if (typeof row !== 'object') throw unsendable('can takes a row, no key');
  const me = await participant();
  if (!abilities || abilities.session !== session || abilities.until < Date.now()) {
    const answer = call('GET', 'access');
    abilities = { session, answer, until: Date.now() + ABILITIES_MS };
    answer.catch(() => { abilities = null; });
  }
  const { collections } = await abilities.answer;
  // Whoever may not see a row changes none.
  return [/^[ud]/.test(operation) ? 'read' : operation, operation].every((one) => {
    const may = new Map(Object.entries(collections)).get(name)?.[one] || 'none';
    if (!row || may === 'all') return may !== 'none';
    return ['creator', 'editor'].some((it) => may.includes(it) && row[it]?.id === me.id);
  });
};
