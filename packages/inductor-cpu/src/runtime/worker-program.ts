/**
 * @file The program of a worker thread, as source text.
 *
 * It keeps one instance per plan. Between messages it serves: it waits for a new job by spinning, then
 * by sleeping, and helps with it. When mail is due it returns to the event loop to receive it.
 */
import { CONTROL, THREAD_STRIDE } from './control-block.js';

/** A plan for a worker to instantiate: values of the module's exported globals, by name. */
export interface WorkerPlan {
  readonly id: number;
  readonly module: WebAssembly.Module;
  readonly globals: Readonly<Record<string, number>>;
}

/** Messages to a worker. `mail` is how many deliveries there have been so far; the control block says how many are due. */
export type WorkerMessage = { readonly mail: number } & (
  | {
      readonly type: 'start';
      readonly memory: WebAssembly.Memory;
      readonly control: number;
      readonly thread: number;
      readonly spinMs: number;
      readonly plans: readonly WorkerPlan[];
    }
  | { readonly type: 'plan'; readonly plan: WorkerPlan }
  | { readonly type: 'drop'; readonly id: number }
);

/** Word index of a control word, relative to the control block. */
const word = (offset: number): number => offset / 4;

/** Source text for `startWorker`. */
export const WORKER_PROGRAM: string = `
const plans = new Map();
let memory, words, base, thread, spinMs, received = 0, last = 0;
const at = (offset) => base + offset;

function receive(message) {
  received = message.mail;
  if (message.type === 'start') {
    ({ memory, thread, spinMs } = message);
    words = new Int32Array(memory.buffer);
    base = message.control / 4;
    message.plans.forEach(load);
  } else if (message.type === 'plan') {
    load(message.plan);
  } else {
    plans.delete(message.id);
  }
  serve();
}

function load({ id, module, globals }) {
  const { exports: made } = new WebAssembly.Instance(module, { env: { memory }, math: Math });
  for (const [name, value] of Object.entries(globals)) made[name].value = value;
  plans.set(id, made.help);
}

function serve() {
  let idleSince = performance.now();
  for (;;) {
    if (Atomics.load(words, at(${word(CONTROL.mail)})) !== received) return;
    if (Atomics.load(words, at(${word(CONTROL.sequence)})) !== last) {
      help(Atomics.load(words, at(${word(CONTROL.sequence)})));
      idleSince = performance.now();
      continue;
    }
    for (let i = 0; i < 300; i++) if (Atomics.load(words, at(${word(CONTROL.sequence)})) !== last) break;
    if (performance.now() - idleSince < spinMs) continue;
    Atomics.add(words, at(${word(CONTROL.sleepers)}), 1);
    Atomics.wait(words, at(${word(CONTROL.sequence)}), last);
    Atomics.sub(words, at(${word(CONTROL.sleepers)}), 1);
    idleSince = performance.now();
  }
}

function help(sequence) {
  const run = plans.get(Atomics.load(words, at(${word(CONTROL.plan)})));
  if (run === undefined) { last = sequence; return; }
  try {
    last = run(last);
  } catch {
    last = sequence;
    Atomics.store(words, at(${word(CONTROL.failed)}), 1);
    const claimed = at(${word(CONTROL.inFlight)} + thread * ${word(THREAD_STRIDE)});
    Atomics.add(words, at(${word(CONTROL.done)}), Atomics.exchange(words, claimed, 0));
  }
}
`;
