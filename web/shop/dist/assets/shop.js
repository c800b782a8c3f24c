// The buyer's page: what state it is in and what moves it on. One click is one request id (api.js); the countdown is
// the server's (clock.js); painting is view.js. States: loading → upcoming → ready → sending → queued → won → done,
// or lost / error with a reason. Nothing is sent before the start but one look at the buyer's own state.
import { text, lang } from './text.js';
import * as clock from './clock.js';
import * as api from './api.js';
import { $, translate, paint, paint_time, clickable, build_choices } from './view.js';

const page = { ui: 'loading', reason: '', note: '', phase: 'not_started', wait_until: 0, sale: null, item: null, stock: null, ticket: null };
const timers = {};
const closed = ['cancelled', 'expired', 'failed', 'refunded'];

function later(name, ms, task) {
  clearTimeout(timers[name]);
  timers[name] = setTimeout(task, ms);
}
function go(ui, reason = '', wait_ms = 0) {
  page.ui = ui;
  page.reason = reason;
  page.note = '';
  page.wait_until = wait_ms ? performance.now() + wait_ms : 0;
  paint(page);
}
const path = (rest = '') => `/sales/${encodeURIComponent(page.sale.sale)}${rest}`;
const item_path = (rest) => path(`/items/${encodeURIComponent(page.item.sku)}${rest}`);

// ---- loading -------------------------------------------------------------------------------------------------------

async function boot() {
  go('loading');
  try {
    await clock.sync(5);
    if (!(await load_sale())) return go('lost', 'no_sale');
  } catch {
    go('error', 'lost_server', 2000);
    return;
  }
  await log_in().catch(() => {});
  settle();
  poll_stock();
}

async function load_sale() {
  const asked = new URLSearchParams(location.search).get('sale');
  let sale = null;
  if (asked) {
    const answer = await api.call('/sales/' + encodeURIComponent(asked));
    if (answer.status === 200) sale = answer.body;
  }
  if (!sale) {
    const answer = await api.call('/sales');
    if (answer.status !== 200) throw new Error('sales');
    const sales = answer.body.sales;
    sale = sales.find((one) => one.ends_at > clock.now() && one.phase !== 'ended') ?? sales[0];
  }
  if (!sale?.items?.length) return false;
  page.sale = sale;
  show_item(sale.items.find((one) => one.sku === page.item?.sku) ?? sale.items[0]);
  return true;
}

function show_item(item) {
  page.item = item;
  page.stock = null;
  build_choices(page, choose_item);
}

// Another item of the sale: its own ticket, its own request id.
function choose_item(item) {
  if (page.ui === 'sending' || item === page.item) return;
  show_item(item);
  page.ticket = null;
  go('loading');
  settle();
  prefetch();
  poll_stock();
}

async function log_in(name) {
  page.logged_in = await api.login(name);
  page.can_pay = api.in_demo();
  page.who = page.logged_in ? api.name_shown() || null : null;
  if (page.logged_in) plan_prefetch();
}

// One look at "did I already take part", at a random moment of the last minute, so that a crowd is spread.
function plan_prefetch() {
  const until = page.sale.starts_at - clock.now();
  later('me', until > 60000 ? until - 5000 - Math.random() * 55000 : 0, () => prefetch());
}

async function prefetch(again = true) {
  const item = page.item;
  try {
    const answer = await api.call(path('/me'), { login: true });
    if (answer.status === 401) {
      page.logged_in = await api.login_again();
      return page.logged_in && again ? prefetch(false) : settle();
    }
    if (answer.status !== 200 || item !== page.item) return;
    const mine = answer.body.items?.find((one) => one.sku === item.sku);
    page.can_buy = mine?.can_buy;
    const live = mine?.tickets?.filter((one) => !closed.includes(one.order_state ?? one.state)) ?? [];
    if (mine?.tickets?.length) load_orders();
    if (['sending', 'queued'].includes(page.ui)) return;
    if (live.length) watch(live.at(-1).ticket, 0);  // also when it was bought on another device
    else if (api.attempt(page.sale.sale, item.sku)) ask();
  } catch { /* the click works without it */ }
}

