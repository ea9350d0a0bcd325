/**
 * @file Comparing what two runs of a program showed.
 */
import type { DType } from '@tessera/tensor';
import type { Seen } from './observe.js';

type SeenTensor = Seen & { kind: 'tensor' };

/** Relative rounding of a dtype; 0 for exact ones. */
export const EPSILON: Readonly<Partial<Record<DType, number>>> = {
  float16: 2 ** -11,
  bfloat16: 2 ** -8,
  float32: 2 ** -23,
  float64: 2 ** -52,
};

/** How many roundings apart results may be, relative and absolute. */
const ROUNDINGS = 40;

/** The same on a device where no run with noise says how far apart they may be. */
const DEVICE_ROUNDINGS = 400;

/** How far each element may be off: eager runs of the same program with rounding noise differ so much. */
export type Spread = ReadonlyMap<string, Float64Array>;

/** Name of a tensor's values in one call. */
export function spreadKey(call: number, path: string): string {
  return `${call} ${path}`;
}

function differentValues(got: SeenTensor, want: SeenTensor, spread?: Float64Array): string | null {
  const roundings = want.device === 'cpu' ? ROUNDINGS : DEVICE_ROUNDINGS;
  const tolerance = roundings * (EPSILON[want.dtype] ?? 0);
  for (let i = 0; i < want.values.length; i++) {
    const g = got.values[i]!;
    const w = want.values[i]!;
    if (Object.is(g, w) || g === w || (Number.isNaN(g) && Number.isNaN(w))) continue;
    // The reference kernels compute with doubles.
    if (want.dtype === 'int64' && Math.abs(w) > Number.MAX_SAFE_INTEGER) continue;
    const allowed = tolerance * (1 + Math.abs(w)) + (spread?.[i] ?? 0);
    if (Math.abs(g - w) <= allowed) continue;
    const show = (values: Float64Array): string => [...values.subarray(0, 12)].join(' ');
    return `values differ at ${i}: ${g}, not ${w}\n      ${show(got.values)}\n      ${show(want.values)}`;
  }
  return null;
}

const FIELDS = [
  'device',
  'dtype',
  'shape',
  'strides',
  'requiresGrad',
  'leaf',
  'same',
  'memory',
] as const;

/** How two things differ, or null. */
function difference(got: Seen, want: Seen, spread?: Float64Array): string | null {
  if (got.path !== want.path) return `'${got.path}' is seen instead of '${want.path}'`;
  if (got.kind === 'value' || want.kind === 'value') {
    if (got.kind === 'value' && want.kind === 'value' && Object.is(got.value, want.value))
      return null;
    const text = (seen: Seen): string =>
      seen.kind === 'value' ? String(seen.value) : `a tensor [${seen.shape.join()}]`;
    return `${want.path}: ${text(got)}, not ${text(want)}`;
  }
  for (const field of FIELDS) {
    if (String(got[field]) !== String(want[field]))
      return `${want.path}: ${field} is ${String(got[field])}, not ${String(want[field])}`;
  }
  const values = differentValues(got, want, spread);
  return values === null ? null : `${want.path}: ${values}`;
}

/** First difference of one call's observations, or null; `spread` widens what values may be off. */
export function compareSeen(
  call: number,
  got: readonly Seen[],
  want: readonly Seen[],
  spread: Spread | null,
): string | null {
  for (let i = 0; i < want.length; i++) {
    const g = got[i];
    if (g === undefined) return `${want[i]!.path} is missing`;
    const found = difference(g, want[i]!, spread?.get(spreadKey(call, want[i]!.path)));
    if (found !== null) return `call ${call}: ${found}`;
  }
  return null;
}
