/**
 * @file What every operator of the `com.microsoft` domain is held to: the numbers of onnxruntime, the same from a
 * compiled call, and errors that name the node.
 */
import { compile } from '@tessera/compile';
import type { Tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { importOnnx } from '../../src/index.js';
import {
  type Contrib,
  type Result,
  besideOnnxruntime,
  fileOf,
  inputsOf,
  resultsOf,
} from './beside-onnxruntime.js';

/** A title and a node. */
export type Case = readonly [title: string, contrib: Contrib];

/** Floats agree to 2e-5, or as far as the case says; quantized numbers may be one off where a half is rounded. */
export function expectSame(
  { outputs = ['float32'], compared = Infinity, tolerance = 2e-5 }: Contrib,
  ours: Readonly<Record<string, Result>>,
  wanted: Readonly<Record<string, Result>>,
): void {
  expect(Object.keys(ours)).toEqual(Object.keys(wanted));
  const dtypes = outputs.filter((each) => each !== null);
  for (const [i, [name, { dims, data }]] of Object.entries(wanted).entries()) {
    if (i >= compared) break;
    expect(ours[name]!.dims).toEqual(dims);
    const isFloat = dtypes[i] === 'float32';
    data.forEach((x, j) => {
      const own = ours[name]!.data[j]!;
      if (Object.is(own, x)) return;
      const allowed = isFloat ? tolerance * Math.max(1, Math.abs(x)) : 1;
      expect(Math.abs(own - x), `${name}[${j}]: ${own}, not ${x}`).toBeLessThanOrEqual(allowed);
    });
  }
}

/** Runs a node here, compiled, and in onnxruntime. */
export async function expectLikeOnnxruntime(contrib: Contrib): Promise<void> {
  const { ours, theirs } = await besideOnnxruntime(contrib);
  expectSame(contrib, ours, theirs);
  const model = await importOnnx(fileOf(contrib));
  const run = compile((inputs: Record<string, Tensor>) => model.call(inputs));
  expectSame(contrib, resultsOf(run(inputsOf(contrib))), ours);
}

/** What a node that cannot run says: a code, its own name, and a hint. */
export async function expectRefused(
  contrib: Contrib,
  code: string,
  message: RegExp,
): Promise<void> {
  const model = await importOnnx(fileOf(contrib));
  const thrown = (() => {
    try {
      model.call(inputsOf(contrib));
    } catch (error) {
      return error as Error & { code: string; hints: readonly string[] };
    }
    return null;
  })();
  expect(thrown?.message).toMatch(message);
  expect(thrown?.message).toContain(`node '${contrib.op}:`);
  expect(thrown?.code).toBe(code);
  expect(thrown?.hints.length).toBeGreaterThan(0);
}

/** A test of each case of each family. */
export function describeLikeOnnxruntime(families: Readonly<Record<string, readonly Case[]>>): void {
  describe.each(Object.entries(families))('%s', (_family, cases) => {
    it.each(cases)('%s', async (_title, contrib) => {
      await expectLikeOnnxruntime(contrib);
    });
  });
}

/** A node that is refused, with the code and words of the error. */
export type Refused = readonly [title: string, contrib: Contrib, code: string, message: RegExp];

/** A test of each node that is refused. */
export function describeRefused(cases: readonly Refused[]): void {
  it.each(cases)('refuses %s', async (_title, contrib, code, message) => {
    await expectRefused(contrib, code, message);
  });
}
