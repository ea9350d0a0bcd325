/**
 * @file The user's source line behind a call: of an operator that is recorded, or of what is warned about.
 *
 * A loop records the same calls over and over; so stacks are told apart by the positions of their frames,
 * where the engine gives these (V8), and each is read once. Of the frames only the user's is written as text:
 * the line of a position takes all line ends of its script, and Tessera's own are long.
 */

import { keepFrames } from './keep-frames.js';

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
  getFunctionName?(): string | null;
}

type StackFormatter = (error: Error, sites: readonly CallSite[]) => unknown;

/** What V8 knows of `Error`. */
const errors = Error as unknown as {
  prepareStackTrace?: StackFormatter;
};

const known = new Map<string, string | undefined>();

/** `file:line:column function` of the innermost frame outside Tessera, if the engine tells. */
export function userFrame(): string | undefined {
  let sites: readonly CallSite[] = [];
  stackText((_, all) => {
    sites = all;
    return '';
  });
  const positions = positionsOf(sites);
  if (positions === null) return firstOutside(stackText(null));
  if (known.has(positions)) return known.get(positions);
  const { process } = globalThis;
  // Node maps whole stacks only.
  const frame =
    process?.sourceMapsEnabled === true ? firstOutside(stackText(null)) : frameOf(sites);
  if (known.size >= MOST_STACKS) known.clear();
  known.set(positions, frame);
  return frame;
}

/**
 * Where the program is, as one key: the frames between here and the innermost call of `until`, a method, or all if the
 * engine does not name it.
 */
export function callPath(until: string): string {
  let path: string | null = null;
  const text = stackText((_, sites) => {
    const end = sites.findIndex((site) => site.getFunctionName?.()?.endsWith(until));
    path = positionsOf(sites.slice(0, end < 0 ? MOST_FRAMES : end));
    return '';
  });
  return path ?? text.split(until)[0]!;
}

/** The stack as `formatter` writes it, or as the host does. */
function stackText(formatter: StackFormatter | null): string {
  // `node --frozen-intrinsics`: the stack is as long as the host says, and its text is read.
  if (!Object.isExtensible(errors)) return new Error('frame').stack ?? '';
  const { prepareStackTrace } = errors;
  const undo = keepFrames(MOST_FRAMES);
  if (formatter !== null) errors.prepareStackTrace = formatter;
  try {
    return new Error('frame').stack ?? '';
  } finally {
    undo();
    if (formatter !== null) errors.prepareStackTrace = prepareStackTrace;
  }
}

/** Script and position of every frame as one key; null where the engine does not tell. */
function positionsOf(sites: readonly CallSite[]): string | null {
  let key = '';
  for (const site of sites) {
    const position = site.getPosition?.();
    const script = site.getScriptNameOrSourceURL?.();
    if (position === undefined || script === undefined) return null;
    key += `${script}:${position} `;
  }
  return key === '' ? null : key;
}

/** The innermost frame outside Tessera; the host's formatter, where it has one, may know its source. */
function frameOf(sites: readonly CallSite[]): string | undefined {
  let own: string | null = null;
  for (const site of sites) {
    const script = site.getScriptNameOrSourceURL!();
    // Frames of a file follow each other.
    if (script === own || script === null || OWN.test((own = script))) continue;
    own = null;
    const text = errors.prepareStackTrace?.(new Error('frame'), [site]);
    const frame = firstOutside(typeof text === 'string' ? text : `at ${String(site)}`);
    if (frame !== undefined) return frame;
  }
  return undefined;
}

function firstOutside(stack: string): string | undefined {
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
