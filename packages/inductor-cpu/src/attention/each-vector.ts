/**
 * @file Elements of a run in vectors: eight at a time, then four, then single ones.
 */
import type { BodyEmitter } from '../body/body-emitter.js';
import { i32, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import { scaled, sum } from '../matmul/index-code.js';
import type { Run } from '../matmul/matmul-space.js';

/** Elements that are handled together: as many as `active`, in `groups` vectors, of which the first lies at `at`. */
export interface VectorPart {
  readonly groups: number;
  readonly active: number;
  readonly at: Local<'i32'>;
}

/** Runs `emit` for all elements of a run, those of `row` being `bytes` long each; elements go along the run's variable. */
export function eachVector(
  body: BodyEmitter,
  run: Run,
  row: Local<'i32'>,
  bytes: number,
  emit: (part: VectorPart) => void,
): void {
  const { f, scope } = body;
  const length = f.let('length', op('i32.sub', run.end, run.begin));
  let from = run.begin;
  for (const active of [8, 4, 1]) {
    const end =
      active === 1 ? run.end : f.let('middle', sum(run.begin, op('i32.and', length, i32(-active))));
    const groups = Math.ceil(active / 4);
    scope.loop(run.inner, from, end, active, () => {
      const position = op('i32.sub', scope.variable(run.inner), run.begin);
      const at = f.let('at', sum(row, scaled(position, bytes)));
      scope.vectorise({ lane: run.inner, across: run.inner, groups, active }, () =>
        emit({ groups, active, at }),
      );
    });
    from = end;
  }
}
