// Paints the page's state. Reads it, never changes it, and touches the document only where something differs.
import { lang, text, has, money, instant } from './text.js';
import { now } from './clock.js';

export const $ = (id) => document.getElementById(id);
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function put(node, value) { if (node.textContent !== value) node.textContent = value; }
function show(node, on) { if (node.hidden === on) node.hidden = !on; }
function attr(node, name, value) { if (node.getAttribute(name) !== value) node.setAttribute(name, value); }
const two = (n) => String(n).padStart(2, '0');

// The fixed sentences, once.
export function translate() {
  document.documentElement.lang = lang;
  for (const node of document.querySelectorAll('[data-text]')) if (has(node.dataset.text)) put(node, text(node.dataset.text));
  put($('lang'), text('other_lang'));
  $('lang').lang = lang === 'en' ? 'zh-CN' : 'en';
}

function digits(node, parts) {
  while (node.children.length > parts.length * 2 - 1) node.lastElementChild.remove();
  while (node.children.length < parts.length * 2 - 1) {
    if (node.children.length) node.append(document.createElement('i'));
    node.append(document.createElement('b'));
  }
  parts.forEach((part, i) => {
    put(node.children[i * 2], part);
    if (i) put(node.children[i * 2 - 1], ':');
  });
}

// Only what changes with time; called up to ten times a second near the start.
export function paint_time(page) {
  const sale = page.sale;
  if (!sale) return;
  const before = now() < sale.starts_at;
  const left = (before ? sale.starts_at : sale.ends_at) - now();
  const over = left <= 0 || page.phase === 'ended';
  put($('count-label'), text(over ? 'ended' : page.phase === 'paused' ? 'paused' : before ? 'until_start' : 'until_end'));
  const close = before && left < 10000 && !calm.matches;
  // Rounded up: "00" is shown only when the moment has come.
  const seconds = over ? 0 : Math.ceil(left / 1000);
  const days = Math.floor(seconds / 86400);
  if (close && !over) {
    const tenths = Math.ceil(left / 100);
    digits($('count'), [two(Math.floor(tenths / 10)) + '.' + (tenths % 10)]);
  } else {
    const parts = [two(Math.floor(seconds / 3600) % 24), two(Math.floor(seconds / 60) % 60), two(seconds % 60)];
    digits($('count'), days ? [days + ' ' + text('days'), ...parts] : parts);
  }
  document.body.classList.toggle('soon', before && left < 10000);
  paint_wait(page);
  const order = page.ticket;
  if (order?.pay_before && !page.order_final) {
    const pay = Math.max(0, Math.ceil((order.pay_before - now()) / 1000));
    put($('order-left'), (pay >= 3600 ? Math.floor(pay / 3600) + ':' : '') + two(Math.floor(pay / 60) % 60) + ':' + two(pay % 60));
    $('order').classList.toggle('late', pay < 30);
  }
}

const grey = new Set(['loading', 'upcoming', 'sending', 'queued', 'won', 'done']);
const again = new Set(['busy', 'rate_limited', 'unknown', 'bad_token', 'rejected_by_risk', 'challenge_required', 'request_conflict',
  'failed', 'cancelled', 'expired']);

// Whether a click does anything now. The server alone decides what it gets.
export function clickable(page) {
  if (performance.now() < page.wait_until || grey.has(page.ui)) return false;
  return page.ui !== 'lost' || again.has(page.reason);
}

function button_text(page) {
  if (page.ui === 'upcoming') return text('upcoming_btn');
  if (page.ui === 'ready') return text('ready_' + page.sale.kind);
  if (page.ui === 'lost' || page.ui === 'error') {
    const left = Math.ceil((page.wait_until - performance.now()) / 1000);
    if (left > 0) return text('wait_btn', { n: left });
    if (page.reason === 'need_login') return text('login_btn');
    if (page.reason === 'lost_server') return text('offline_btn');
    const own = { sold_out: 'sold_out_btn', limit_reached: 'limit_btn', ended: 'ended_btn', paused: 'paused_btn', no_sale: 'ended_btn' };
    return text(own[page.reason] ?? 'again_btn');
  }
  const own = { sending: 'sending_btn', queued: 'queued_btn', won: 'won_btn', done: 'done_btn' };
  return text(own[page.ui] ?? 'loading');
}

function paint_wait(page) {
  put($('buy-text'), button_text(page));
  attr($('buy'), 'aria-disabled', String(!clickable(page)));
}

function sentence(page) {
  if (page.note) return text(page.note);
  if (page.ui === 'lost' || page.ui === 'error') {
    const key = { ended: 'say_ended', paused: 'say_paused', failed: 'say_failed', cancelled: 'say_cancelled', expired: 'say_expired' }[page.reason];
    return text(key ?? page.reason ?? '');
  }
  if (page.ui === 'queued') return text(page.ticket?.state === 'parked' ? 'say_parked' : 'say_queued');
  if (page.ui === 'done') return text(page.ticket?.amount_minor === 0 ? 'say_free' : 'say_paid');
  return has('say_' + page.ui) ? text('say_' + page.ui) : '';
}

