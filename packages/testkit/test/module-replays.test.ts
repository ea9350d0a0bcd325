/**
 * @file Every module is recorded once, and a replay sees what changes: attributes, parameters, mode, hooks, and other
 * code in the place of its forward.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CompiledFunction } from '@tessera/dynamo-trace';
import * as nn from '@tessera/nn';
import {
  type DType,
  type Tensor,
  fromTypedArray,
  isTensor,
  manualSeed,
  ones,
} from '@tessera/tensor';

interface Recorded {
  readonly shape: number[];
  readonly dtype: DType;
  readonly values: (number | string)[];
}
interface ModuleCase {
  readonly kind: string;
  readonly args: unknown[];
  readonly train: boolean;
  readonly same: boolean;
  readonly state: unknown;
  readonly inputs: unknown[];
  readonly options: unknown;
}
type Open = nn.Module & Record<string, unknown>;

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
  const { shape, dtype, values } = value as Recorded;
  const numbers = values.map((item) =>
    typeof item === 'string' ? Number(item.replace('inf', 'Infinity')) : item,
  );
  return fromTypedArray(Float64Array.from(numbers), shape, { dtype });
}

function build(item: ModuleCase): Open {
  const classes = nn as unknown as Record<string, new (...args: unknown[]) => nn.Module>;
  const module = new classes[item.kind]!(...(restore(item.args) as unknown[])) as Open;
  module.train(item.train);
  module.loadStateDict(restore(item.state) as Record<string, Tensor>);
  return module;
}

function argumentsOf(item: ModuleCase): unknown[] {
  const given = restore(item.inputs) as unknown[];
  const passed = item.same ? [given[0], given[0], given[0]] : given;
  return item.options === null ? passed : [...passed, restore(item.options)];
}

function values(value: unknown): unknown {
  if (isTensor(value)) return value.detach().toArray();
  return Array.isArray(value) ? value.map(values) : value;
}

/** A module and its twin whose calls are compiled; `compare` calls both. */
function pair(item: ModuleCase): {
  readonly both: readonly [Open, Open];
  readonly compiled: CompiledFunction;
  compare(): void;
} {
  const both = [build(item), build(item)] as const;
  const compiled = new CompiledFunction(
    (module: nn.Module, ...args: never[]) => module.call(...args),
    { backend: (module) => (inputs) => module.forward(...inputs) as Tensor[] },
  );
  const outcome = (module: Open, run: (args: unknown[]) => unknown): unknown => {
    manualSeed(3);
    const state = (): unknown => Object.values(module.stateDict()).map(values);
    try {
      return [values(run(argumentsOf(item))), state()];
    } catch (error) {
      return [(error as Error).message.split('\n')[0], state()];
    }
  };
  const compare = (): void => {
    for (let i = 0; i < 2; i++) {
      const expected = outcome(both[0], (args) => both[0].call(...(args as never[])));
      expect(outcome(both[1], (args) => compiled.call(undefined, [both[1], ...args]))).toEqual(
        expected,
      );
    }
  };
  return { both, compiled, compare };
}

const kinds = new Map<string, ModuleCase[]>();
for (const item of cases) {
  const known = kinds.get(item.kind) ?? [];
  if (known.length < 2) kinds.set(item.kind, [...known, item]);
}

