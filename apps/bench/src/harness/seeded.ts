/**
 * @file Seeded inputs: the same numbers on every machine and for every engine.
 */
import { type HostArray, floats, integers, numelOf } from './host-array.js';

/** Distinct values drawn before they repeat; drawing 2²⁷ of them would take longer than the benchmark. */
const DISTINCT = 1 << 20;

/** A generator of numbers in [0, 1). @see Mulberry32, by Tommy Ettinger */
export function uniforms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Standard normal values times `scale`. */
export function normals(shape: readonly number[], seed: number, scale = 1): HostArray {
  const data = new Float32Array(numelOf(shape));
  const next = uniforms(seed);
  const drawn = Math.min(data.length, DISTINCT);
  for (let i = 0; i < drawn; i += 2) {
    const radius = scale * Math.sqrt(-2 * Math.log(1 - next()));
    const angle = 2 * Math.PI * next();
    data[i] = radius * Math.cos(angle);
    if (i + 1 < drawn) data[i + 1] = radius * Math.sin(angle);
  }
  // The period is odd against rows and tiles, so that no two rows are the same.
  const period = drawn === data.length ? drawn : drawn - 3;
  for (let filled = period; filled < data.length; filled *= 2) {
    data.copyWithin(filled, 0, Math.min(filled, data.length - filled));
  }
  return floats(shape, data);
}

/** Class numbers in [0, classes). */
export function classes(count: number, classCount: number, seed: number): HostArray {
  const next = uniforms(seed);
  return integers(
    [count],
    Int32Array.from({ length: count }, () => Math.floor(next() * classCount)),
  );
}

/** Class numbers as rows that are 1 at the class and 0 elsewhere. [N] → [N, C] */
export function oneHot(labels: HostArray, classCount: number): HostArray {
  const data = new Float32Array(labels.data.length * classCount);
  labels.data.forEach((label, i) => {
    data[i * classCount + label] = 1;
  });
  return floats([labels.data.length, classCount], data);
}
