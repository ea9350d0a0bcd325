import type { Node } from '@tessera/graph';
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  type BufferData,
  type ExecutionPlan,
  allocateData,
  compileGraph,
  interpretPlan,
  planFromJson,
  planToJson,
} from '../src/index.js';
import { GraphBuilder, target } from './graph-builder.js';
import { Dice } from './random-graph.js';

const SEED = 20261122;
const MUTANTS = 3000;

/** Pointwise, gather, masks, matrix product, reductions with places, scans, random numbers. */
function plans(): ExecutionPlan[] {
  const compiled = (build: (b: GraphBuilder) => Node[]): ExecutionPlan => {
    const b = new GraphBuilder();
    return compileGraph(b.done(...build(b)), { backend: target({ scans: true }) });
  };
  return [
    compiled((b) => [b.op('tanh', b.op('add.Tensor', b.op('mul.Tensor', b.input([3, 4]), 2), 1))]),
    compiled((b) => [b.op('index_select', b.input([4, 6]), 0, b.op('argmax', b.input([3, 5]), 1))]),
    compiled((b) => [b.op('gather', b.input([4, 3]), 0, b.input([2, 3], 'int64'))]),
    compiled((b) => [
      b.op('amax', b.op('constant_pad_nd', b.input([3, 4]), [1, 2, 0, 1], -1), [1]),
    ]),
    compiled((b) => [b.op('relu', b.op('mm', b.input([2, 3]), b.input([3, 4])))]),
    compiled((b) => [b.op('_softmax', b.input([3, 5]), 1, false), b.op('cumsum', b.input([6]), 0)]),
  ];
}

type Place = { readonly at: Record<string, unknown> | unknown[]; readonly key: string | number };

function placesIn(json: unknown): Place[] {
  const found: Place[] = [];
  const stack = [json];
  while (stack.length > 0) {
    const at = stack.pop();
    if (typeof at !== 'object' || at === null) continue;
    const keys = Array.isArray(at) ? at.map((_, i) => i) : Object.keys(at);
    for (const key of keys) {
      found.push({ at: at as Record<string, unknown>, key });
      stack.push((at as Record<string | number, unknown>)[key]);
    }
  }
  return found;
}

const ODD = [
  null, true, -1, 0, 1, 2, 3, 5, 7, 100, 0.5, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 40), 1e300, '', 'NaN', '-0', 'in0',
  'out0', 'i0', 'r0', '__proto__', 'constructor', 'float32', 'int64', 'bool', 'add', 'x=1', [], {}, [1], ['+', 'i0', 1],
  ['*', 'i0', -3], ['%', 'i0', 2], ['/', 'r0', 0], ['@', 0], { __proto__: null, kind: 'load' },
]; // prettier-ignore

/** Changes one place: another value, a value from elsewhere, a missing key, a nested copy, a moved number. */
function mutate(json: unknown, dice: Dice): void {
  const places = placesIn(json);
  const { at, key } = dice.pick(places);
  const holder = at as Record<string | number, unknown>;
  const old = holder[key];
  const other = dice.pick(places);
  switch (dice.roll(6)) {
    case 0:
      holder[key] = dice.pick(ODD);
      break;
    case 1:
      holder[key] = structuredClone((other.at as Record<string | number, unknown>)[other.key]);
      break;
    case 2:
      if (Array.isArray(at)) at.splice(key as number, 1);
      else delete holder[key];
      break;
    case 3:
      holder[key] =
        dice.roll(2) === 0 ? [old] : { [dice.pick(['value', '__proto__', 'kind'])]: old };
      break;
    case 4:
      if (Array.isArray(at)) at.push(structuredClone(old));
      else holder[key] = dice.pick(ODD);
      break;
    default:
      holder[key] = typeof old === 'number' ? old + dice.roll(9) - 4 : dice.pick(ODD);
  }
}

/** Points that a run visits, so that a mutant with long loops is not run. */
function work(plan: ExecutionPlan): number {
  const points = plan.kernels.map((kernel) => {
    const loops =
      kernel.kind === 'loop'
        ? [...kernel.outer, ...kernel.inner]
        : kernel.kind === 'matmul'
          ? [...kernel.batch, ...kernel.m, ...kernel.n, ...kernel.k]
          : [];
    return loops.reduce((total, v) => total * v.size, 1);
  });
  const elements = plan.buffers.reduce((total, { numel }) => total + numel, 0);
  const shapes = plan.outputs.flatMap(({ sizes, strides }) => [...sizes, ...strides]);
  return [...points, elements, ...shapes, plan.numInputs].reduce((total, n) => total + n, 0);
}

/** Runs a plan on arrays of just the sizes that it names; the interpreter refuses every access outside of them. */
function run(plan: ExecutionPlan, dice: Dice): void {
  const inputs = Array.from({ length: plan.numInputs }, (_, i): BufferData => {
    const buffer = plan.buffers.find(({ source }) => source.kind === 'input' && source.index === i);
    const data = allocateData(buffer?.dtype ?? 'float32', buffer?.numel ?? 0);
    for (let e = 0; e < data.length; e++) {
      const value = dice.roll(4) === 0 ? dice.roll(2 ** 31) - 2 ** 30 : dice.roll(12) - 6;
      if (data instanceof BigInt64Array) data[e] = BigInt(value);
      else data[e] = value;
    }
    return data;
  });
  interpretPlan(
    plan,
    inputs,
    plan.scalars.map(() => 1),
  );
}

describe('plans that were tampered with', () => {
  it(`are proven or refused (seed ${SEED})`, () => {
    const dice = new Dice(SEED);
    const texts = plans().map(planToJson);
    let accepted = 0;
    let ran = 0;
    for (let i = 0; i < MUTANTS; i++) {
      const json = JSON.parse(dice.pick(texts)) as unknown;
      for (let n = 1 + dice.roll(2); n > 0; n--) mutate(json, dice);
      const text = JSON.stringify(json);
      let plan: ExecutionPlan;
      try {
        plan = planFromJson(text);
      } catch (error) {
        if (isTesseraError(error, 'plan-invalid')) continue;
        throw new Error(`mutant ${i} of seed ${SEED}: ${text}`, { cause: error });
      }
      accepted++;
      if (work(plan) > 50_000) continue;
      ran++;
      try {
        run(plan, dice);
      } catch (error) {
        // What the kernel's own checks refuse.
        if (isTesseraError(error, 'index-out-of-range')) continue;
        throw new Error(`mutant ${i} of seed ${SEED} was accepted: ${text}`, { cause: error });
      }
    }
    // Both happen: some changes do no harm, most do.
    expect(accepted).toBeGreaterThan(MUTANTS / 50);
    expect(accepted).toBeLessThan(MUTANTS / 2);
    expect(ran).toBeGreaterThan(MUTANTS / 100);
    expect(({} as Record<string, unknown>).kind).toBeUndefined();
  });
});
