/**
 * @file Splitting graphs by device: which steps there are, in which order, and what goes between them.
 */
import { type GraphModule, lintGraph } from '@tessera/graph';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, fromTypedArray, getOp, library } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compileDevices, compileToExecutable, splitGraph } from '../src/index.js';
import { GraphBuilder } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

/** Inputs on cpu and on `gpu`. */
class TwoDevices extends GraphBuilder {
  readonly a = this.input([2, 3]);
  readonly b = this.input([2, 3], 'float32', [3, 1], 'gpu');
}

/** The steps as text: slots in, slots out, the graph. */
function steps(module: GraphModule): string {
  const before = module.print();
  const { steps: list, results } = splitGraph(module);
  expect(module.print()).toBe(before);
  for (const { module: part } of list) lintGraph(part.graph, part);
  const texts = list.map(({ kind, device, reads, fills, frees, module: part }) => {
    const what = kind === 'host' ? kind : `${kind} on ${device}`;
    const freed = frees.length > 0 ? `, frees ${frees.join(' ')}` : '';
    return `${what}: ${reads.join(' ')} -> ${fills.join(' ')}${freed}\n${part.print({ name: 'step' })}`;
  });
  const made = results.map((r) => (r.kind === 'slot' ? `slot ${r.slot}` : String(r.value)));
  return `${texts.join('')}returns ${made.join(', ')}`;
}

function codeOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
  return 'nothing';
}

