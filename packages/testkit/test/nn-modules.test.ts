/**
 * @file Every module of `@tessera/nn`, captured in one graph: forward and backward as eager, with the
 * graph interpreted and compiled for the CPU.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Backend, compile } from '@tessera/compile';
import * as nn from '@tessera/nn';
import { type DType, type Tensor, fromTypedArray, isTensor, manualSeed } from '@tessera/tensor';
import { assertClose } from '../src/index.js';

interface RecordedTensor {
  readonly shape: number[];
  readonly dtype: DType;
  readonly values: (number | string)[];
}

interface ModuleCase {
  readonly kind: string;
  readonly args: unknown[];
  readonly train: boolean;
  readonly same: boolean;
  readonly state: Record<string, RecordedTensor>;
  readonly inputs: unknown[];
  readonly options: unknown;
  readonly inputGrads: (RecordedTensor | null)[];
}

/** The cases that PyTorch's results are recorded of; here eager is the judge. */
const { cases } = JSON.parse(
  gunzipSync(
    readFileSync(new URL('../../nn/test/data/reference-modules.json.gz', import.meta.url)),
  ).toString(),
) as { readonly cases: readonly ModuleCase[] };

function restore(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(restore);
  if (!Object.hasOwn(value, 'values'))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, restore(item)]));
  const { shape, dtype, values } = value as RecordedTensor;
  const numbers = values.map((item) =>
    typeof item === 'string' ? Number(item.replace('inf', 'Infinity')) : item,
  );
  return fromTypedArray(Float64Array.from(numbers), shape, { dtype });
}

function tensorsIn(value: unknown): Tensor[] {
  if (isTensor(value)) return [value];
  return Array.isArray(value) ? value.flatMap(tensorsIn) : [];
}

/** One case per class and set of inputs that takes another path: losses only with the mean. */
const chosen = cases.filter(
  ({ kind, args }) =>
    !kind.endsWith('Loss') || !/"reduction":"(sum|none)"/.test(JSON.stringify(args)),
);

/** CTC labels in one row are laid out by reading the lengths, which ends a graph. */
const readsData = ({ kind, inputs }: ModuleCase): boolean =>
  kind === 'CTCLoss' && (inputs[1] as RecordedTensor).shape.length === 1;

interface Outcome {
  readonly outputs: Tensor[];
  readonly grads: (Tensor | null)[];
  readonly buffers: Tensor[];
}

/** Forward and backward of a fresh module; `backend` null runs it as it is. */
function run(item: ModuleCase, backend: string | Backend | null): Outcome {
  const classes = nn as unknown as Record<string, new (...args: unknown[]) => nn.Module>;
  const module = new classes[item.kind]!(...(restore(item.args) as unknown[]));
  module.train(item.train);
  module.loadStateDict(restore(item.state) as Record<string, Tensor>);
  const given = restore(item.inputs) as unknown[];
  const leaves = tensorsIn(given).filter((tensor, i) => {
    const wanted = item.inputGrads[i] !== null;
    if (wanted) tensor.requiresGrad_();
    return wanted;
  });
  const passed = item.same ? [given[0], given[0], given[0]] : given;
  const args = item.options === null ? passed : [...passed, restore(item.options)];
  const forward = (...values: unknown[]): unknown => module.call(...(values as never[]));
  const call =
    backend === null
      ? forward
      : compile<typeof forward>(forward, { backend, fullgraph: !readsData(item) });
  manualSeed(0);
  const outputs = tensorsIn(call(...args));
  const losses = outputs
    .filter((output) => output.requiresGrad)
    .map((output) => output.mul(output.detach().add(1)).sum());
  if (losses.length > 0) losses.reduce((a, b) => a.add(b)).backward();
  return {
    outputs,
    grads: [...leaves, ...module.parameters()].map((tensor) => tensor.grad),
    buffers: module.buffers(),
  };
}

function expectSame(actual: Outcome, expected: Outcome): void {
  for (const part of ['outputs', 'grads', 'buffers'] as const) {
    expect(actual[part].length).toBe(expected[part].length);
    actual[part].forEach((value, i) => {
      const right = expected[part][i]!;
      if (value === null || right === null) expect(value).toBe(right);
      else assertClose(value.detach(), right.detach());
    });
  }
}

