/**
 * @file Rows about sequence numbers, which pair backward nodes with forward nodes.
 */
import { aotCompileCaptured, runEagerly } from '@tessera/aot-autograd';
import { compile } from '@tessera/compile';
import { type GraphModule, type Node, currentNode, makeFx } from '@tessera/graph';
import { BatchNorm2d, Conv2d, L1Loss, Linear, Module, ReLU } from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type OpOverload,
  type Tensor,
  currentBackwardNode,
  grad,
  manualSeed,
  peekSequenceNr,
  rand,
  randn,
  split,
  tensor,
} from '@tessera/tensor';
import { expect } from 'vitest';

class Model extends Module {
  readonly conv1: Conv2d = new Conv2d(16, 16, 1, { padding: 'same' });
  readonly bn1: BatchNorm2d = new BatchNorm2d(16);
  readonly relu1: ReLU = new ReLU();
  readonly fc1: Linear = new Linear(16 * 4 * 4, 1);
  readonly lossFn: L1Loss = new L1Loss();

  override forward(x: Tensor, target: Tensor): Tensor {
    const y = this.relu1.call(this.bn1.call(this.conv1.call(x))).add(x);
    return this.lossFn.call(this.fc1.call(y.flatten()), target);
  }
}

/** `(sequence number, original op, module)` of the nodes of a graph that compute. */
function tableOf(nodes: readonly Node[]): { seqNr: number; op: string; module: string }[] {
  return nodes
    .filter((node) => typeof node.target === 'object')
    .map(({ meta, target }) => ({
      seqNr: meta.seqNr ?? -1,
      op: String(meta.originalAten ?? target),
      module: moduleOf(meta.nnModuleStack),
    }));
}

function moduleOf(stack: unknown): string {
  const path = JSON.stringify(stack ?? '');
  return ['conv1', 'bn1', 'relu1', 'fc1', 'lossFn'].find((name) => path.includes(name)) ?? '';
}

/** Every backward node of a network has the number of the forward node whose gradient it computes. */
export function jointTable(): void {
  manualSeed(41);
  const model = new Model();
  let forward: readonly Node[] = [];
  let backward: readonly Node[] = [];
  const compiled = compile(model, {
    backend: (module, examples) => {
      const result = aotCompileCaptured(module, examples as never, { fwCompiler: runEagerly });
      forward = result.forward.graph.nodes;
      backward = result.backward?.graph.nodes ?? [];
      return result.call as never;
    },
  });
  compiled(rand([1, 16, 4, 4]).requiresGrad_(), rand([1])).backward();

  const table = tableOf(forward);
  const numberOf = (op: string): number => table.find((row) => row.op.startsWith(op))!.seqNr;
  const names = ['aten.conv', 'aten.batch_norm', 'aten.relu', 'aten.add.Tensor', 'aten.flatten'];
  const numbers = [...names, 'aten.linear', 'aten.l1_loss'].map(numberOf);
  // Later ops have larger numbers.
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  expect(table.find((row) => row.op.startsWith('aten.conv'))!.module).toBe('conv1');
  expect(table.find((row) => row.op.startsWith('aten.linear'))!.module).toBe('fc1');

  const pairs = tableOf(backward).map((row) => ({
    op: row.op,
    of: table.filter((other) => other.seqNr === row.seqNr).map((other) => other.module),
  }));
  expect(pairs.length).toBeGreaterThan(8);
  for (const pair of pairs) expect(pair.of, `${pair.op} has a forward node`).not.toHaveLength(0);
  const moduleFor = (op: string): string | undefined =>
    pairs.find((pair) => pair.op.startsWith(op))?.of[0];
  expect(moduleFor('aten.convolution_backward')).toBe('conv1');
  expect(moduleFor('aten.native_batch_norm_backward')).toBe('bn1');
  expect(moduleFor('aten.threshold_backward')).toBe('relu1');
  expect(moduleFor('aten.mm')).toBe('fc1');
  expect(moduleFor('aten.sign')).toBe('lossFn');
  // Backward goes from the largest number to the smallest.
  const order = tableOf(backward).filter((row) => !row.op.startsWith('aten.add'));
  expect(order.at(-1)!.seqNr).toBe(numbers[0]);
}

