import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  compileGraph,
  interpretPlan,
  planFromJson,
  planToJson,
  printKernel,
  verifyPlan,
  type ExecutionPlan,
} from '../src/index.js';
import { GraphBuilder, target } from './graph-builder.js';

function example(): ExecutionPlan {
  const b = new GraphBuilder();
  const [x, w, lr] = [b.input([4, 6]), b.input([6, 3]), b.scalar(0.1)];
  const padded = b.op('constant_pad_nd', x, [0, 0, 1, 1], -Infinity);
  const best = b.op('amax', padded, [1]);
  return compileGraph(
    b.done(
      b.op('mul.Tensor', b.op('mm', x, w), lr),
      best,
      b.op('index_select', x, 0, b.op('argmax', x, 0)),
    ),
    { backend: target(), name: 'example' },
  );
}

function code(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    return isTesseraError(error) ? `${error.code}: ${error.message.split('\n')[0]}` : String(error);
  }
  return 'no error';
}

describe('plans as JSON', () => {
  it('come back the same and compute the same', () => {
    const plan = example();
    const again = planFromJson(planToJson(plan));
    expect(again.kernels.map(printKernel)).toEqual(plan.kernels.map(printKernel));
    expect({ ...again, kernels: [] }).toEqual({ ...plan, kernels: [] });
    const inputs = (): Float32Array[] => [
      Float32Array.from({ length: 24 }, (_, i) => Math.sin(i)),
      Float32Array.from({ length: 18 }, (_, i) => Math.cos(i)),
    ];
    expect(interpretPlan(again, inputs(), [0.5])).toEqual(interpretPlan(plan, inputs(), [0.5]));
  });

  it('stay small where expressions share parts', () => {
    const b = new GraphBuilder();
    let x = b.input([4]);
    for (let i = 0; i < 60; i++) x = b.op('mul.Tensor', x, x);
    const text = planToJson(compileGraph(b.done(x), { backend: target() }));
    expect(text.length).toBeLessThan(20_000);
  });

  it('are rejected when damaged or of another version', () => {
    const text = planToJson(example());
    expect(code(() => planFromJson('{'))).toMatch(
      /^plan-invalid: Cannot read this execution plan: it is not JSON/,
    );
    expect(code(() => planFromJson('{}'))).toMatch(/^plan-invalid: .*not a plan/);
    expect(code(() => planFromJson(text.replace('"version":1', '"version":2')))).toMatch(
      /^plan-invalid: .*version 2/,
    );
    expect(
      code(() =>
        planFromJson(text.replace('"kernels":[', '"kernels":[{"kind":"dream","exprs":[]},')),
      ),
    ).toMatch(/^plan-invalid/);
    expect(
      code(() =>
        planFromJson(text.replace(/"launches":\[\{"kernel":\d+/, '"launches":[{"kernel":99')),
      ),
    ).toMatch(/^plan-invalid: .*no kernel 99/);
  });

  it('are checked for bindings and overlapping memory', () => {
    const plan = example();
    const rebound = {
      ...plan,
      launches: plan.launches.map((launch, i) =>
        i === 0 ? { ...launch, buffers: launch.buffers.slice(1) } : launch,
      ),
    };
    expect(code(() => verifyPlan(rebound))).toMatch(/binds another number of parameters/);
    const arena = {
      ...plan,
      arenaBytes: -1,
      buffers: plan.buffers.map((buffer) =>
        buffer.source.kind === 'output'
          ? { ...buffer, source: { kind: 'arena' as const, offset: 0 } }
          : buffer,
      ),
    };
    expect(code(() => verifyPlan(arena))).toMatch(/of an arena of -1/);
    expect(code(() => verifyPlan({ ...arena, arenaBytes: 4096 }))).toMatch(
      /share memory while both live|no error/,
    );
  });
});
