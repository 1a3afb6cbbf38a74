// The feed: one stream for all subscriptions of the page, resumed for as long as it is wanted.

const subscriptions = new Set();
const listeners = new Map();
let cursor = null;
let stream = null;
// Whether the stream has brought all that was missed when its connection was opened.
let caughtUp = false;
// Opens the connection of the stream anew, if it has one.
let reopen = () => {};
// Lists run one after another: whoever lists second does so after the cursor was taken from
// the first, so nothing can fall between its rows and the stream.
let queue = Promise.resolve();

const inOrder = (task) => {
  const run = queue.then(task);
  queue = run.catch(() => {});
  return run;
};

const startStream = () => {
  if (stream || !cursor || (!subscriptions.size && !listeners.size)) return;
  const abort = new AbortController();
  stream = abort;
  follow(abort.signal).finally(() => {
    if (stream === abort) stream = null;
    startStream();
  });
};

const stopIfIdle = () => {
  if (subscriptions.size || listeners.size) return;
  if (stream) stream.abort();
  stream = null;
  cursor = null;
};

const failAll = (error) => {
  for (const subscription of Array.from(subscriptions)) subscription.fail(error);
  for (const [type, set] of Array.from(listeners)) {
    for (const { onError } of set) tell(onError, error, `on('${type}')`);
  }
  if (!error.retryable) {
    listeners.clear();
    stopIfIdle();
  }
};

const follow = async (signal) => {
  for (let attempt = 0; !signal.aborted;) {
    let lived = false;
    const alive = () => {
      lived = true;
      attempt = 0;
    };
    try {
      await asParticipant(() => readStream(signal, alive));
      // The server ended the stream in peace (a deploy, a restart): go on where it stopped.
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof AppError ? error : networkError(String(error));
      if (failure.code === 'resync_required') {
        await resync(signal);
        continue;
      }
      // A session that ended under a living stream is replaced when the stream is opened again.
      if (isStale(failure) && lived) continue;
      failAll(failure);
      if (!failure.retryable) return;
      if (failure.retryAfterMs) await sleep(failure.retryAfterMs, signal);
    }
    await sleep(backoff(attempt), signal);
    attempt += 1;
  }
};

const readStream = async (signal, alive) => {
  const abort = new AbortController();
  const stop = () => abort.abort();
  let left = false;
  reopen = () => {
    left = true;
    stop();
  };
  signal.addEventListener('abort', stop);
  let watchdog = setTimeout(stop, STREAM_SILENCE_MAX_MS);
  try {
    const response = await fetchOnce('GET', 'feed', {
      query: { since: cursor }, headers: { accept: 'text/event-stream' }, signal: abort.signal,
    });
    if (!response.ok) throw await errorOf(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw networkError('the stream broke off');
      });
      if (done) return;
      alive();
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, STREAM_SILENCE_MAX_MS);
      rest += value;
      if (rest.length > FRAME_CHARS_MAX) throw networkError('an event is too long');
      const frames = rest.split(/\r?\n\r?\n/);
      rest = frames.pop();
      const changes = new Map();
      let isAtEnd = false;
      try {
        for (const frame of frames) isAtEnd = await onFrame(frame, changes) || isAtEnd;
      } finally {
        for (const [subscription, list] of changes) subscription.deliver(list);
      }
      if (isAtEnd && !caughtUp) {
        caughtUp = true;
        for (const subscription of subscriptions) subscription.inSync();
      }
      if (signal.aborted) return;
    }
  } catch (error) {
    if (!left) throw error;
  } finally {
    caughtUp = false;
    clearTimeout(watchdog);
    signal.removeEventListener('abort', stop);
    abort.abort();
  }
};

// Whether the frame is a place without an event: there is no newer one.
const onFrame = async (frame, changes) => {
  let id = null;
  let kind = 'message';
  const data = [];
  for (const line of frame.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') id = value;
    else if (field === 'event') kind = value;
    else if (field === 'data') data.push(value);
  }
  if (data.length) {
    const event = JSON.parse(data.join('\n'));
    if (kind === 'error' || event.error) throw new AppError(event.error || event);
    await onEvent(event, changes);
    id = id || event.cursor;
  }
  // Only now: a cursor says that everything before it has been applied.
  if (id) cursor = id;
  return Boolean(id) && !data.length;
};

const onEvent = async (event, changes) => {
  if (typeof event.type !== 'string') return;
  if (event.type === 'app.deployed') await onDeployed();
  if (event.type.startsWith('event.')) {
    for (const { callback } of listeners.get(event.type.slice(6)) || []) {
      report(callback, event.data, event);
    }
  }
  for (const subscription of Array.from(subscriptions)) {
    if (subscription.collection !== event.collection) continue;
    const change = await subscription.apply(event);
    if (!change) continue;
    if (!changes.has(subscription)) changes.set(subscription, []);
    changes.get(subscription).push(change);
  }
};

// What may be read and done may have changed. To others a cursor ends with what they may read; the
// owner's goes on, so the owner's rows are listed anew.
const onDeployed = async () => {
  abilities = null;
  const me = await session;
  if (!stream || !me || me.role !== 'owner') return;
  const { signal } = stream;
  for (const subscription of Array.from(subscriptions)) inOrder(() => subscription.begin(signal));
};

const resync = (signal) => inOrder(async () => {
  cursor = null;
  for (const subscription of Array.from(subscriptions)) {
    await subscription.begin(signal);
  }
  // Nothing to list, or nothing left: whoever only listens goes on from now.
  await beginNow(() => listeners.size && !signal.aborted, failAll, signal);
});

// Does `task` until it is done, refused for good, or not wanted any more; `fail` is told each time.
const persist = async (wanted, task, fail, signal) => {
  for (let attempt = 0; wanted(); attempt += 1) {
    try {
      return await task();
    } catch (error) {
      fail(error);
      if (!error.retryable) return undefined;
      await sleep(error.retryAfterMs || backoff(attempt), signal);
    }
  }
  return undefined;
};

const beginNow = (wanted, fail, signal) => persist(() => !cursor && wanted(), async () => {
  cursor = (await call('GET', 'feed', { query: { wait: 0 } })).cursor;
}, fail, signal);