describe.each([...kinds])('%s', (_, items) => {
  it.each(items.map((item, i) => [i, item] as const))('is recorded once (case %i)', (__, item) => {
    const { compiled, compare } = pair(item);
    compare();
    expect(compiled.captures.length).toBe(1);
  });

  it('sees every attribute and tensor that changes, and changes back', () => {
    const { both, compare } = pair(items[0]!);
    const set = (key: string, make: (old: unknown) => unknown): void => {
      const old = both.map((module) => module[key]);
      both.forEach((module, i) => (module[key] = make(old[i])));
      compare();
      both.forEach((module, i) => (module[key] = old[i]));
      compare();
    };
    compare();
    for (const [key, value] of Object.entries(both[0])) {
      if (key.startsWith('_')) continue;
      if (typeof value === 'boolean') set(key, (old) => old !== true);
      else if (typeof value === 'number' && !Number.isInteger(value))
        set(key, (old) => (old as number) * 0.5);
      else if (isTensor(value) && value.dtype === 'float32')
        set(key, (old) => {
          const half = (old as Tensor).detach().mul(0.5);
          return value instanceof nn.Parameter ? new nn.Parameter(half) : half;
        });
    }
  });

  it('sees hooks and another forward that come and go', () => {
    const { both, compare } = pair(items[0]!);
    const twice = (value: unknown): unknown => (isTensor(value) ? value.mul(2) : value);
    compare();
    const handles = both.map((module) => module.registerForwardHook((__, ___, out) => twice(out)));
    compare();
    for (const handle of handles) handle.remove();
    compare();
    for (const module of both) {
      const original = module.forward;
      module.forward = function (this: Open, ...args: never[]) {
        return twice(original.apply(this, args));
      };
    }
    compare();
    for (const module of both) delete (module as { forward?: unknown }).forward;
    compare();
  });
});

describe('code of the user in the place of built-in code', () => {
  const run = (module: nn.Module): ((x: Tensor) => unknown) => {
    const compiled = new CompiledFunction((x: Tensor) => module.call(...([x] as never[])), {
      backend: (graph) => (inputs) => graph.forward(...inputs) as Tensor[],
    });
    return (x) => values(compiled.call(undefined, [x]));
  };

  it('a method that the inherited forward calls is run on every call', () => {
    let fill = 1;
    class Padded extends nn.ConstantPad1d {
      protected override get filling(): { mode: 'constant'; value: number } {
        return { mode: 'constant', value: fill };
      }
    }
    const call = run(new Padded([1, 0], 0));
    for (fill of [1, 2, 3]) expect(call(ones([2]))).toEqual([fill, 1, 1]);
  });

  it('an activation that closes over a number is read on every call', () => {
    let scale = 1;
    const layer = new nn.TransformerEncoderLayer(2, 1, {
      dimFeedforward: 2,
      dropout: 0,
      activation: (x) => x.mul(scale),
    });
    const call = run(layer);
    for (scale of [1, 2, 4]) {
      const x = ones([2, 1, 2]).mul(0.5);
      expect(call(x)).toEqual(values(layer.call(x)));
    }
  });

  it('a built-in activation that is replaced by another', () => {
    const layer = new nn.TransformerEncoderLayer(2, 1, { dimFeedforward: 4, dropout: 0 });
    const other = new nn.TransformerEncoderLayer(2, 1, { activation: 'gelu' });
    const call = run(layer);
    const x = ones([2, 1, 2]).mul(0.5);
    for (const { activation } of [layer, other, layer]) {
      (layer as { activation: unknown }).activation = activation;
      expect(call(x)).toEqual(values(layer.call(x)));
    }
  });

  it('an update of an optimizer that closes over a number', () => {
    let decay = 1;
    class Decayed extends nn.optim.SGD {
      protected override update(...args: Parameters<nn.optim.SGD['update']>): void {
        super.update(...args);
        for (const param of args[0].params) param.mul_(decay);
      }
    }
    const w = new nn.Parameter(ones([2]));
    const optimizer = new Decayed([w], { lr: 0.5 });
    const step = new CompiledFunction(
      (x: Tensor) => {
        optimizer.zeroGrad();
        w.mul(x).sum().backward();
        optimizer.step();
      },
      { backend: (graph) => (inputs) => graph.forward(...inputs) as Tensor[] },
    );
    const seen: unknown[] = [];
    for (decay of [1, 2, 3, 4]) {
      step.call(undefined, [ones([2])]);
      seen.push(w.detach().toArray());
    }
    expect(seen).toEqual([
      [0.5, 0.5],
      [0, 0],
      [-1.5, -1.5],
      [-8, -8],
    ]);
  });
});
