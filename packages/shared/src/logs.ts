/**
 * @file Named log artifacts: what `TESSERA_LOGS=guards,recompiles` turns on.
 *
 * Each artifact is one kind of text the compiler can show. All are off by default, and the check
 * whether one is on costs a set look-up, so callers pass a function that builds the text. Modelled
 * on `torch._logging` and `TORCH_LOGS`.
 */
import { TesseraError } from './errors.js';
import { environmentVariable } from './host/environment.js';
import { nearestNames } from './nearest-names.js';

/** The artifacts that Tessera itself writes. */
export type LogArtifact =
  | 'guards'
  | 'recompiles'
  | 'graph_breaks'
  | 'graph'
  | 'aot_joint'
  | 'aot_graphs'
  | 'fusion'
  | 'output_code'
  | 'perf'
  | 'schedule'
  | 'dynamic';

/** The name of an artifact: one of Tessera's own, or one added by {@link registerLogArtifact}. */
export type LogArtifactName = LogArtifact | (string & {});

/** Receives every log text; `artifact` is the name it was logged under. */
export type LogSink = (artifact: string, text: string) => void;

const BUILT_IN: Readonly<Record<LogArtifact, string>> = {
  guards: 'the guards of each compiled function, in the order they are checked',
  recompiles: 'why a compiled function was compiled again: the guard that failed',
  graph_breaks: 'each graph break: the reason, the line of user code, what to do',
  graph: 'each captured graph, as TypeScript',
  aot_joint: 'the joint forward and backward graph before partitioning',
  aot_graphs: 'the forward and backward graphs after partitioning',
  fusion: 'which loops were fused into which kernel, and why others were not',
  output_code: 'the generated kernels: WGSL or WebAssembly text',
  perf: 'what made code slower than it could be: fallbacks, copies, missed vectorisation',
  schedule: 'the order of kernels, the memory plan, and how kernels run on their device',
  dynamic: 'what gets code for every size although its sizes are symbols, and why',
};

// Marked for bundlers: a page that logs nothing has none of this.
const artifacts = /* @__PURE__ */ new Map<string, string>(/* @__PURE__ */ Object.entries(BUILT_IN));
/** Names from TESSERA_LOGS with a colon, waiting for their package to register them. */
const awaited = new Set<string>();
const enabled = /* @__PURE__ */ enabledFromStart();

// Bound once: while a function is captured the tracer may watch `console`, and the compiler's own
// logging must not look like a side effect of the user's function.
const writeError: (text: string) => void = /* @__PURE__ */ console.error.bind(console);

const defaultSink: LogSink = (artifact, text) => {
  writeError(text.replace(/^/gm, `[${artifact}] `));
};
let sink: LogSink = defaultSink;

/** True when the artifact is switched on; cheap enough for hot paths. */
export function logEnabled(name: LogArtifactName): boolean {
  return enabled.size !== 0 && enabled.has(name);
}

/** Logs the text that `text()` builds, which runs only when the artifact is on. */
export function log(name: LogArtifactName, text: () => string): void {
  if (logEnabled(name)) sink(name, text());
}

/**
 * Switches artifacts on or off; artifacts that are not named keep their state.
 *
 * @throws unknown-log-artifact when a name is not registered; the message lists all names.
 * @throws invalid-argument when `settings` is a name or a list of names.
 */
export function setLogs(settings: { readonly [name in LogArtifactName]?: boolean }): void {
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings))
    throw new TesseraError('invalid-argument', 'setLogs() takes an object of artifacts.', {
      hints: ['Write setLogs({ recompiles: true }).'],
    });
  for (const name of Object.keys(settings)) if (!artifacts.has(name)) throw unknownArtifact(name);
  for (const [name, on] of Object.entries(settings)) {
    if (on === true) enabled.add(name);
    else enabled.delete(name);
  }
}

/**
 * Adds an artifact of another package.
 *
 * A name with a colon (`acme:tiles`) may stand in `TESSERA_LOGS` before the package is loaded.
 * Registering a name again with the same help does nothing.
 *
 * @throws invalid-argument when the name is already taken by another artifact.
 */
export function registerLogArtifact(name: string, help: string): void {
  const existing = artifacts.get(name);
  if (existing !== undefined && existing !== help) {
    throw new TesseraError(
      'invalid-argument',
      `A log artifact named '${name}' already exists: ${existing}.`,
      {
        context: { name },
        hints: [`Prefix the name with your package's: 'my-package:${name}'.`],
      },
    );
  }
  artifacts.set(name, help);
  if (awaited.delete(name)) enabled.add(name);
}

/** Sends log texts to `next`, or to standard error when it is undefined; returns the sink before. */
export function setLogSink(next: LogSink | undefined): LogSink {
  const previous = sink;
  sink = next ?? defaultSink;
  return previous;
}

/** Every artifact with its help text and state. */
export function logArtifacts(): { name: string; help: string; enabled: boolean }[] {
  return [...artifacts].map(([name, help]) => ({ name, help, enabled: enabled.has(name) }));
}

function unknownArtifact(name: string): TesseraError {
  const near = nearestNames(name, artifacts.keys());
  const width = Math.max(...[...artifacts.keys()].map((key) => key.length));
  const list = [...artifacts].map(([key, help]) => `  ${key.padEnd(width)}  ${help}`).join('\n');
  return new TesseraError(
    'unknown-log-artifact',
    `There is no log artifact '${name}'. The artifacts are:\n${list}`,
    {
      context: { name, valid: [...artifacts.keys()] },
      hints: near.length > 0 ? [`Did you mean ${near.map((key) => `'${key}'`).join(' or ')}?`] : [],
    },
  );
}

/** What the comma-separated list TESSERA_LOGS, a global or an environment variable, turns on. */
function enabledFromStart(): Set<string> {
  const { TESSERA_LOGS } = globalThis as { readonly TESSERA_LOGS?: string };
  const list = TESSERA_LOGS ?? environmentVariable('TESSERA_LOGS') ?? '';
  const names = list
    .split(',')
    .map((part) => part.trim())
    .filter((name) => name !== '');
  for (const name of names)
    if (!artifacts.has(name)) {
      if (!name.includes(':')) throw unknownArtifact(name);
      awaited.add(name);
    }
  return new Set(names.filter((name) => artifacts.has(name)));
}
