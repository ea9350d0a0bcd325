/**
 * @file Builds functional ATen graphs by hand, with recorded values inferred by the operators' own rules.
 */
import { type Argument, Graph, GraphModule, Node, getItem } from '@tessera/graph';
import {
  type DeviceType,
  type DType,
  type Tensor,
  type TensorMeta,
  getOp,
  isTensor,
} from '@tessera/tensor';
import { contiguousStrides, fakeFromMeta, outputMetas } from '@tessera/tensor/internal';
import type { Capabilities, CompileTarget } from '../src/index.js';

const ALL: readonly DType[] = [
  'float32',
  'float64',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
];

/** A target without parallelism, so that no reduction is split. */
export function target(overrides: Partial<Capabilities> = {}): CompileTarget {
  return {
    device: 'cpu',
    capabilities: {
      dtypes: new Set(ALL),
      int64: 'native',
      maxBuffersPerKernel: 64,
      extern: false,
      parallelism: 1,
      splitReductionThreshold: 2 ** 40,
      ...overrides,
    },
  };
}

function fake(meta: TensorMeta): Tensor {
  return fakeFromMeta({
    dtype: meta.dtype,
    device: meta.device,
    sizes: meta.sizes,
    strides: meta.strides,
  });
}

function valuesOf(arg: unknown): unknown {
  if (arg instanceof Node) return arg.meta.val;
  return Array.isArray(arg) ? arg.map(valuesOf) : arg;
}

declare module '@tessera/tensor' {
  interface DeviceTypes {
    readonly gpu: true;
    readonly npu: true;
  }
}

/** See the file header. */
export class GraphBuilder {
  readonly graph: Graph = new Graph();

  input(
    sizes: readonly number[],
    dtype: DType = 'float32',
    strides: readonly number[] = contiguousStrides(sizes),
    device: DeviceType = 'cpu',
  ): Node {
    const node = this.graph.placeholder(`x${this.graph.placeholders.length}`);
    node.meta.val = fakeFromMeta({ sizes, strides, dtype, device });
    return node;
  }

  scalar(value: number, kind: 'float' | 'int' = 'float'): Node {
    const node = this.graph.placeholder(`s${this.graph.placeholders.length}`);
    node.meta.val = value;
    node.meta.scalar = { kind };
    return node;
  }

  /** A call; omitted trailing arguments take the schema's defaults. */
  op(name: string, ...given: readonly Argument[]): Node {
    const op = getOp(name.includes('::') ? name : `aten::${name}`);
    const args = op.schema.args.map((formal, i) =>
      i < given.length ? given[i]! : (formal.default as Argument),
    );
    const node = this.graph.callFunction(op, args);
    const real = args.map(valuesOf);
    const self = real[0] as Tensor;
    const made =
      op.record.view === undefined ? outputMetas(op, real) : op.record.view(op.bind(real));
    const metas = (Array.isArray(made) ? made : [made]) as TensorMeta[];
    const vals = metas.map((meta) =>
      fake({ ...meta, dtype: meta.dtype ?? self.dtype, device: meta.device ?? self.device }),
    );
    node.meta.val =
      op.schema.returns.length > 1 || op.schema.returns[0]!.type.list ? vals : vals[0]!;
    return node;
  }

  item(list: Node, index: number): Node {
    const node = this.graph.callFunction(getItem, [list, index]);
    node.meta.val = (list.meta.val as readonly Tensor[])[index]!;
    return node;
  }

  /** A copy on another device. */
  move(x: Node, device: DeviceType): Node {
    return this.op('_to_copy', x, null, null, device, null, false, null);
  }

  /** `copy_` of a value into an input. */
  mutate(input: Node, value: Node): void {
    const node = this.graph.callFunction(getOp('aten::copy_'), [input, value, false]);
    node.meta.val = input.meta.val!;
  }

  done(...outputs: readonly Argument[]): GraphModule {
    this.graph.output(outputs);
    return new GraphModule([], this.graph);
  }
}

/** Sizes of a node's tensor. */
export function sizesOf(node: Node): readonly number[] {
  if (!isTensor(node.meta.val)) throw new Error(`${node.name} is no tensor`);
  return node.meta.val.sizes;
}
