/**
 * @file `Cursor`: records a path, matches it, goes on recording where it differs, or passes.
 */
import { add, mul, relu, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { graphBreak } from '../src/index.js';
import type { Step } from '../src/trace/step.js';
import type { Cursor } from '../src/cursor/cursor.js';
import { Tracing } from './tracing-parts.js';

const kinds = (steps: readonly Step[]): string[] =>
  steps.map((step) => (step.kind === 'op' ? step.op.displayName : step.kind));

/** Steps of a call, of all its segments. */
const stepsOf = ({ earlier, frame }: Cursor): Step[] =>
  [...earlier.kept, frame].flatMap(({ path }) => path.flat());

const x = tensor([-1, 2]);

describe('a cursor', () => {
  it('records what happens, then matches it without asking the backend again', () => {
    const tracing = new Tracing();
    const body = (): unknown => relu(mul(x, 3)).toArray();
    const first = tracing.run(body);
    expect([first.result, first.fitted]).toEqual([[0, 6], false]);
    const second = tracing.run(body);
    expect([second.result, second.fitted, second.cursor.recorder]).toEqual([[0, 6], true, null]);
    expect(kinds(stepsOf(first.cursor))).toEqual([
      'aten.mul.Tensor',
      'aten.relu.default',
      'break',
      'return',
    ]);
    expect(kinds(stepsOf(second.cursor))).toEqual([
      'aten.mul.Tensor',
      'aten.relu.default',
      'break',
    ]);
    expect([tracing.compiled, tracing.reasons]).toEqual([1, []]);
  });

  it('records a branch behind what it shares with older paths', () => {
    const tracing = new Tracing();
    const run = (extra: boolean): number[] =>
      tracing
        .run(() => {
          const y = mul(x, 2);
          return extra ? add(y, 1) : y;
        })
        .result.toArray() as number[];
    expect([run(false), run(true), run(false), run(true)]).toEqual([
      [-2, 4],
      [-1, 5],
      [-2, 4],
      [-1, 5],
    ]);
    expect(tracing.reasons).toEqual([
      'the call went on with aten.add.Tensor where the recorded call did not',
    ]);
    const [mulStep] = tracing.start.steps;
    const next = mulStep?.kind === 'op' ? mulStep.next.steps.map(({ kind }) => kind) : [];
    expect(next).toEqual(['op', 'return']);
  });

  it('passes where nothing may be recorded: what was matched is computed, the rest runs eagerly', () => {
    const tracing = new Tracing(false);
    tracing.run(() => mul(x, 2));
    const { result, fitted, cursor } = tracing.run(() => add(mul(x, 2), 1));
    expect([result.toArray(), fitted, cursor.passing]).toEqual([[-1, 5], false, true]);
  });

  it('marks where its segments begin', () => {
    const tracing = new Tracing();
    const body = (): unknown => {
      const y = mul(x, 2);
      graphBreak();
      return add(y, 1);
    };
    const { cursor } = tracing.run(body);
    expect(kinds(stepsOf(cursor))).toEqual([
      'aten.mul.Tensor',
      'break',
      'aten.add.Tensor',
      'return',
    ]);
    expect(kinds(cursor.matched)).toEqual(['aten.add.Tensor', 'return']);
    const replay = tracing.run(body).cursor;
    expect([...replay.earlier.kept, replay.frame].map((frame) => frame.isCompiled)).toEqual([
      true,
      true,
    ]);
  });

  it('takes a number that differs as another path', () => {
    const tracing = new Tracing();
    tracing.run(() => mul(x, 2));
    tracing.run(() => mul(x, 3));
    expect(tracing.reasons).toEqual(["argument 'other' of aten.mul.Tensor == 2, actual 3"]);
  });
});
