// The server's time on this page. The visitor's own clock is never read: a countdown that followed it would open the
// button hours early or late. performance.now() only moves forward, so a changed system clock cannot move it either.
import { call } from './api.js';

let offset = null;  // server ms = performance.now() + offset
let error = Infinity;  // half the round trip of the sample in use: the offset is right within this many ms
let takenAt = 0;

export const ready = () => offset !== null;
export const now = () => performance.now() + (offset ?? 0);

async function sample() {
  const sent = performance.now();
  const answer = await call('/time', { timeout: 4000, cache: 'no-store' });
  const back = performance.now();
  if (answer.status !== 200 || !Number.isFinite(answer.body.now_ms)) throw new Error('time');
  return { offset: answer.body.now_ms + (back - sent) / 2 - back, error: (back - sent) / 2 };
}

// Takes `count` samples and keeps the one with the shortest round trip: its error is bounded best. An older sample
// stays in use if it was better, unless `fresh` (the page slept: performance.now() may have stood still) or it is old
// enough for the two clocks to have drifted apart.
export async function sync(count, fresh = false) {
  let best = null;
  let failure = null;
  for (let i = 0; i < count; i++) {
    try {
      const one = await sample();
      if (!best || one.error < best.error) best = one;
    } catch (reason) { failure = reason; }
  }
  if (!best) {
    if (offset === null) throw failure;
    return;
  }
  const old = performance.now() - takenAt > 300000;
  if (fresh || old || best.error <= error) {
    offset = best.offset;
    error = best.error;
    takenAt = performance.now();
  }
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && offset !== null) sync(3, true);
});
