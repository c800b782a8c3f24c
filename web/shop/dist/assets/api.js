// Talking to the server: calls with a deadline, the login, the request id of a click, and how long to wait between polls.
import { lang } from './text.js';

const token_key = 'seckill.token';
const buyer_key = 'seckill.buyer';
let demo = null;  // null: not known yet

// {status, body, retry_ms}. Throws only when no answer came (offline, deadline): whether it happened is then unknown.
export async function call(path, options = {}) {
  const headers = { 'Accept-Language': lang };
  if (options.body) headers['Content-Type'] = 'application/json';
  if (options.request_id) headers['Idempotency-Key'] = options.request_id;
  if (options.login && token()) headers.Authorization = 'Bearer ' + token();
  const stop = new AbortController();
  const deadline = setTimeout(() => stop.abort(), options.timeout ?? 8000);
  try {
    const reply = await fetch('/api/v1' + path, {
      method: options.method ?? 'GET', headers, signal: stop.signal, credentials: 'omit',
      cache: options.cache ?? 'default', body: options.body ? JSON.stringify(options.body) : undefined,
    });
    const body = await reply.json().catch(() => ({}));
    const seconds = Number(reply.headers.get('Retry-After'));
    return { status: reply.status, body, retry_ms: seconds > 0 ? Math.min(seconds, 120) * 1000 : 0 };
  } finally {
    clearTimeout(deadline);
  }
}

export const token = () => sessionStorage.getItem(token_key);
export const buyer = () => sessionStorage.getItem(buyer_key) ?? '';
export const in_demo = () => demo === true;

// The shop that embeds this page puts its own JWT under seckill.token. In a demo the server hands one out.
export async function login(name) {
  if (!name && token()) {
    demo = buyer().startsWith('demo:');
    return true;
  }
  const wanted = name || buyer().slice(5) || localStorage.getItem('seckill.name') || random_name();
  const answer = await call('/demo/logins', { method: 'POST', body: { buyer: wanted } });
  demo = answer.status === 200 || answer.status === 201;
  if (!demo) return false;
  sessionStorage.setItem(token_key, answer.body.token);
  sessionStorage.setItem(buyer_key, 'demo:' + answer.body.buyer);
  localStorage.setItem('seckill.name', answer.body.buyer);
  return true;
}

// The login ran out or was refused.
export async function login_again() {
  if (!in_demo()) { sessionStorage.removeItem(token_key); return false; }
  return login(buyer().slice(5));
}

export const name_shown = () => buyer().replace(/^demo:/, '');

function random_name() {
  return 'guest-' + random_hex(3);
}
function random_hex(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, '0')).join('');
}

// One click is one request id. It is kept, with exactly what was asked, until its ticket has ended: a reload, a second
// tab or a retry after a lost answer asks for the same ticket again instead of a second one.
const attempt_key = (sale, sku) => `seckill.attempt:${buyer()}:${sale}:${sku}`;
export function attempt(sale, sku) {
  try { return JSON.parse(localStorage.getItem(attempt_key(sale, sku))); } catch { return null; }
}
export function begin_attempt(sale, sku, body) {
  const known = attempt(sale, sku);
  if (known) return known;
  const made = { id: random_hex(16), body };
  localStorage.setItem(attempt_key(sale, sku), JSON.stringify(made));
  return made;
}
export const forget_attempt = (sale, sku) => localStorage.removeItem(attempt_key(sale, sku));

// Waiting between polls: what the server suggests, growing, with jitter so that a crowd does not come back in step,
// never sooner than Retry-After, and four times as long while nobody looks.
export function pause_ms(suggested, tries = 0, retry_ms = 0) {
  const grown = Math.min((suggested || 3000) * 1.4 ** tries, Math.max(8000, suggested || 0));
  return Math.max(retry_ms, grown) * (1 + Math.random() * 0.66) * (document.hidden ? 4 : 1);
}