/** `op number`, counted from the first node's, and whether a node was recorded by a backward. */
function metadataOf(module: GraphModule, first: number): string[] {
  return module.graph.nodes
    .filter((node) => node.op === 'call_function' && typeof node.target === 'object')
    .map(({ target, meta }) => {
      const backward = meta.isBackward === true ? ' backward' : '';
      return `${(target as OpOverload).schema.name} ${meta.seqNr! - first}${backward}`;
    });
}

const SPLIT_BACKWARD = [
  ...['view 3 backward', 'expand 3 backward'],
  ...['view 2 backward', 'expand 2 backward'],
  ...['view 1 backward', 'expand 1 backward'],
];

/**
 * While a backward is traced, what it records has the number of the node that runs; once it is over, also where it
 * ended in an error, what is recorded next has not.
 */
export function noMetadataIsLeft(): void {
  manualSeed(43);
  const sizes = tensor([7, 16, 9], { dtype: 'int64' }).toArray() as number[];
  const result = randn([32]).requiresGrad_();
  const total = (x: Tensor): Tensor =>
    split(x, sizes)
      .map((out) => out.sum())
      .reduce((a, b) => a.add(b));
  const nothingIsLeft = (): void => {
    expect(currentBackwardNode()).toBeNull();
    expect(currentNode()).toBeNull();
    const next = makeFx((x: Tensor) => x.sin())(result.detach());
    expect(metadataOf(next, peekSequenceNr() - 1)).toEqual(['sin 0']);
  };

  // Traced: forward, backward, and an operator behind it.
  const first = peekSequenceNr();
  const traced = makeFx((x: Tensor) => grad(total(x), [x])[0]!.sin())(result);
  expect(metadataOf(traced, first)).toEqual([
    ...['split_with_sizes 0', 'sum 1', 'sum 2', 'sum 3', 'add 4', 'add 5', 'ones_like 5'],
    ...SPLIT_BACKWARD,
    'cat 0 backward',
    'sin 5',
  ]);
  nothingIsLeft();

  // Compiled ahead of time: the backward graph has the numbers of the forward one.
  let graphs: readonly GraphModule[] = [];
  const compiled = compile(total, {
    backend: (module, examples) => {
      const made = aotCompileCaptured(module, examples as never, { fwCompiler: runEagerly });
      graphs = [made.forward, made.backward!];
      return made.call as never;
    },
  });
  compiled(result).backward();
  expect(result.grad!.toArray()).toEqual(new Array(32).fill(1));
  const [forward, backward] = graphs as [GraphModule, GraphModule];
  const start = forward.graph.nodes.find((node) => node.op === 'call_function')!.meta.seqNr!;
  const numbers = metadataOf(forward, start);
  expect(numbers).toEqual(['split_with_sizes 0', 'sum 1', 'sum 2', 'sum 3', 'add 4', 'add 5']);
  expect(metadataOf(backward, start)).toEqual([
    ...['view 3 backward', 'expand 3 backward', 'expand 2 backward', 'expand 1 backward'],
    'cat 0 backward',
  ]);
  nothingIsLeft();

  // Run by the engine, with hooks; and stopped within a node.
  const outs = split(result, sizes);
  const seen: unknown[] = [];
  for (const out of outs) out.registerHook((gradient: Tensor) => void seen.push(gradient.sizes));
  const sum = outs.map((out) => out.sum()).reduce((a, b) => a.add(b));
  sum.backward(null, { retainGraph: true });
  expect(seen).toEqual([[7], [16], [9]]);
  nothingIsLeft();
  class Stops extends Function {
    static forward(_ctx: FunctionContext, x: Tensor): Tensor {
      return x.clone();
    }

    static backward(): never {
      expect(currentBackwardNode()).not.toBeNull();
      throw new Error('stopped');
    }
  }
  expect(() => Stops.apply(sum).backward()).toThrow('stopped');
  nothingIsLeft();
}
