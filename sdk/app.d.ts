// Types of `window.app`, the SDK of an app's page (/reference/sdk.md of the site). An app's own file,
// GET /v1/apps/:id/types.d.ts, begins with these lines and then fills Collections, Events and Roles.

declare namespace Rookery {
  /** The data of each collection's rows, by the collection's name. */
  interface Collections {}
  /** The data of each custom event, by its type. */
  interface Events {}
  /** The custom roles, by name. */
  interface Roles {}

  /** Any data, where the manifest declares none. */
  type AnyData = { [member: string]: any };
  type CollectionName = [keyof Collections] extends [never] ? string : keyof Collections & string;
  type EventName = [keyof Events] extends [never] ? string : keyof Events & string;
  type RoleName = [keyof Roles] extends [never] ? string : keyof Roles & string;
  type DataOf<N> = N extends keyof Collections ? Collections[N] : AnyData;
  type EventDataOf<N> = N extends keyof Events ? Events[N] : AnyData;
  /** A JSON Merge Patch (RFC 7396): null removes a member. */
  type Patch<T> = { [K in keyof T]?: (T[K] extends unknown[] ? T[K] : Patch<T[K]> | T[K]) | Removed<T, K> };
  /** What removes a member, where a row does without it. */
  type Removed<T, K extends keyof T> = {} extends Pick<T, K> ? null : never;

  /** Who did something. */
  interface Principal {
    kind: 'agent' | 'human' | 'anonymous' | 'grant' | 'credential' | 'ingest' | 'system';
    id: string;
  }

  interface Row<T = AnyData> {
    key: string;
    data: T;
    /** Starts at 1 and rises by 1 with every write. */
    version: number;
    creator: Principal;
    editor: Principal;
    /** RFC 3339. */
    created_at: string;
    updated_at: string;
    /** Since when it is in the trash; `delete` answers it. */
    deleted_at?: string;
  }

  interface Page<T = AnyData> {
    items: Row<T>[];
    next_cursor: string | null;
    feed_cursor: string;
  }

  interface ListOptions {
    /** `{status: "open", n: {gte: 3}, or: [...]}` */
    filter?: AnyData;
    /** `-created_at,title` */
    sort?: string;
    limit?: number;
    cursor?: string | null;
  }

  type Change<T = AnyData> =
    | { type: 'sync' }
    | {
      type: 'row.created' | 'row.updated' | 'row.deleted' | 'row.restored' | 'row.purged' | 'row.hidden';
      key: string;
      row: Row<T>;
    };

  type Operation = 'read' | 'write' | 'update' | 'delete' | 'count';

  interface Collection<T = AnyData> {
    readonly name: string;
    list(options?: ListOptions): Promise<Page<T>>;
    get(key: string): Promise<Row<T>>;
    /** With a key that is taken: the row that is there. */
    create(data: T, options?: { key?: string; idempotencyKey?: string }): Promise<Row<T>>;
    /** Writes to the row whose unique field `field` has the same value, or creates one. */
    upsert(field: keyof T & string, data: T, options?: { idempotencyKey?: string }): Promise<Row<T>>;
    update(key: string, data: Patch<T>, options?: { ifMatch?: number; replace?: false }): Promise<Row<T>>;
    update(key: string, data: T, options: { ifMatch?: number; replace: true }): Promise<Row<T>>;
    delete(key: string, options?: { ifMatch?: number }): Promise<Row<T>>;
    count(): Promise<number>;
    /** Whether the visitor may do this: on `row`, or without one on any row at all. */
    can(operation: Operation, row?: Row<T> | null): Promise<boolean>;
    /** Calls back with all rows, at once and after every change. The answer ends it. Rows are not to be changed. */
    subscribe(
      callback: (rows: Row<T>[], changes: Change<T>[]) => void,
      options?: { onError?: (error: AppError) => void; onSync?: () => void },
    ): () => void;
  }

  /** A custom event as it is heard. */
  interface Event<T = AnyData> {
    seq: number;
    cursor: string;
    type: string;
    at: string;
    by: Principal;
    data: T;
  }

  /** The visitor. */
  interface Me {
    kind: 'anonymous' | 'human' | 'grant';
    /** As rows name it in `creator` and `editor`. */
    id: string;
    role: 'owner' | 'member' | 'anyone';
    custom_role: RoleName | null;
    app: { id: string; slug: string };
    created_at: string | null;
    expires_at: string | null;
  }

  interface AppError extends Error {
    name: 'AppError';
    code: string;
    /** The HTTP status; 0 if there was no answer. */
    status: number;
    hint: string;
    retryable: boolean;
    details: AnyData | null;
    required: string[] | null;
    requestId: string | null;
    /** How long to wait before the next try; 0 where the server does not say. */
    retryAfterMs: number;
  }

  interface App {
    collection<N extends CollectionName>(name: N): Collection<DataOf<N>>;
    readonly events: {
      send<N extends EventName>(
        type: N, ...data: {} extends EventDataOf<N> ? [data?: EventDataOf<N>] : [data: EventDataOf<N>]
      ): Promise<{ seq: number }>;
      /** The answer ends it. */
      on<N extends EventName>(
        type: N,
        callback: (data: EventDataOf<N>, event: Event<EventDataOf<N>>) => void,
        options?: { onError?: (error: AppError) => void },
      ): () => void;
    };
    /** Who the visitor is; without a session it becomes an anonymous participant. */
    readonly me: Promise<Me>;
    /** Calls back with who the visitor is, at once and whenever that changes; null is nobody, until the next call. */
    onAuth(callback: (me: Me | null) => void, options?: { onError?: (error: AppError) => void }): () => void;
    /** Leaves the page to sign in, and comes back to `returnTo`, a path of this app. */
    signIn(options?: { returnTo?: string }): Promise<never>;
    signOut(): Promise<void>;
    readonly AppError: { new (...args: never[]): AppError; readonly prototype: AppError };
  }
}

declare const app: Rookery.App;
/** The same as `app`, for a page that has an `app` of its own. */
declare const rookery: Rookery.App;
interface Window {
  app: Rookery.App;
  readonly rookery: Rookery.App;
}
