/**
 * @file The user's source line behind the call that is being recorded.
 *
 * Formatting a stack (source maps included) costs far more than walking it, and a loop records the same
 * calls over and over; so stacks are told apart by the positions of their frames, where the engine
 * gives these (V8), and each is formatted once.
 */

/** Frames of Tessera's own packages, from sources and from installed builds. */
const OWN = /\/node_modules\/@tessera\/|\/packages\/[\w-]+\/(?:src|dist)\/|node:internal/;

/** Frames that are looked at. */
const MOST_FRAMES = 40;

/** Stacks that are remembered. */
const MOST_STACKS = 4096;

/** What V8 tells of a frame. */
interface CallSite {
  getScriptNameOrSourceURL?(): string | null;
  getPosition?(): number;
}

type StackFormatter = (error: Error, sites: readonly CallSite[]) => unknown;

const known = new Map<string, string | undefined>();

/** `file:line:column function` of the innermost frame outside Tessera, if the engine tells. */
export function userFrame(): string | undefined {
  const positions = stackPositions();
  if (positions === null) return innermostFrame();
  if (known.has(positions)) return known.get(positions);
  const frame = innermostFrame();
  if (known.size >= MOST_STACKS) known.clear();
  known.set(positions, frame);
  return frame;
}

function withFormatter<R>(formatter: StackFormatter | null, fn: () => R): R {
  const holder = Error as unknown as {
    stackTraceLimit?: number;
    prepareStackTrace?: StackFormatter;
  };
  // `node --frozen-intrinsics`: the stack is as long as the host says, and its text is read.
  if (!Object.isExtensible(holder)) return fn();
  const { stackTraceLimit, prepareStackTrace } = holder;
  holder.stackTraceLimit = MOST_FRAMES;
  if (formatter !== null) holder.prepareStackTrace = formatter;
  try {
    return fn();
  } finally {
    holder.stackTraceLimit = stackTraceLimit;
    if (formatter !== null) holder.prepareStackTrace = prepareStackTrace;
  }
}

/** Script and position of every frame of the caller of `userFrame`, as one key. */
const positionsOf: StackFormatter = (_, sites) => {
  let key = '';
  for (let i = 2; i < sites.length; i++) {
    const site = sites[i];
    const position = site.getPosition?.();
    const script = site.getScriptNameOrSourceURL?.();
    if (position === undefined || script === undefined) return null;
    key += `${script}:${position} `;
  }
  return key;
};

function stackPositions(): string | null {
  const key = withFormatter(positionsOf, () => new Error('frame').stack as unknown);
  // Engines that know no formatter give text with line breaks, the same as always.
  return typeof key === 'string' && !key.includes('\n') ? key : null;
}

function innermostFrame(): string | undefined {
  const stack = withFormatter(null, () => new Error('frame').stack ?? '');
  for (const line of stack.split('\n')) {
    const frame = parseFrame(line.trim());
    if (frame !== null && !OWN.test(frame.file)) return `${frame.file} ${frame.name}`.trimEnd();
  }
  return undefined;
}

/** V8: `at name (file:l:c)` or `at file:l:c`; Firefox and Safari: `name@file:l:c`. */
function parseFrame(line: string): { file: string; name: string } | null {
  const v8 = /^at (?:(.*?) \()?(?:file:\/\/)?([^()]*:\d+:\d+)\)?$/.exec(line);
  if (v8 !== null) return { file: v8[2], name: v8[1] ?? '' };
  const other = /^(.*?)@(?:file:\/\/)?(.*:\d+:\d+)$/.exec(line);
  return other === null ? null : { file: other[2], name: other[1] };
}
