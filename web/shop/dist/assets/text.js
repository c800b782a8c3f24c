// The language and its sentences: zh-CN (default) or en, each a file of its own so that a phone loads one.
function choose() {
  const asked = new URLSearchParams(location.search).get('lang');
  for (const tag of [asked, sessionStorage.getItem('seckill.lang'), ...(navigator.languages ?? [navigator.language])]) {
    if (/^zh\b/i.test(tag ?? '')) return 'zh-CN';
    if (/^en\b/i.test(tag ?? '')) return 'en';
  }
  return 'zh-CN';
}
export const lang = choose();
async function sentences(tries) {
  try {
    const reply = await fetch(`/assets/${lang}.json`);
    if (reply.ok) return await reply.json();
  } catch { /* once more */ }
  if (!tries) return {};
  await new Promise((done) => setTimeout(done, 500));
  return sentences(tries - 1);
}
const table = await sentences(3);

export const has = (key) => Object.hasOwn(table, key);
export function text(key, values = {}) {
  return (table[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}
export function money(minor, currency) {
  const whole = minor % 100 === 0;
  return new Intl.NumberFormat(lang, { style: 'currency', currency: currency || 'CNY', currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: whole ? 0 : 2, maximumFractionDigits: 2 }).format(minor / 100);
}
export function instant(ms) {
  return new Intl.DateTimeFormat(lang, { month: 'numeric', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
    hourCycle: 'h23' }).format(ms);
}
