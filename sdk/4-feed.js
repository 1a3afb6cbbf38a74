// The feed: one stream for all subscriptions of the page, resumed for as long as it is wanted.

const subscriptions = new Set();
const listeners = new Set();
let cursor = null;
let stream = null;
// The connection of the stream, once it has brought all that was missed when it was opened.
let caughtUp = null;
// Opens the connection of the stream anew, if it has one.
let reopen = () => {};
// When that connection was begun, or heard last.
let heard = 0;

// Over HTTP/1.1 a browser has six connections for all tabs of an app. Of those that nobody looks at
// none is held open: they ask every now and then. What came from the browser's cache, such as the
// document, names no protocol; the calls before the feed do.
const isIdle = () => document.hidden && timing.getEntries().some((entry) =>
  /^http.1/.test(entry.nextHopProtocol) && entry.name.startsWith(location.origin));

// A page that was put away, frozen, asleep or offline is told of no connection that died meanwhile. What
// is evidently alive stays as it is, so of several such events at once one counts. Caught on their way
// down: some of them are the document's, and do not rise to the window.
const wake = ({ persisted }) => {
  if (persisted || isIdle() || Date.now() - heard > STREAM_ALIVE_MS) reopen();
};
for (const type of ['pageshow', 'resume', 'visibilitychange', 'online']) {
  addEventListener(type, wake, true);
}

// Lists run one after another: whoever lists second does so after the cursor was taken from
// the first, so nothing can fall between its rows and the stream.
let queue = Promise.resolve();

const inOrder = (task) => {
  const run = queue.then(task);
  queue = run.catch(() => {});
  return run;
};

const startStream = () => {
  // There is a cursor for as long as somebody wants to hear.
  if (stream || !cursor) return;
  const abort = new AbortController();
  stream = abort;
  follow(abort.signal).finally(() => {
    if (stream === abort) stream = null;
    startStream();
  });
};

const stopIfIdle = () => {
  if (subscriptions.size || listeners.size) return;
  stream?.abort();
  stream = null;
  cursor = null;
};

const failAll = (error) => {
  each(subscriptions, (subscription) => subscription.fail(error));
  each(listeners, ({ type, onError }) => tell(onError, error, `on('${type}')`));
  if (!error.retryable) {
    listeners.clear();
    stopIfIdle();
  }
};

const follow = async (signal) => {
  let renewed = null;
  for (let attempt = 0; !signal.aborted;) {
    let lived;
    try {
      await asParticipant((taken) => readStream(signal, () => {
        lived = true;
        attempt = 0;
        taken();
      }));
      // The server ended the stream in peace (a deploy, a restart): go on where it stopped.
      if (isIdle()) await nap(STREAM_ALIVE_MS);
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof AppError ? error : networkError(error);
      // A server with a new key knows no cursor of before; one that it has just given, it knows.
      if (failure.code === 'resync_required' || (failure.code === 'invalid_request' && cursor !== renewed)) {
        // It may be another visitor's now.
        await lookAgain();
        await resync(signal);
        renewed = cursor;
        // Nothing could be listed yet: the list that can be will start the next one.
        if (!cursor) return;
        continue;
      }
      // A living stream breaks off when a link is followed, too, and a session that ended under it is
      // replaced: only when it cannot be opened again is that told.
      if (!lived || !(failure.code === 'network' || isStale(failure))) {
        failAll(failure);
        if (!failure.retryable) return;
        if (failure.retryAfterMs) await sleep(failure.retryAfterMs, signal);
      }
    }
    // Once it is stopped, the waiting of the next one is not its own.
    if (signal.aborted) return;
    await nap(backoff(attempt++));
  }
};

// Until somebody looks at the page, or it is time to ask again.
const nap = (ms) => {
  const abort = new AbortController();
  reopen = () => abort.abort();
  heard = 0;
  return sleep(ms, abort.signal);
};

const readStream = async (signal, alive) => {
  const abort = new AbortController();
  const stop = () => abort.abort();
  let left;
  reopen = () => {
    left = true;
    stop();
  };
  signal.addEventListener('abort', stop, abort);
  let watchdog;
  const hear = () => {
    heard = Date.now();
    clearTimeout(watchdog);
    watchdog = setTimeout(stop, STREAM_DEAD_MS);
  };
  hear();
  try {
    const response = await fetchOnce('GET', 'feed', {
      query: { since: cursor }, headers: { accept: 'text/event-stream' }, signal: abort.signal,
    });
    // A page of somebody on the way would end like a stream in peace.
    if (!/event-st/.test(response.headers.get('content-type'))) throw await errorOf(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw networkError('the answer broke off');
      });
      if (done) return;
      hear();
      rest += value;
      if (rest.length > FRAME_MAX) throw networkError('the answer broke off');
      const frames = rest.split(/\r?\n\r?\n/);
      rest = frames.pop();
      try {
        for (const frame of frames) {
          const { id, event } = parsedFrame(frame);
          if (event) await onEvent(event);
          // Whoever comes after the last listener has gone begins anew.
          if (signal.aborted) return;
          // Only now: a cursor says that subscriptions have everything before it.
          if (!id) continue;
          cursor = id;
          alive();
          // A place without an event: there is no newer one.
          if (!event) caughtUp = abort;
        }
      } finally {
        each(subscriptions, (subscription) => subscription.settle());
      }
      if (caughtUp && isIdle()) return;
    }
  } catch (error) {
    if (!left) throw error;
    // What was left on purpose has not failed: the next one comes after the shortest wait.
    alive();
  } finally {
    caughtUp = null;
    clearTimeout(watchdog);
    stop();
  }
};

const parsedFrame = (frame) => {
  let id = null;
  let kind = null;
  const data = [];
  for (const line of frame.split(/\r?\n/)) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line);
    if (field === 'id') id = value;
    else if (field === 'event') kind = value;
    else if (field === 'data') data.push(value);
  }
  if (!data.length) return { id };
  const event = JSON.parse(data.join('\n'));
  if (kind === 'error' || event.error) throw new AppError(event.error || event);
  return { id: id || event.cursor, event };
};

const onEvent = async (event) => {
  if (event.type === 'app.deployed') await onDeployed();
  each(listeners, ({ type, callback }) => {
    if (event.type === `event.${type}`) report(callback, event.data, event);
  });
  for (const subscription of subscriptions) {
    if (subscription.collection === event.collection) subscription.apply(event);
  }
};

// What may be read and done may have changed. To others a cursor ends with what they may read; the
// owner's goes on, so the owner's rows are listed anew.
const onDeployed = async () => {
  abilities = null;
  if ((await session)?.role !== 'owner') return;
  each(subscriptions, (subscription) => subscription.begin());
};

const resync = (signal) => {
  // In its turn: a list that is under way may have begun at a place that is forgotten too.
  inOrder(() => { cursor = null; });
  each(subscriptions, (subscription) => subscription.begin());
  // Nothing to list, or nothing left: whoever only listens goes on from now.
  return inOrder(() => beginNow(signal, failAll));
};

// Does `task` until it is done, refused for good, or `signal` says that it is not wanted any more;
// `fail` is told each time.
const persist = async (signal, task, fail) => {
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      return await task();
    } catch (error) {
      fail(error);
      if (!error.retryable || signal.aborted) break;
      await sleep(error.retryAfterMs + backoff(attempt), signal);
    }
  }
  return null;
};

const beginNow = (signal, fail) => persist(signal, async () => {
  if (cursor || !listeners.size) return;
  const now = await call('GET', 'feed', { query: { wait: 0 } });
  if (!signal.aborted) cursor = now.cursor;
}, fail);
