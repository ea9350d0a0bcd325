/** The schedules of products by narrow weights: as text, verified, and interpreted beside the kernels they are made from. */
import {
  printScheduled,
  type ScheduledBody,
  type ScheduledKernel,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import type { CodeOptions } from '../src/body/vector-builder.js';
import {
  bufferSizes,
  type Case,
  kernelOf,
  numbers,
  ROUNDED,
  scheduledGemv,
} from './gemv-kernel.js';
import { expectAsInterpreted } from './interpret-schedule.js';

const FLOATS: CodeOptions = { relaxedSimd: false, pairProducts: false };
const INTEGERS: CodeOptions = { relaxedSimd: false, pairProducts: true };

const schedule = (made: Case, options: CodeOptions): ScheduledKernel =>
  scheduledGemv(kernelOf(made), options)!;

/** The schedule with rows that are made for each item. */
const anew = (made: ScheduledKernel): ScheduledKernel => {
  const visited = (body: ScheduledBody): ScheduledBody =>
    body.flatMap((stmt) => (stmt.kind === 'once' ? stmt.body : [stmt]));
  return { ...made, body: visited(made.body) };
};

function expectRight(made: Case, options: CodeOptions): void {
  const kernel = kernelOf(made);
  const sizes = bufferSizes(made);
  const data = new Map(
    kernel.params.map(({ name, dtype }, i) => {
      const count = sizes[/[a-z]+(?=\d?$)/.exec(name)![0]]!;
      const all = numbers(count, dtype, i + 1);
      return [name, name === 'x' ? all.map((value) => value / 16) : all];
    }),
  );
  const counts = Object.fromEntries([...data].map(([name, { length }]) => [name, length]));
  const fill = (name: string, i: number): number => data.get(name)![i]!;
  for (const each of [schedule(made, options), anew(schedule(made, options))])
    expectAsInterpreted(kernel, each, counts, fill);
}

describe('schedules of products by narrow weights', () => {
  for (const format of ['float16', 'bfloat16', 'int8', 'int8s', 'int4'] as const)
    it.each<[string, Omit<Case, 'format'>]>([
      ['a row', { columns: 9, depth: 32 }],
      ['more columns than an item has', { columns: 70, depth: 32 }],
      ['several rows', { rows: 3, columns: 40, depth: 64 }],
      ['several sums of a row', { columns: 22, depth: 64, sums: 2 }],
    ])(`of ${format} give what the kernel does: %s`, (_, made) => {
      // Sums of bytes stay small, lest what rounds them counts.
      const plain = format.startsWith('int8');
      for (const options of [FLOATS, INTEGERS, ROUNDED])
        expectRight({ format, plain, ...made }, options);
    });

  it.each<[string, Case, CodeOptions]>([
    ['int4', { format: 'int4', rows: 3, columns: 70, depth: 64, sums: 2 }, INTEGERS],
    ['int8', { format: 'int8s', columns: 64, depth: 64 }, FLOATS],
    ['float16', { format: 'float16', columns: 64, depth: 64, plain: true }, INTEGERS],
  ])('of %s tell all that is chosen', async (format, made, options) => {
    await expect(`${printScheduled(schedule(made, options))}\n`).toMatchFileSnapshot(
      `./golden/gemv_${format}.schedule.txt`,
    );
  });

  it('keep rows of so many k as there is memory for', () => {
    expect(scheduledGemv(kernelOf({ format: 'int8', columns: 8, depth: 1 << 15 }))).not.toBeNull();
    expect(scheduledGemv(kernelOf({ format: 'int8', columns: 8, depth: 1 << 16 }))).toBeNull();
  });

  it('are refused where a row that is multiplied was not arranged', () => {
    const made = schedule({ format: 'int4', columns: 64, depth: 64 }, INTEGERS);
    verifyScheduled(made);
    const body = made.body.filter(({ kind }) => kind !== 'once');
    expect(() => verifyScheduled({ ...made, body })).toThrow("'arranged0' is not arranged");
  });

  it('are refused where what is made once differs from item to item', () => {
    const made = schedule({ format: 'int8', rows: 2, columns: 64, depth: 64 }, FLOATS);
    const body = made.body.map((stmt) =>
      stmt.kind === 'once' ? { ...stmt, of: { kind: 'int', value: 0 } as const } : stmt,
    );
    expect(() => verifyScheduled({ ...made, body })).toThrow(
      "variable 'm' is used where it is not known",
    );
  });
});
