// Solves one proof of work (the ALTCHA protocol) in a worker of the page: given {salt, challenge,
// max}, it posts the number, or null. Served as /s/solver.js and loaded by the SDK only where a
// collection asks for a challenge. SHA-256 is written out because a digest of crypto.subtle costs a
// task each, and insecure origins have none.
const K = new Uint32Array(64);
const H = new Uint32Array(8);
for (let n = 2, found = 0; found < 64; n += 1) {
  let prime = true;
  for (let d = 2; d * d <= n; d += 1) if (n % d === 0) { prime = false; break; }
  if (!prime) continue;
  const fraction = (x) => (x - Math.floor(x)) * 2 ** 32;
  if (found < 8) H[found] = fraction(Math.sqrt(n));
  K[found] = fraction(Math.cbrt(n));
  found += 1;
}
const W = new Uint32Array(64);
const rotate = (x, n) => (x >>> n) | (x << (32 - n));
// Mixes the 64 bytes at `at` into the state.
const mix = (state, view, at) => {
  for (let i = 0; i < 16; i += 1) W[i] = view.getUint32(at + i * 4);
  for (let i = 16; i < 64; i += 1) {
    const a = W[i - 15];
    const b = W[i - 2];
    W[i] = W[i - 16] + W[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)) +
      (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
      ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
    const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
      ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d;
  state[4] += e; state[5] += f; state[6] += g; state[7] += h;
};
onmessage = ({ data: { salt, challenge, max } }) => {
  const wanted = Uint32Array.from(challenge.match(/.{8}/g), (hex) => parseInt(hex, 16));
  const prefix = new TextEncoder().encode(salt);
  // The whole blocks of the salt are the same for every number, so they are mixed in once.
  const whole = prefix.length & ~63;
  for (let at = 0; at < whole; at += 64) mix(H, new DataView(prefix.buffer), at);
  const rest = prefix.subarray(whole);
  const bytes = new Uint8Array(192);
  const view = new DataView(bytes.buffer);
  bytes.set(rest);
  for (let number = 0; number <= max; number += 1) {
    const digits = String(number);
    const length = rest.length + digits.length;
    const end = (length + 72) & ~63;
    bytes.fill(0, length, end);
    for (let i = 0; i < digits.length; i += 1) bytes[rest.length + i] = digits.charCodeAt(i);
    bytes[length] = 0x80;
    view.setUint32(end - 4, (whole + length) * 8);
    const state = Uint32Array.from(H);
    for (let at = 0; at < end; at += 64) mix(state, view, at);
    if (state.every((word, i) => word === wanted[i])) {
      postMessage(number);
      return;
    }
  }
  postMessage(null);
};
