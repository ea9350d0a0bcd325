/**
 * @file Kernels with symbolic sizes for tests: their one code at many sizes, against the interpreter of the kernel
 * that they stand for at each.
 */
import {
  interpretKernel,
  kernelAt,
  printKernel,
  verifyKernel,
  type BufferParam,
  type FusedKernel,
  type GeneratedKernel,
  type LoopKernel,
  type SizedLoop,
  type SizeValue,
  type Stage,
} from '@tessera/inductor-core';
import { ShapeEnv, compileSize, type Size, type SymInt } from '@tessera/shared';
import { isFloatingPoint, type DType } from '@tessera/tensor';
import { expect } from 'vitest';
import { generateKernel } from '../src/backend.js';
import { loadKernel, type Buffers } from './load-kernel.js';

/** Sizes below, at and above those of vectors and blocks. */
export const SIZES: readonly number[] = [2, 3, 4, 5, 7, 8, 16, 31, 64, 129];

/** New symbols that are at least 2. The size that was seen first is 8, or what `hints` say. */
export function symbols(count: number, ...hints: readonly number[]): SymInt[] {
  const env = new ShapeEnv();
  return Array.from({ length: count }, (_, i) =>
    env.createSymbol(hints[i] ?? 8, { source: `n${i}`, min: 2 }),
  );
}

/** A loop. */
export function loop(name: string, size: Size): SizedLoop {
  return { name, size };
}

/** What a test says of a loop kernel. */
export interface LoopDraft {
  readonly outer?: readonly SizedLoop[];
  readonly inner?: readonly SizedLoop[];
  readonly stages: readonly Stage[];
  readonly params: Readonly<Record<string, readonly [DType, BufferParam['access']]>>;
}

/** A loop kernel. */
export function symbolicLoop({
  outer = [],
  inner = [],
  stages,
  params,
}: LoopDraft): LoopKernel<Size> {
  return {
    kind: 'loop',
    name: 'kernel',
    params: Object.entries(params).map(([name, [dtype, access]]) => ({ name, dtype, access })),
    scalars: [],
    outer,
    inner,
    stages,
  };
}

/** How a kernel is tried. */
export interface Trial {
  /** Elements of each buffer. */
  readonly counts: Readonly<Record<string, Size>>;
  /** The symbols whose values are chosen. */
  readonly symbols: readonly SymInt[];
  /** Values of the symbols to try; by default each of {@link SIZES} for the first, and others of them for the rest. */
  readonly values?: readonly (readonly number[])[];
  /** Largest difference relative to the expected value, or to 1. */
  readonly tolerance?: number;
  /** Initial element `i` of a buffer with `count` elements, where the default will not do. */
  readonly fill?: (buffer: string, i: number, valueOf: SizeValue) => number | undefined;
  readonly relaxedSimd?: boolean;
}

function allValues(count: number): number[][] {
  return SIZES.map((size, i) => [
    size,
    ...Array.from({ length: count - 1 }, (_, k) => SIZES[(3 * i + 7 * k + 4) % SIZES.length]!),
  ]);
}

function fillOf(dtype: DType, seed: number): (i: number) => number {
  return (i) => {
    let x = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
    x = (x ^ (x >>> 13)) >>> 0;
    if (dtype === 'bool') return x % 2;
    return isFloatingPoint(dtype) ? ((x % 257) - 128) / 64 : (x % 9) - (dtype === 'uint8' ? 0 : 4);
  };
}

/** Runs the one code of a kernel at many sizes, each in one piece and in several. */
export function expectSameAtAllSizes(kernel: GeneratedKernel<Size>, trial: Trial): void {
  const { tolerance = 2e-5, values = allValues(trial.symbols.length) } = trial;
  const code = generateKernel(kernel, { relaxedSimd: trial.relaxedSimd ?? false });
  const loaded = loadKernel(kernel, code);
  for (const chosen of values) {
    const valueOf: SizeValue = (size) =>
      compileSize(size, (symbol) => trial.symbols.indexOf(symbol))(chosen);
    const at: FusedKernel = kernelAt(kernel, valueOf);
    verifyKernel(at);
    const initial: Buffers = {};
    kernel.params.forEach(({ name, dtype }, seed) => {
      const usual = fillOf(dtype, seed);
      initial[name] = Array.from(
        { length: valueOf(trial.counts[name]!) },
        (_, i) => trial.fill?.(name, i, valueOf) ?? usual(i),
      );
    });
    const wanted = structuredClone(initial);
    interpretKernel(at, wanted);
    const items = valueOf(code.workItems);
    for (const parts of new Set([1, Math.max(1, Math.min(items, 3))])) {
      const got = structuredClone(initial);
      loaded.run(got, {}, parts, valueOf);
      for (const { name } of kernel.params)
        for (const [i, value] of wanted[name]!.entries()) {
          const x = got[name]![i]!;
          const isSame =
            Object.is(x, value) || Math.abs(x - value) <= tolerance * Math.max(1, Math.abs(value));
          if (!isSame && x !== value)
            expect.fail(
              `${name}[${i}] is ${x}, expected ${value}, at sizes ${chosen.join(', ')} in ${parts} parts\n${printKernel(at)}`,
            );
        }
    }
  }
}