export function paint(page) {
  const { sale, item, ticket } = page;
  attr(document.body, 'data-ui', page.ui);
  attr($('main'), 'aria-busy', String(page.ui === 'loading' || page.ui === 'sending'));
  put($('say'), sentence(page));
  if (sale) paint_sale(page, sale, item);
  show($('who'), Boolean(page.who));
  put($('who'), page.who ?? '');
  const held = Boolean(ticket) && ['won', 'done'].includes(page.ui);
  show($('order'), held);
  show($('fields'), !held && $('fields').children.length > 0);
  if (ticket) paint_order(page, ticket);
  paint_orders(page);
  show($('next'), Boolean(page.next));
  if (page.next) {
    put($('next-link'), text('next', { t: page.next.title }));
    attr($('next-link'), 'href', '/?sale=' + encodeURIComponent(page.next.sale));
  }
  paint_time(page);
  paint_wait(page);
}

function paint_sale(page, sale, item) {
  document.title = item.title + ' · ' + sale.title;
  put($('sale-title'), sale.title);
  attr(document.body, 'data-kind', sale.kind);
  attr($('art'), 'src', `/assets/${['coupon', 'slot', 'entry'].includes(sale.kind) ? sale.kind : 'goods'}.svg`);
  put($('kind'), text(sale.kind));
  put($('title'), item.title);
  put($('price'), item.price_minor ? money(item.price_minor, sale.currency) : text('free'));
  const saved = (item.list_price_minor || 0) - item.price_minor;
  show($('list-price'), saved > 0);
  show($('saving'), saved > 0);
  if (saved > 0) {
    put($('list-price'), money(item.list_price_minor, sale.currency));
    put($('saving'), text('saving', { n: money(saved, sale.currency) }));
  }
  const limit = 'limit_' + sale.kind;
  put($('limit'), text(has(limit) ? limit : 'limit', { n: item.limit }));
  put($('when'), text('when', { t: instant(sale.starts_at) }));
  paint_stock(page, item);
  for (const chip of $('items').children) {
    const own = chip.dataset.sku === item.sku;
    attr(chip, 'aria-checked', String(own));
    attr(chip, 'tabindex', own ? '0' : '-1');
  }
}

function paint_stock(page, item) {
  const stock = page.stock;
  const started = stock && page.phase !== 'not_started';
  const about = !started ? item.total : stock.sold_out ? 0 : stock.about;
  put($('stock'), !started ? text('total', { n: item.total }) : about > 0 ? text('about', { n: about }) : text('sold_out_short'));
  $('stock-fill').style.width = Math.min(100, (100 * about) / Math.max(1, item.total)) + '%';
  $('stock-box').classList.toggle('few', about * 5 <= item.total);
}

function paint_order(page, ticket) {
  put($('order-head'), text(page.ui === 'done' ? 'order_head_paid' : 'order_head'));
  put($('order-ticket'), ticket.ticket);
  put($('order-amount'), ticket.amount_minor ? money(ticket.amount_minor, ticket.currency ?? page.sale.currency) : text('free'));
  const open = page.ui === 'won';
  show($('order-left'), open && Boolean(ticket.pay_before));
  show($('order-left-label'), open && Boolean(ticket.pay_before));
  show($('pay'), open && page.can_pay);
  show($('cancel'), open);
  for (const id of ['pay', 'cancel']) $(id).disabled = Boolean(page.ending);
}

function paint_orders(page) {
  const orders = page.orders ?? [];
  show($('mine'), orders.length > 0);
  const list = $('orders');
  while (list.children.length > orders.length) list.lastElementChild.remove();
  orders.forEach((order, i) => {
    const row = list.children[i] ?? list.appendChild(document.createElement('li'));
    while (row.children.length < 3) row.append(document.createElement('span'));
    put(row.children[0], order.ticket);
    put(row.children[1], order.amount_minor ? money(order.amount_minor, order.currency) : text('free'));
    put(row.children[2], text(order.state));
    attr(row.children[2], 'class', 'state ' + order.state);
  });
}

// The item's chips and the fields an order may carry; rebuilt only when another sale or item is shown.
export function build_choices(page, choose) {
  const { sale, item } = page;
  const box = $('items');
  box.replaceChildren();
  show(box, sale.items.length > 1);
  for (const one of sale.items) {
    const chip = document.createElement('button');
    Object.assign(chip, { type: 'button', textContent: one.title });
    chip.setAttribute('role', 'radio');
    chip.dataset.sku = one.sku;
    chip.addEventListener('click', () => choose(one));
    box.append(chip);
  }
  const form = $('fields');
  form.replaceChildren();
  if (item.limit > 1) form.append(field('quantity', { type: 'number', min: 1, max: item.limit, value: 1, inputMode: 'numeric', required: true }));
  const fill = { receiver: 'name', name: 'name', phone: 'tel', address: 'street-address' };
  for (const name of item.order_fields ?? []) form.append(field(name, { maxLength: 255, autocomplete: fill[name] ?? 'off', placeholder: text('optional') }));
}

function field(name, props) {
  const label = document.createElement('label');
  const caption = document.createElement('span');
  caption.textContent = text(name);
  const input = Object.assign(document.createElement('input'), { name, ...props });
  label.append(caption, input);
  return label;
}
