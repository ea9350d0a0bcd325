/**
 * @file `profile`: what ran while a function ran, and for how long.
 *
 * Operators, backward nodes, compiled graphs and stages of the compiler say when they run, through
 * `profiling.active`; while that is null nothing is measured, so a profile that is off costs one comparison
 * an event. Times are those of the host: work that a GPU does later is in none of them. Modelled on
 * `torch.profiler`.
 */
import { checkFunction } from './check-function.js';
import { now } from './clock.js';
import { scopesOf } from './scope.js';

/** What an event was. */
export type ProfileCategory =
  /** An operator, outside a backward pass. */
  | 'forward'
  /** A backward node, or an operator that it ran. */
  | 'backward'
  /** A call of compiled code. */
  | 'kernel'
  /** A stage of the compiler. */
  | 'compile';

/** One thing that ran. */
export interface ProfileEvent {
  readonly name: string;
  readonly category: ProfileCategory;
  /** Microseconds since the profile began. */
  readonly start: number;
  /** Microseconds. */
  readonly duration: number;
  /** Number of the backward node that an operator made, or that was run; -1 if there is none. */
  readonly sequenceNr: number;
  /** Shapes of the tensors that went in. */
  readonly shapes: readonly (readonly number[])[];
}

/** What `profile` returns. */
export interface Profile<R = unknown> {
  /** What the function returned. */
  readonly result: R;
  /** In order of their beginning; one that ran inside another comes after it. */
  readonly events: readonly ProfileEvent[];
  /** The events as JSON for chrome://tracing and Perfetto. */
  toChromeTrace(): string;
}

/** An event that has begun. */
interface Open {
  readonly index: number;
  readonly start: number;
}

/** Events being recorded. */
export class ProfileRecorder {
  /** Null while it runs. */
  readonly events: (ProfileEvent | null)[] = [];
  private readonly origin = now();

  /** Notes that something begins. */
  begin(): Open {
    const index = this.events.length;
    this.events.push(null);
    return { index, start: now() };
  }

  /** Notes its end, and what it was. */
  end(
    open: Open,
    category: ProfileCategory,
    name: string,
    sequenceNr = -1,
    shapes: readonly (readonly number[])[] = [],
  ): void {
    this.events[open.index] = {
      name,
      category,
      start: (open.start - this.origin) * 1000,
      duration: (now() - open.start) * 1000,
      sequenceNr,
      shapes,
    };
  }
}

/** The recorder of the running profile, or null. */
export const profiling: { active: ProfileRecorder | null } = { active: null };

const runInScope = /* @__PURE__ */ scopesOf<ProfileRecorder | null>(
  () => profiling.active,
  (recorder) => (profiling.active = recorder),
);

function chromeTrace(events: readonly ProfileEvent[]): string {
  return JSON.stringify({
    displayTimeUnit: 'ms',
    traceEvents: events.map(({ name, category, start, duration, sequenceNr, shapes }) => ({
      ph: 'X',
      name,
      cat: category,
      ts: start,
      dur: duration,
      pid: 1,
      tid: 1,
      args: { 'Sequence number': sequenceNr, 'Input Dims': shapes },
    })),
  });
}

/**
 * Runs `fn` and records operators, backward nodes, compiled graphs and stages of the compiler. With an
 * async `fn` the profile is a promise, and everything that runs until it settles belongs to it.
 *
 * @example
 * const { events, toChromeTrace } = profile(() => step(x, y));
 * @see torch.profiler.profile
 */
export function profile<R>(fn: () => Promise<R>): Promise<Profile<R>>;
export function profile<R>(fn: () => R): Profile<R>;
export function profile<R>(fn: () => R | Promise<R>): Profile<R> | Promise<Profile<R>> {
  checkFunction('profile', fn);
  const recorder = new ProfileRecorder();
  const finish = (result: R): Profile<R> => {
    // What was still running has no end.
    const events = recorder.events.filter((event) => event !== null);
    return { result, events, toChromeTrace: () => chromeTrace(events) };
  };
  const result = runInScope(recorder, fn);
  return result instanceof Promise ? result.then(finish) : finish(result);
}