function nameOf({ kind, args, train }: ModuleCase): string {
  const text = JSON.stringify(args, (_, value: unknown) =>
    typeof value === 'object' && value !== null && Object.hasOwn(value, 'values') ? 't' : value,
  );
  return `${kind}(${text.slice(1, -1)})${train ? '' : ' in evaluation'}`;
}

describe.each(['aot_eager', 'inductor'])('%s: one graph, as eager', (backend) => {
  it.each(chosen.map((item) => [nameOf(item), item] as const))('%s', (_, item) => {
    expectSame(run(item, backend), run(item, null));
  });
});

describe('random modules', () => {
  const random: [string, () => nn.TensorModule, number[]][] = [
    ['Dropout', () => new nn.Dropout(0.5), [4, 8]],
    ['Dropout1d', () => new nn.Dropout1d(0.5), [2, 4, 5]],
    ['Dropout2d', () => new nn.Dropout2d(0.5), [2, 4, 3, 3]],
    ['Dropout3d', () => new nn.Dropout3d(0.5), [2, 4, 2, 2, 2]],
    ['AlphaDropout', () => new nn.AlphaDropout(0.5), [4, 8]],
    ['FeatureAlphaDropout', () => new nn.FeatureAlphaDropout(0.5), [2, 4, 3]],
    ['RReLU', () => new nn.RReLU(), [4, 8]],
  ];

  it.each(random)('%s: the same numbers compiled, in one graph', (_, make, sizes) => {
    const count = sizes.reduce((product, size) => product * size, 1);
    const x = fromTypedArray(
      Float32Array.from({ length: count }, (__, i) => Math.sin(i) + 0.1),
      sizes,
    );
    const module = make();
    const outcome = (call: (input: Tensor) => Tensor): Tensor[] => {
      const leaf = x.clone().requiresGrad_();
      manualSeed(3);
      const output = call(leaf);
      output.sum().backward();
      return [output.detach(), leaf.grad!];
    };
    const expected = outcome((input) => module.call(input));
    for (const backend of ['aot_eager', 'inductor']) {
      const compiled = compile((input: Tensor) => module.call(input), { backend, fullgraph: true });
      outcome(compiled).forEach((value, i) => assertClose(value, expected[i]!));
    }
  });
});

describe.each(['eager', 'aot_eager', 'inductor'])('backward hooks with %s', (backend) => {
  it('run with real gradients whenever the backward of the one graph does', () => {
    const outcome = (compiled: boolean): unknown[] => {
      const layer = new nn.Linear(2, 3);
      layer.loadStateDict({
        weight: fromTypedArray(Float32Array.of(1, 2, 3, 4, 5, 6), [3, 2]),
        bias: fromTypedArray(Float32Array.of(1, 2, 3), [3]),
      });
      const model = new nn.Sequential(layer, new nn.ReLU());
      const seen: unknown[] = [];
      layer.registerFullBackwardPreHook((_, gradOutput) => [gradOutput[0]!.mul(2)]);
      const handle = layer.registerFullBackwardHook((_, gradInput, gradOutput) => {
        seen.push(gradOutput[0]);
        return [gradInput[0]!.mul(gradInput[0]!.sum().item() as number)];
      });
      const forward = (x: Tensor): Tensor => model.call(x.mul(2));
      const call = compiled ? compile(forward, { backend, fullgraph: true }) : forward;
      const result: unknown[] = [];
      for (const value of [1, 2, 3, 4]) {
        if (value === 4) handle.remove();
        const x = fromTypedArray(Float32Array.of(value, 1), [1, 2]).requiresGrad_();
        call(x).mul(value).sum().backward();
        result.push(x.grad!.toArray(), layer.weight.grad!.toArray());
      }
      return [...result, ...seen.map((grad) => (grad as Tensor).toArray())];
    };
    expect(outcome(true)).toEqual(outcome(false));
  });

  it('run inside a captured training step', () => {
    const layer = new nn.Linear(2, 1);
    let sum = 0;
    layer.registerFullBackwardHook((_, __, gradOutput) => {
      sum += gradOutput[0]!.sum().item() as number;
    });
    const step = compile(
      (x: Tensor) => {
        layer.zeroGrad();
        const loss = layer.call(x).sum();
        loss.backward();
        return loss;
      },
      { backend },
    );
    for (let i = 1; i <= 3; i++) {
      step(fromTypedArray(Float32Array.of(i, 1, 1, 1), [2, 2]));
      expect(sum).toBe(2 * i);
      expect(layer.weight.grad!.toArray()).toEqual([[i + 1, 2]]);
    }
  });
});
