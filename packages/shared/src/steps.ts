/**
 * @file `Steps`: long work that lets others run in between.
 *
 * A generator that yields where nothing is half done: code that runs in a pause finds no mode, scope or setting of the
 * work in force. The same steps run at once, or between the frames of a page.
 */

import { now } from './clock.js';

/** A pause for what it begins, which never rejects; for nothing if absent. Work that runs at once does not begin it. */
export type Pause = (() => Promise<unknown>) | undefined;

/** See the file header. A pause tells whether it was made. */
export type Steps<R> = Generator<Pause, R, boolean>;

/** Milliseconds after which a page gets to run: two slices and what they overrun fit into a frame. */
const SLICE_MS = 4;

/** Runs steps to their end without a pause. */
export function atOnce<R>(steps: Steps<R>): R {
  for (;;) {
    const { done, value } = steps.next(false);
    if (done === true) return value;
  }
}

/** Runs steps for a few milliseconds at a time; other tasks, and frames, come between, before and after. */
export async function inSlices<R>(steps: Steps<R>): Promise<R> {
  let step: IteratorResult<Pause, R> = { value: undefined };
  do {
    await (step.value?.() ?? nextTask());
    const end = now() + SLICE_MS;
    do step = steps.next(true);
    while (step.done !== true && step.value === undefined && now() < end);
  } while (step.done !== true);
  await nextTask();
  return step.value;
}

/** Runs steps in a scope, which pauses leave; all at once in one where none is made. */
export function* inScope<R>(scope: <T>(fn: () => T) => T, steps: Steps<R>): Steps<R> {
  const isSliced = yield;
  if (!isSliced) return scope(() => atOnce(steps));
  for (;;) {
    const step = scope(() => steps.next(true));
    if (step.done === true) return step.value;
    yield step.value;
  }
}

/**
 * Resolves when other tasks had their turn. A message waits behind them, and no longer: what `scheduler.yield` resumes
 * comes before them, and timers wait for milliseconds, in hidden pages for a second.
 */
function nextTask(): Promise<unknown> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener('message', resolve);
    port1.start();
    port2.postMessage(0);
  }).finally(() => port1.close());
}