// ---- time and phase ------------------------------------------------------------------------------------------------

function phase() {
  const now = clock.now();
  if (now >= page.sale.ends_at) return 'ended';
  if (now < page.sale.starts_at) return 'not_started';
  const told = page.stock?.phase;
  return told === 'paused' || told === 'ended' ? told : 'open';
}

// Brings a page that has no ticket to where the phase puts it.
function settle() {
  const is = phase();
  page.phase = is;
  if (page.ticket || page.ui === 'sending' || page.ui === 'queued') return paint(page);
  const note = page.note;
  if (!page.logged_in) return go('error', 'need_login');
  if (is === 'not_started') go('upcoming');
  else if (is === 'open') go(page.stock?.sold_out ? 'lost' : 'ready', page.stock?.sold_out ? 'sold_out' : '');
  else go('lost', is);
  if (note === 'back' && page.ui === 'ready') { page.note = note; paint(page); }
  if (is === 'ended') look_for_next();
}

function tick() {
  if (page.sale && clock.ready()) {
    const left = page.sale.starts_at - clock.now();
    if (phase() !== page.phase) {
      settle();
      if (page.phase === 'open') later('stock', 500 + Math.random() * 2500, poll_stock);
    }
    if (page.ui === 'upcoming' && left < 10000 && !page.note) { page.note = 'say_soon'; paint(page); }
    if (left < 15000 && left > 12000 && !page.checked) { page.checked = true; clock.sync(3); }
    paint_time(page);
  }
  later('tick', page.ui === 'upcoming' && page.sale.starts_at - clock.now() < 11000 ? 50 : 250, tick);
}

// Before the start the sale itself is read now and then (it may be moved); afterwards the displayed stock.
async function poll_stock() {
  let wait = api.pause_ms(page.sale.poll_ms);
  try {
    if (page.phase === 'not_started') {
      const answer = await api.call(path());
      if (answer.status === 200 && answer.body.version !== page.sale.version) {
        page.sale = answer.body;
        show_item(page.sale.items.find((one) => one.sku === page.item.sku) ?? page.sale.items[0]);
        settle();
      }
      const left = page.sale.starts_at - clock.now();
      wait = left > 40000 ? 30000 * (0.8 + Math.random() * 0.4) : Math.max(0, left) + 300 + Math.random() * 2500;
    } else {
      const item = page.item;
      const answer = await api.call(item_path('/stock'));
      wait = api.pause_ms(answer.body.poll_ms, 0, answer.retry_ms);
      if (answer.status === 200 && item === page.item) take_stock(answer.body);
    }
  } catch { wait = api.pause_ms(6000); }
  later('stock', wait, poll_stock);
}

function take_stock(stock) {
  const back = page.reason === 'sold_out' && !stock.sold_out;
  const resumed = page.reason === 'paused' && stock.phase === 'open';
  page.stock = stock;
  const was = page.phase;
  page.phase = phase();
  const idle = page.ui === 'ready' || (page.ui === 'lost' && ['sold_out', 'paused', 'ended'].includes(page.reason));
  if (idle && !page.ticket && (back || resumed || page.ui === 'ready' || was !== page.phase)) {
    if (back) page.note = 'back';
    settle();
  } else paint(page);
}

async function look_for_next() {
  try {
    const answer = await api.call('/sales');
    page.next = answer.body.sales?.find((one) => one.sale !== page.sale.sale && one.ends_at > clock.now() && one.phase !== 'ended');
    paint(page);
  } catch { /* later */ }
  if (!page.next) later('next', api.pause_ms(10000), look_for_next);
}

// ---- the click -----------------------------------------------------------------------------------------------------

