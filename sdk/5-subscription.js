// A subscription: the rows of one collection, kept in line by list and feed.
//
// Events are applied in the order of the feed. While the rows are listed all of them wait, and while
// one row is read those of that row; what was read is the state, and they come on top. Versions tell
// what it has of them already. So nothing is put over something newer, whatever takes long.

// Where events leave more rows to be read than a list takes pages, a list reads them.
const READS_MAX = ROWS_MAX / PAGE_ROWS;

// All rows of a collection, and the place in the feed where reading them began: each page tells it.
const readAll = async (collection, isWanted, attempts = ATTEMPTS_MAX) => {
  const rows = new Map();
  let page;
  try {
    do {
      page = await call('GET', pathOf(collection), {
        query: { limit: PAGE_ROWS, cursor: page?.next_cursor },
      });
      for (const row of page.items) rows.set(row.key, row);
    } while (page.next_cursor && rows.size < ROWS_MAX && isWanted());
  } catch (error) {
    // What the visitor may read has changed since the page before: its cursor leads on no more.
    if (!page || error.code !== 'invalid_request' || attempts === 1) throw error;
    return readAll(collection, isWanted, attempts - 1);
  }
  if (page.next_cursor && isWanted()) {
    throw new AppError({
      code: 'too_many_rows', message: `${collection} has more than ${ROWS_MAX} rows`,
      hint: 'Read it with list().',
    });
  }
  return { rows, from: page.feed_cursor };
};

const order = (a, b) => (a > b) - (a < b);

class Subscription {
  ending = new AbortController();
  reading = false;

  constructor(collection, callback, options) {
    const { onError, onSync } = optionsOf(options, 'onError', 'onSync');
    Object.assign(this, { collection, callback: callable(callback), onError, onSync });
    this.hold();
  }

  // Forgets the rows: from here on events wait for a list.
  hold() {
    this.rows = null;
    this.waiting = [];
    // The rows to be read, each with the event that did not tell it whole and those after it.
    this.unread = new Map();
    this.changes = [];
    // The connection (`caughtUp`) for which the page was told that its rows are in line.
    this.synced = null;
  }

  begin() {
    this.hold();
    // Each attempt in its turn: what cannot be listed now keeps nobody else waiting.
    this.insist(() => inOrder(() => this.list()));
  }

  insist(task) {
    return persist(this.ending.signal, task, (error) => this.fail(error));
  }

  async list() {
    this.hold();
    const { waiting } = this;
    const isWanted = () => this.waiting === waiting;
    const { rows, from } = await readAll(this.collection, isWanted);
    if (!isWanted()) return;
    this.rows = rows;
    if (!cursor) cursor = from;
    for (const event of waiting) this.apply(event);
    this.changes = [{ type: 'sync' }];
    this.settle();
    startStream();
  }

  apply(event) {
    const { key, version, type, data, by, at } = event;
    const isGone = /^row\.(hidden|deleted|purged)$/.test(type);
    // Of a row that is gone nothing has to be read any more.
    if (isGone) this.unread.delete(key);
    const waiting = this.rows ? this.unread.get(key) : this.waiting;
    if (waiting) {
      waiting.push(event);
      return;
    }
    const known = this.rows.get(key);
    if (isGone) {
      // One that is hidden is so in whichever version.
      if (!(known?.version > version)) this.change(type, key, null);
    } else if (/^row\./.test(type) && !(known?.version >= version)) {
      const row = { ...known, key, data, version, editor: by, updated_at: at };
      if (type === 'row.created') Object.assign(row, { creator: by, created_at: at });
      if (data && row.creator) this.change(type, key, row);
      // It came into sight, back from the trash, or has changed since: the event does not tell all.
      else this.unread.set(key, [event]);
    }
  }

  // Reads what events did not tell, one row after another.
  async read() {
    if (this.reading) return;
    this.reading = true;
    while (this.unread.size) {
      const [[key, waiting]] = this.unread;
      const row = await this.insist(() => rowCall('GET', this.collection, key).catch((error) => {
        if (error.code !== 'row_not_found') throw error;
      }));
      // It may be gone meanwhile, or a list have begun.
      if (this.unread.get(key) !== waiting) continue;
      this.unread.delete(key);
      const [{ type }, ...later] = waiting;
      this.change(row ? type : 'row.hidden', key, row);
      for (const event of later) this.apply(event);
      this.settle();
    }
    this.reading = false;
  }

  change(type, key, row) {
    const known = this.rows.get(key);
    if (row) this.rows.set(key, row);
    else if (!this.rows.delete(key)) return;
    this.changes.push({ type, key, row: row || known });
  }

  // Tells the page what has changed, and whether that is all.
  settle() {
    if (this.changes.length) {
      const rows = [...this.rows.values()]
        .sort((a, b) => order(a.created_at, b.created_at) || order(a.key, b.key));
      report(this.callback, rows, this.changes.splice(0));
    }
    if (this.unread.size > READS_MAX) this.begin();
    else if (this.unread.size) this.read();
    else if (this.rows && caughtUp && this.synced !== caughtUp) {
      this.synced = caughtUp;
      report(this.onSync);
    }
  }

  fail(error) {
    if (this.ending.signal.aborted) return;
    this.synced = null;
    if (!error.retryable) this.end();
    tell(this.onError, error, `subscribe to ${this.collection}`);
  }

  end() {
    this.ending.abort();
    this.hold();
    subscriptions.delete(this);
    stopIfIdle();
  }
}

const subscribe = (collection, callback, options) => {
  const subscription = new Subscription(collection, callback, options);
  subscriptions.add(subscription);
  subscription.begin();
  return () => subscription.end();
};
