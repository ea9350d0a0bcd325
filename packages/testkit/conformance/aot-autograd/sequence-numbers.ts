/**
 * @file Rows about sequence numbers, which pair backward nodes with forward nodes.
 */
import { aotCompileCaptured, runEagerly } from '@tessera/aot-autograd';
import { compile } from '@tessera/compile';
import { type GraphModule, currentNode, makeFx } from '@tessera/graph';
import { BatchNorm2d, Conv2d, L1Loss, Linear, Module, ReLU } from '@tessera/nn';
import {
  Function,
  type FunctionContext,
  type OpOverload,
  type Tensor,
  grad,
  manualSeed,
  rand,
  randn,
  split,
  tensor,
} from '@tessera/tensor';
import { currentBackwardNode, peekSequenceNr } from '@tessera/tensor/internal';
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

const MODULES = ['conv1', 'bn1', 'relu1', 'fc1', 'lossFn'];

/** `sequence number|op|module` of the nodes of a graph that compute; numbers from the first node's. */
function tableOf({ graph }: GraphModule, first: number): string[] {
  return graph.nodes
    .filter((node) => node.op === 'call_function' && typeof node.target === 'object')
    .map(({ meta, target }) => {
      const path = JSON.stringify(meta.nnModuleStack ?? '');
      const module = MODULES.find((name) => path.includes(name)) ?? '';
      const number = meta.seqNr === undefined ? '-' : meta.seqNr - first;
      return `${number}|${String(target)}|${module}`;
    });
}

/**
 * The source's table, row by row. Its loss divides by the count where ours takes the mean's view; its linear layer
 * is an addmm behind a reshape, ours a product and a sum. The last number is that of gradients added up, there too.
 */
const FORWARD = [
  '0|aten.convolution.default|conv1',
  '0|aten.add.Tensor|bn1',
  '1|aten._native_batch_norm_legit_functional.default|bn1',
  '2|aten.relu.default|relu1',
  '3|aten.add.Tensor|',
  '4|aten.view.default|',
  '5|aten.t.default|fc1',
  '6|aten.unsqueeze.default|fc1',
  '7|aten.mm.default|fc1',
  '8|aten.squeeze.dim|fc1',
  '9|aten.add.Tensor|fc1',
  '10|aten.sub.Tensor|lossFn',
  '11|aten.abs.default|lossFn',
  '12|aten.mean.dim|lossFn',
  // The running statistics and the count of batches, which nothing differentiates.
  ...['-|aten.copy_.default|', '-|aten.copy_.default|', '-|aten.copy_.default|'],
];
const BACKWARD = [
  '12|aten.view.default|lossFn',
  '11|aten.sign.default|lossFn',
  '11|aten.mul.Tensor|lossFn',
  '8|aten.view.default|fc1',
  '7|aten.mm.default|fc1',
  '7|aten.t.default|fc1',
  // Views of saved values, which are made again rather than saved.
  '4|aten.view.default|',
  '6|aten.unsqueeze.default|fc1',
  '7|aten.mm.default|fc1',
  '7|aten.t.default|fc1',
  '6|aten.squeeze.dim|fc1',
  '5|aten.t.default|fc1',
  '4|aten.view.default|',
  '2|aten.threshold_backward.default|relu1',
  '1|aten.native_batch_norm_backward.default|bn1',
  '0|aten.convolution_backward.default|conv1',
  '12|aten.add.Tensor|',
];

/** Every backward node has the number, and the module, of the forward node whose gradient it computes. */
export function jointTable(): void {
  manualSeed(41);
  const model = new Model();
  let graphs: readonly GraphModule[] = [];
  const compiled = compile(model, {
    backend: (module, examples) => {
      const made = aotCompileCaptured(module, examples as never, { fwCompiler: runEagerly });
      graphs = [made.forward, made.backward!];
      return made.call as never;
    },
  });
  compiled(rand([1, 16, 4, 4]).requiresGrad_(), rand([1])).backward();
  const [forward, backward] = graphs as [GraphModule, GraphModule];
  const first = forward.graph.nodes.find(({ op }) => op === 'call_function')!.meta.seqNr!;
  expect(tableOf(forward, first)).toEqual(FORWARD);
  expect(tableOf(backward, first)).toEqual(BACKWARD);
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