function on_buy() {
  if (!clickable(page)) return;
  if (page.reason === 'lost_server') return boot();
  if (page.reason === 'need_login') return open_login();
  const unsure = page.ui !== 'ready' && api.attempt(page.sale.sale, page.item.sku);
  return unsure ? ask(true) : send();
}

function order_wanted() {
  const form = $('fields');
  if (!form.reportValidity()) return null;
  const given = Object.fromEntries([...new FormData(form)].map(([key, value]) => [key, value.trim()]));
  const quantity = Number(given.quantity ?? 1);
  delete given.quantity;
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
  return Object.keys(fields).length ? { quantity, fields } : { quantity };
}

async function send(logged_in_again = false) {
  const wanted = order_wanted();
  if (!wanted) return;
  const { id, body } = api.begin_attempt(page.sale.sale, page.item.sku, wanted);
  page.ticket = null;
  go('sending');
  let answer;
  try {
    answer = await api.call(item_path('/purchases'), { method: 'POST', login: true, request_id: id, body });
  } catch {
    return go('error', 'unknown', 1000);
  }
  if (answer.status === 401 && !logged_in_again && (await api.login_again().catch(() => false))) return send(true);
  take_answer(answer);
}

function take_answer({ status, body, retry_ms }) {
  if (status === 200 || status === 202) return take(body, 0);
  const reason = body.reason;
  if (status === 401) { page.logged_in = false; return go('error', 'need_login'); }
  if (reason === 'busy' || reason === 'rate_limited') {
    if (body.ticket) { go('queued'); return watch(body.ticket, 0, retry_ms || 1000); }
    return go('lost', reason, (retry_ms || 1000) * (1 + Math.random() * 0.5));
  }
  if (status >= 500 || !reason) return go('error', 'unknown', retry_ms || 2000);
  if (['bad_token', 'rejected_by_risk', 'challenge_required', 'request_conflict'].includes(reason)) return ask(false, reason);
  // A plain refusal: there is no ticket under this id, so the next click is a new request.
  api.forget_attempt(page.sale.sale, page.item.sku);
  if (reason === 'not_started') {
    clock.sync(3, true).then(settle);
    go('upcoming');
    page.note = 'not_started';
    return paint(page);
  }
  if (reason === 'sold_out' && page.stock) page.stock.sold_out = true;
  go('lost', reason);
  const held = (body.tickets ?? []).at(-1);
  if (held) watch(held.ticket ?? held, 0);
  if (reason === 'ended') look_for_next();
}

// The outcome first; only when the server has no record is the same request sent again.
async function ask(then_send = false, otherwise = '') {
  const known = api.attempt(page.sale.sale, page.item.sku);
  if (!known) return then_send ? send() : settle();
  if (then_send) go('sending');
  try {
    const answer = await api.call(item_path('/purchases?request_id=' + encodeURIComponent(known.id)), { login: true });
    if (answer.status === 200) return take(answer.body, 0);
    if (answer.status === 404 && answer.body.reason === 'no_record') {
      if (then_send) return send();
      api.forget_attempt(page.sale.sale, page.item.sku);
      return otherwise ? go('lost', otherwise, 2000) : undefined;
    }
    if (then_send || otherwise) go('error', 'unknown', answer.retry_ms || 3000);
  } catch { go('error', 'unknown', 3000); }
}

// ---- the ticket ----------------------------------------------------------------------------------------------------

