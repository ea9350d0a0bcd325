/**
 * @file `Steps`: long work that lets others run in between.
 *
 * A generator that yields where nothing is half done: code that runs in a pause finds no mode, scope or setting of the
 * work in force. The same steps run at once, or between the frames of a page.
 */

// Bound now: a `pure` capture watches the clock of the user's code.
const now = /* @__PURE__ */ performance.now.bind(performance);

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

/** Runs steps for a few milliseconds at a time; other tasks, and frames, come between. */
export async function inSlices<R>(steps: Steps<R>): Promise<R> {
  for (;;) {
    const end = now() + SLICE_MS;
    let step: IteratorResult<Pause, R>;
    do {
      step = steps.next(true);
      if (step.done === true) return step.value;
    } while (step.value === undefined && now() < end);
    await (step.value?.() ?? nextTask());
  }
}

/** Runs each step in a scope, which pauses leave. */
export function* inScope<R>(scope: <T>(fn: () => T) => T, steps: Steps<R>): Steps<R> {
  let isSliced = false;
  for (;;) {
    const step = scope(() => steps.next(isSliced));
    if (step.done === true) return step.value;
    isSliced = yield step.value;
  }
}

/** Resolves when other tasks had their turn. Timers of hidden pages wait for a second; `scheduler.yield` does not. */
function nextTask(): Promise<unknown> {
  const { scheduler } = globalThis as { scheduler?: { yield?(): Promise<void> } };
  return scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve, 0));
}