describe('splitGraph', () => {
  it('makes one subgraph per device however the program alternates between them', () => {
    const g = new TwoDevices();
    const here = [g.op('sin', g.a), g.op('sin', g.b), g.op('cos', g.a), g.op('cos', g.b)];
    expect(steps(g.done(...here, null, 7))).toMatchInlineSnapshot(`
      "subgraph on cpu: 0 -> 2 3
      export function step(x0: Tensor /* f32[2, 3] */) {
        const sin = aten.sin.default(x0); // f32[2, 3]
        const cos = aten.cos.default(x0); // f32[2, 3]
        return [sin, cos];
      }
      subgraph on gpu: 1 -> 4 5
      export function step(x1: Tensor /* gpu:f32[2, 3] */) {
        const sin_1 = aten.sin.default(x1); // gpu:f32[2, 3]
        const cos_1 = aten.cos.default(x1); // gpu:f32[2, 3]
        return [sin_1, cos_1];
      }
      returns slot 2, slot 4, slot 3, slot 5, null, 7"
    `);
  });

  it('moves values between subgraphs, and frees what was only moved', () => {
    const g = new TwoDevices();
    const sum = g.op('sum.dim_IntList', g.op('exp', g.a), null);
    const moved = g.move(sum, 'gpu');
    expect(steps(g.done(g.op('mul.Tensor', g.b, moved)))).toMatchInlineSnapshot(`
      "subgraph on cpu: 0 -> 2
      export function step(x0: Tensor /* f32[2, 3] */) {
        const exp = aten.exp.default(x0); // f32[2, 3]
        const sum = aten.sum.dim_IntList(exp, null, false, null); // f32[]
        return [sum];
      }
      host: 2 -> 3, frees 2
      export function step(sum: Tensor /* f32[] */) {
        const _to_copy = aten._to_copy.default(sum, null, null, "gpu", null, false, null); // gpu:f32[]
        return [_to_copy];
      }
      subgraph on gpu: 1 3 -> 4, frees 3
      export function step(x1: Tensor /* gpu:f32[2, 3] */, _to_copy: Tensor /* gpu:f32[] */) {
        const mul = aten.mul.Tensor(x1, _to_copy); // gpu:f32[2, 3]
        return [mul];
      }
      returns slot 4"
    `);
  });

  it('moves views of inputs without a subgraph that copies them first', () => {
    const g = new TwoDevices();
    const row = g.move(g.op('select.int', g.op('t', g.a), 0, 1), 'gpu');
    expect(steps(g.done(g.op('sum.dim_IntList', g.b, null), row))).toMatchInlineSnapshot(`
      "host: 0 -> 2
      export function step(x0: Tensor /* f32[2, 3] */) {
        const t = aten.t.default(x0); // f32[3, 2] strides [1, 3]
        const select = aten.select.int(t, 0, 1); // f32[2] strides [3]
        const _to_copy = aten._to_copy.default(select, null, null, "gpu", null, false, null); // gpu:f32[2]
        return [_to_copy];
      }
      subgraph on gpu: 1 -> 3
      export function step(x1: Tensor /* gpu:f32[2, 3] */) {
        const sum = aten.sum.dim_IntList(x1, null, false, null); // gpu:f32[]
        return [sum];
      }
      returns slot 3, slot 2"
    `);
  });

  it('gives each subgraph its own view of what it reads', () => {
    const g = new TwoDevices();
    const view = g.op('t', g.op('exp', g.a));
    const again = g.op('mm', view, g.a);
    expect(steps(g.done(again, g.move(view, 'gpu')))).toMatchInlineSnapshot(`
      "subgraph on cpu: 0 -> 2 3
      export function step(x0: Tensor /* f32[2, 3] */) {
        const exp = aten.exp.default(x0); // f32[2, 3]
        const t = aten.t.default(exp); // f32[3, 2] strides [1, 3]
        const mm = aten.mm.default(t, x0); // f32[3, 3]
        return [exp, mm];
      }
      host: 2 -> 4, frees 2
      export function step(exp: Tensor /* f32[2, 3] */) {
        const t = aten.t.default(exp); // f32[3, 2] strides [1, 3]
        const _to_copy = aten._to_copy.default(t, null, null, "gpu", null, false, null); // gpu:f32[3, 2] strides [1, 3]
        return [_to_copy];
      }
      returns slot 3, slot 4"
    `);
  });

  it('moves an input before it is updated, also if the update is the only work of its device', () => {
    const g = new TwoDevices();
    const updated = g.op('add.Tensor', g.a, 1);
    const old = g.op('mul.Tensor', g.b, g.move(g.a, 'gpu'));
    const moved = g.move(updated, 'gpu');
    g.mutate(g.a, updated);
    g.mutate(g.b, g.op('add.Tensor', old, moved));
    expect(steps(g.done())).toMatchInlineSnapshot(`
      "host: 0 -> 2
      export function step(x0: Tensor /* f32[2, 3] */) {
        const _to_copy = aten._to_copy.default(x0, null, null, "gpu", null, false, null); // gpu:f32[2, 3]
        return [_to_copy];
      }
      subgraph on cpu: 0 -> 3
      export function step(x0: Tensor /* f32[2, 3] */) {
        const add = aten.add.Tensor(x0, 1, 1); // f32[2, 3]
        const copy_ = aten.copy_.default(x0, add, false); // f32[2, 3]
        return [add];
      }
      host: 3 -> 4, frees 3
      export function step(add: Tensor /* f32[2, 3] */) {
        const _to_copy_1 = aten._to_copy.default(add, null, null, "gpu", null, false, null); // gpu:f32[2, 3]
        return [_to_copy_1];
      }
      subgraph on gpu: 1 2 4 -> , frees 2 4
      export function step(x1: Tensor /* gpu:f32[2, 3] */, _to_copy: Tensor /* gpu:f32[2, 3] */, _to_copy_1: Tensor /* gpu:f32[2, 3] */) {
        const mul = aten.mul.Tensor(x1, _to_copy); // gpu:f32[2, 3]
        const add_1 = aten.add.Tensor(mul, _to_copy_1, 1); // gpu:f32[2, 3]
        const copy__1 = aten.copy_.default(x1, add_1, false); // gpu:f32[2, 3]
        return [];
      }
      returns "
    `);
  });

  it('draws random numbers in the order of the program', () => {
    const g = new TwoDevices();
    const draw = (device: string) => g.op('rand', [2, 3], 'float32', null, device, null);
    const [first, second, third] = [draw('gpu'), draw('cpu'), draw('gpu')];
    const sum = g.op('add.Tensor', g.op('add.Tensor', first, third), g.move(second, 'gpu'));
    expect(steps(g.done(sum))).toMatchInlineSnapshot(`
      "subgraph on gpu:  -> 2
      export function step() {
        const rand = aten.rand.default([2, 3], "float32", null, "gpu", null); // gpu:f32[2, 3]
        return [rand];
      }
      subgraph on cpu:  -> 3
      export function step() {
        const rand_1 = aten.rand.default([2, 3], "float32", null, "cpu", null); // f32[2, 3]
        return [rand_1];
      }
      host: 3 -> 4, frees 3
      export function step(rand_1: Tensor /* f32[2, 3] */) {
        const _to_copy = aten._to_copy.default(rand_1, null, null, "gpu", null, false, null); // gpu:f32[2, 3]
        return [_to_copy];
      }
      subgraph on gpu: 2 4 -> 5, frees 2 4
      export function step(rand: Tensor /* gpu:f32[2, 3] */, _to_copy: Tensor /* gpu:f32[2, 3] */) {
        const rand_2 = aten.rand.default([2, 3], "float32", null, "gpu", null); // gpu:f32[2, 3]
        const add = aten.add.Tensor(rand, rand_2, 1); // gpu:f32[2, 3]
        const add_1 = aten.add.Tensor(add, _to_copy, 1); // gpu:f32[2, 3]
        return [add_1];
      }
      returns slot 5"
    `);
  });

  it('updates an input behind every reader, in whichever subgraph that is', () => {
    const g = new TwoDevices();
    const draw = (device: string) => g.op('rand', [2, 3], 'float32', null, device, null);
    const [first, second, third] = [draw('cpu'), draw('gpu'), draw('cpu')];
    const late = g.op('mul.Tensor', g.op('t', g.op('t', g.a)), third);
    g.mutate(g.a, first);
    const parts = splitGraph(g.done(second, late)).steps.map(({ module }) =>
      module.graph.nodes.filter((n) => n.op === 'call_function').map((n) => n.name),
    );
    expect(parts).toEqual([['rand'], ['rand_1'], ['rand_2', 't', 't_1', 'mul', 'copy_']]);
  });

  it('copies results that are inputs, views or repeated, before updates', () => {
    const g = new TwoDevices();
    const moved = g.move(g.a, 'gpu');
    const update = g.op('add.Tensor', g.a, 1);
    const view = g.op('t', g.a);
    g.mutate(g.a, update);
    expect(steps(g.done(g.a, view, moved, moved, g.b))).toMatchInlineSnapshot(`
      "host: 0 -> 2
      export function step(x0: Tensor /* f32[2, 3] */) {
        const _to_copy = aten._to_copy.default(x0, null, null, "gpu", null, false, null); // gpu:f32[2, 3]
        return [_to_copy];
      }
      subgraph on cpu: 0 -> 3 4
      export function step(x0: Tensor /* f32[2, 3] */) {
        const add = aten.add.Tensor(x0, 1, 1); // f32[2, 3]
        const t = aten.t.default(x0); // f32[3, 2] strides [1, 3]
        const clone = aten.clone.default(x0, null); // f32[2, 3]
        const clone_1 = aten.clone.default(t, null); // f32[3, 2] strides [1, 3]
        const copy_ = aten.copy_.default(x0, add, false); // f32[2, 3]
        return [clone, clone_1];
      }
      subgraph on gpu: 1 2 -> 5 6
      export function step(x1: Tensor /* gpu:f32[2, 3] */, _to_copy: Tensor /* gpu:f32[2, 3] */) {
        const clone_2 = aten.clone.default(_to_copy, null); // gpu:f32[2, 3]
        const clone_3 = aten.clone.default(x1, null); // gpu:f32[2, 3]
        return [clone_2, clone_3];
      }
      returns slot 3, slot 4, slot 2, slot 5, slot 6"
    `);
  });

  it('passes runtime scalars and constants to the subgraphs that use them', () => {
    const g = new TwoDevices();
    const [lr, unused] = [g.scalar(0.1), g.scalar(3, 'int')];
    const weight = g.graph.getAttr('weight');
    weight.meta.val = g.b.meta.val!;
    const module = g.done(g.op('mul.Tensor', g.a, lr), g.op('mul.Tensor', g.b, weight));
    module.setAttribute('weight', fromTypedArray(new Float32Array(6), [2, 3]));
    expect(unused.name).toBe('s3');
    expect(steps(module)).toMatchInlineSnapshot(`
      "subgraph on cpu: 0 2 -> 4
      export function step(x0: Tensor /* f32[2, 3] */, s2: number /* float */) {
        const mul = aten.mul.Tensor(x0, s2); // f32[2, 3]
        return [mul];
      }
      subgraph on gpu: 1 -> 5
      export function step(x1: Tensor /* gpu:f32[2, 3] */) {
        const weight = self.weight; // gpu:f32[2, 3]
        const mul_1 = aten.mul.Tensor(x1, weight); // gpu:f32[2, 3]
        return [mul_1];
      }
      returns slot 4, slot 5"
    `);
  });

  it('makes one subgraph for each of three devices', () => {
    const g = new TwoDevices();
    const third = g.input([2, 3], 'float32', [3, 1], 'npu');
    const onGpu = g.op('add.Tensor', g.b, g.move(g.a, 'gpu'));
    const onNpu = g.op('add.Tensor', third, g.move(g.op('exp', g.a), 'npu'));
    const list = splitGraph(g.done(onNpu, onGpu)).steps;
    const order = list.map(({ kind, device }) => device ?? kind);
    expect(order).toEqual(['host', 'gpu', 'cpu', 'host', 'npu']);
  });

  it('refuses operands on two devices, and copies that would have to wait', () => {
    const mixed = new TwoDevices();
    const sum = mixed.op('add.Tensor', mixed.b, mixed.a);
    expect(codeOf(() => splitGraph(mixed.done(sum)))).toBe('device-mismatch');
    const back = new TwoDevices();
    const moved = back.move(back.b, 'cpu');
    expect(codeOf(() => splitGraph(back.done(moved, back.a)))).toBe('data-async-only');
  });

  it('refuses operators that write to what another step computes', () => {
    library('split').define('bump_(Tensor(a!) self, Tensor other) -> Tensor(a!)');
    const g = new TwoDevices();
    const draw = (device: string) => g.op('rand', [2, 3], 'float32', null, device, null);
    // The step that draws on cpu first must end before the one that draws last.
    const [first, second, third] = [draw('cpu'), draw('gpu'), draw('cpu')];
    const bumped = g.graph.callFunction(getOp('split::bump_'), [first, third]);
    bumped.meta.val = first.meta.val!;
    expect(codeOf(() => splitGraph(g.done(second, bumped)))).toBe('aot-unsupported');
  });
});

describe('compileDevices', () => {
  it('runs a graph of one device as one plan', () => {
    const g = new GraphBuilder();
    const x = g.input([2]);
    const call = compileDevices(g.done(g.op('mul.Tensor', x, 2)), (module, device, name) => {
      expect([device, name]).toEqual(['cpu', 'graph']);
      return compileToExecutable(module, interpreterBackend(), { name });
    });
    const [y] = call([fromTypedArray(Float32Array.of(1, 2), [2])]);
    expect(Array.from(readNumbers(y as Tensor))).toEqual([2, 4]);
    expect(call.parts).toHaveLength(1);
  });

  it('frees the parts that compiled when another does not', () => {
    const g = new TwoDevices();
    const disposed: string[] = [];
    const compile = (_: unknown, device: string): never => {
      if (device === 'gpu') throw new Error('no code for gpu');
      return Object.assign(() => [], { dispose: () => disposed.push(device) }) as never;
    };
    const module = g.done(g.op('sin', g.a), g.op('sin', g.b));
    expect(() => compileDevices(module, compile)).toThrow('no code for gpu');
    expect(disposed).toEqual(['cpu']);
  });
});