// What is known of the ticket now; asks again until it has ended.
function take(body, tries, retry_ms = 0) {
  page.ticket = { ...(page.ticket?.ticket === body.ticket ? page.ticket : {}), ...body };
  const state = body.state === 'ordered' ? body.order_state ?? 'ordered' : body.state;
  page.order_final = [...closed, 'paid'].includes(state);
  if (page.order_final) {
    api.forget_attempt(page.sale.sale, page.item.sku);
    clearTimeout(timers.ticket);
    load_orders();
    if (state === 'paid') return go('done');
    page.ticket = null;
    const open = phase() === 'open';
    go('lost', open ? state : phase());
    page.note = 'say_' + (state === 'failed' && body.reason === 'limit_reached' ? 'failed' : state);
    return paint(page);
  }
  const ui = state === 'awaiting_payment' || state === 'closing' ? 'won' : 'queued';
  if (ui === page.ui) paint(page);
  else go(ui);
  if (ui === 'won' && tries === 0) load_orders();
  watch(body.ticket, tries, retry_ms, state === 'ordered' ? 1 : body.poll_ms);
}

function watch(ticket, tries, retry_ms = 0, poll_ms = 1) {
  const item = page.item;
  const due = page.ticket?.pay_before ? page.ticket.pay_before - clock.now() + 700 : Infinity;
  const pause = poll_ms === 1 ? retry_ms : api.pause_ms(poll_ms ?? 3000, tries, retry_ms);
  later('ticket', due > 0 ? Math.min(pause, due) : pause, async () => {
    try {
      const answer = await api.call(item_path('/tickets/' + encodeURIComponent(ticket)), { login: true });
      if (item !== page.item) return;
      if (answer.status === 200) return take(answer.body, tries + 1, answer.retry_ms);
      if (answer.status === 404) return go('error', 'unknown', 2000);
      if (answer.status === 401 && !(await api.login_again())) return go('error', 'need_login');
      watch(ticket, tries + 1, answer.retry_ms, 3000);
    } catch { watch(ticket, tries + 1, 0, 3000); }
  });
}

async function end(what) {
  if (!page.ticket || (what === 'cancel' && !confirm(text('cancel_ask')))) return;
  page.ending = true;
  paint(page);
  const ticket = page.ticket.ticket;
  try {
    const answer = await api.call(`/orders/${encodeURIComponent(ticket)}/${what}`, { method: 'POST', login: true });
    if (answer.status !== 200) page.note = answer.body.reason === 'too_late' ? 'pay_late' : 'pay_failed';
  } catch { page.note = 'pay_failed'; }
  page.ending = false;
  paint(page);
  watch(ticket, 0);  // what became of it is the server's word, also after a lost answer
}

async function load_orders() {
  try {
    const answer = await api.call(`/orders?sale=${encodeURIComponent(page.sale.sale)}&limit=5`, { login: true });
    if (answer.status === 200) page.orders = answer.body.orders;
    paint(page);
  } catch { /* shown next time */ }
}

// ---- wiring --------------------------------------------------------------------------------------------------------

function open_login() {
  $('login-name').value = api.name_shown();
  $('login').showModal();
}
$('buy').addEventListener('click', on_buy);
$('pay').addEventListener('click', () => end('pay'));
$('cancel').addEventListener('click', () => end('cancel'));
$('fields').addEventListener('submit', (event) => event.preventDefault());
$('who').addEventListener('click', () => api.in_demo() && open_login());
$('login-close').addEventListener('click', () => $('login').close());
$('login-form').addEventListener('submit', async () => {
  const name = $('login-name').value.trim();
  if (!name) return;
  Object.assign(page, { ticket: null, orders: [], ui: 'loading', note: '' });
  clearTimeout(timers.ticket);
  await log_in(name).catch(() => {});
  settle();
});
$('lang').addEventListener('click', () => {
  sessionStorage.setItem('seckill.lang', lang === 'en' ? 'zh-CN' : 'en');
  const here = new URL(location.href);
  here.searchParams.delete('lang');
  location.replace(here);
});
$('items').addEventListener('keydown', (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = page.sale.items;
  const next = all[(all.indexOf(page.item) + step + all.length) % all.length];
  choose_item(next);
  $('items').querySelector('[aria-checked=true]')?.focus();
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden || !page.sale || !page.ticket || page.order_final) return;
  watch(page.ticket.ticket, 0);
});

translate();
tick();
boot();
