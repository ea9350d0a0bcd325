/**
 * @file The user's source line behind the call that is being recorded.
 */

/** Frames of Tessera's own packages, from sources and from installed builds. */
const OWN = /\/node_modules\/@tessera\/|\/packages\/[\w-]+\/(?:src|dist)\/|node:internal/;

/** `file:line:column function` of the innermost frame outside Tessera, if the engine tells. */
export function userFrame(): string | undefined {
  const holder = Error as unknown as { stackTraceLimit?: number };
  const saved = holder.stackTraceLimit;
  holder.stackTraceLimit = 40;
  const stack = new Error('frame').stack ?? '';
  holder.stackTraceLimit = saved;
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
