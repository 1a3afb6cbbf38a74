// Who am I: one participant session for all calls, made when the first call needs it.

let session = null;

const isStale = (error) => error.code === 'participant_token_invalid';

const openSession = async (renew) => {
  if (!renew) {
    const found = await withRetries(true, () => exchange('GET', 'session')).catch((error) => {
      if (error.status === 401) return null;
      throw error;
    });
    if (found && found.id) return found;
  }
  token = null;
  const made = await withRetries(true, () => exchange('POST', 'session', { body: {} }));
  const { token: secret, ...me } = made || {};
  if (SANDBOXED) token = secret || null;
  return me;
};

// One session for all calls that run at once. A failed attempt is not kept.
const participant = (stale) => {
  if (session && session !== stale) return session;
  const mine = openSession(Boolean(stale)).catch((error) => {
    if (session === mine) session = null;
    throw error;
  });
  session = mine;
  return mine;
};

// Runs `send` as a participant; a token that is no longer valid is replaced once.
const asParticipant = async (send) => {
  const used = participant();
  await used;
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof AppError) || !isStale(error)) throw error;
    await participant(used);
    return send();
  }
};

const call = (method, path, options = {}) => asParticipant(() => withRetries(
  method === 'GET' || Boolean(options.headers && options.headers['idempotency-key']),
  () => exchange(method, path, options),
));
