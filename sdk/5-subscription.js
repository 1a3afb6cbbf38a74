// A subscription: the rows of one collection, kept in line by list and feed.

class Subscription {
  constructor(collection, callback, options) {
    const { onError, onSync } = optionsOf(options, 'onError', 'onSync');
    this.collection = collection;
    this.callback = callable(callback);
    this.onError = onError;
    this.onSync = onSync;
    this.active = true;
    this.rows = null;
    this.early = [];
  }

  begin(signal) {
    return persist(() => this.active && !(signal && signal.aborted), () => this.list(),
      (error) => this.fail(error), signal);
  }

  // Reads all rows and makes them the state. What the stream brought meanwhile comes on top;
  // versions say what is newer.
  async list() {
    const rows = new Map();
    this.early = [];
    this.rows = null;
    let page = null;
    let from = null;
    do {
      page = await call('GET', pathOf(this.collection), {
        query: { limit: PAGE_ROWS, cursor: page && page.next_cursor },
      });
      from = from || page.feed_cursor;
      for (const row of page.items) rows.set(row.key, row);
    } while (page.next_cursor && rows.size < ROWS_MAX && this.active);
    if (!this.active) return;
    if (page.next_cursor) {
      throw new AppError({
        code: 'too_many_rows', message: `${this.collection} has more than ${ROWS_MAX} rows`,
        hint: 'subscribe() keeps a whole collection; read a larger one with list().',
      });
    }
    this.rows = rows;
    if (!cursor) cursor = from;
    for (const event of this.early.splice(0)) await this.apply(event);
    this.deliver([{ type: 'sync' }]);
  }

  // Applies one event and tells what it changed, if it changed anything.
  async apply(event) {
    if (!this.active) return null;
    if (!this.rows) {
      this.early.push(event);
      return null;
    }
    const { key, version, type } = event;
    const known = this.rows.get(key);
    if (type === 'row.hidden' || type === 'row.deleted' || type === 'row.purged') {
      if (!known || known.version > version) return null;
      this.rows.delete(key);
      return { type, key, row: known };
    }
    if (!type.startsWith('row.') || (known && known.version >= version)) return null;
    let row = { ...known, key, data: event.data, version, editor: event.by, updated_at: event.at };
    if (type === 'row.created' && event.data) {
      row.creator = event.by;
      row.created_at = event.at;
    } else if (!known || !event.data) {
      // It came into sight, back from the trash, or has changed since: the event does not tell all.
      row = await rowCall('GET', this.collection, key).catch((error) => {
        if (error.code === 'row_not_found') return null;
        throw error;
      });
      if (!row) return this.rows.delete(key) ? { type, key, row: known } : null;
    }
    if (!this.active) return null;
    this.rows.set(key, row);
    return { type, key, row };
  }

  deliver(changes) {
    if (!this.active || !this.rows) return;
    const rows = Array.from(this.rows.values()).sort((a, b) => (
      a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1
        : a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    report(this.callback, rows, changes);
  }

  inSync() {
    if (this.active && this.rows) report(this.onSync);
  }

  fail(error) {
    if (!this.active) return;
    if (!error.retryable) this.end();
    tell(this.onError, error, `subscribe to ${this.collection}`);
  }

  end() {
    this.active = false;
    subscriptions.delete(this);
    stopIfIdle();
  }
}

const subscribe = (collection, callback, options) => {
  const subscription = new Subscription(collection, callback, options);
  inOrder(async () => {
    if (subscription.active) subscriptions.add(subscription);
    await subscription.begin();
    if (!subscription.active) return;
    if (caughtUp) subscription.inSync();
    startStream();
  });
  return () => subscription.end();
};
