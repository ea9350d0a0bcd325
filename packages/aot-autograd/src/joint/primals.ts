/**
 * @file Primals: the inputs of a traced program, as FakeTensors and run-time scalars.
 *
 * Inputs that share memory give fakes that share a storage. The same tensor given twice is one primal.
 * What the program sees of an input that requires grad is not the leaf itself but an alias one step
 * behind it, so that the program may modify it in place; the leaf stays, and receives the gradient.
 */
import { FakeConverter, type Node, type TraceRecorder } from '@tessera/graph';
import { type ScalarKind, SymScalar, TesseraError } from '@tessera/shared';
import { GradNode, type Tensor, isTensor } from '@tessera/tensor';
import {
  type Edge,
  gradEdge,
  gradFnOf,
  makeTensor,
  requiresGrad,
  sameNumbers,
  setHistory,
} from '@tessera/tensor/internal';

/** A tensor input. */
export interface PrimalTensor {
  readonly kind: 'tensor';
  /** Position among the inputs of the program. */
  readonly position: number;
  readonly node: Node;
  /** Receives the gradient; never modified. */
  readonly leaf: Tensor;
  /** What the program works on; its layout changes with `t_()` and its kin. */
  readonly value: Tensor;
  /** Its layout before the program ran. */
  readonly layout: Layout;
  /** The backward node of `value` before the program ran; null if it requires no grad. */
  readonly entry: GradNode | null;
}

/** Where a tensor's elements are in its memory. */
export interface Layout {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  /** Elements. */
  readonly storageOffset: number;
}

/** A run-time scalar. */
export interface PrimalScalar {
  readonly kind: 'scalar';
  readonly position: number;
  readonly node: Node;
  readonly value: SymScalar;
}

/** An input of the program. */
export type Primal = PrimalTensor | PrimalScalar;

/** Inputs of a program. */
export interface Primals {
  /** Each distinct input, in order. */
  readonly list: readonly Primal[];
  /** The primal of every position. */
  readonly byPosition: readonly Primal[];
  /** Pairs of positions that hold the same tensor: [later, first]. */
  readonly duplicates: readonly (readonly [number, number])[];
}

/** Passes a gradient on; stands between a leaf and the program. */
export class ProgramInput extends GradNode {
  constructor(edge: Edge, leaf: Tensor) {
    super('ProgramInput', [edge], [{ sizes: leaf.sizes, dtype: leaf.dtype, device: leaf.device }]);
  }

  override apply(grads: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    return grads;
  }
}

/** An example of an input: a tensor (real or fake), a number, or a scalar with its kind. */
export type ExampleInput = Tensor | SymScalar | number | boolean;

/** What is known about inputs besides their examples. */
export interface InputInfo {
  readonly name: string;
  /** Kind of a scalar given as a plain number; default float. */
  readonly scalarKind?: ScalarKind | undefined;
  /** Where the value comes from, kept on the placeholder. */
  readonly source?: string | undefined;
}

/** Makes the primals of a trace and their placeholders. @throws invalid-argument */
export function makePrimals(
  recorder: TraceRecorder,
  examples: readonly ExampleInput[],
  infos: readonly InputInfo[],
): Primals {
  const converter = new FakeConverter();
  const list: Primal[] = [];
  const byTensor = new Map<Tensor, PrimalTensor>();
  const duplicates: [number, number][] = [];
  const byPosition = examples.map((example, position): Primal => {
    const { name, scalarKind, source } = infos[position];
    const remember = <P extends Primal>(primal: P): P => {
      if (source !== undefined) primal.node.meta.source = source;
      list.push(primal);
      return primal;
    };
    if (!isTensor(example)) {
      const value = scalarOf(example, name, scalarKind);
      return remember({ kind: 'scalar', position, value, node: recorder.addInput(value, name) });
    }
    const first = byTensor.get(example);
    if (first !== undefined) {
      duplicates.push([position, first.position]);
      return first;
    }
    const primal = remember(tensorPrimal(recorder, example, name, position, converter));
    byTensor.set(example, primal);
    return primal;
  });
  return { list, byPosition, duplicates };
}

function scalarOf(example: ExampleInput, name: string, kind: ScalarKind | undefined): SymScalar {
  if (example instanceof SymScalar) return example;
  if (typeof example === 'boolean') return new SymScalar(Number(example), 'bool', name);
  if (typeof example === 'number') return new SymScalar(example, kind ?? 'float', name);
  throw new TesseraError(
    'invalid-argument',
    `Input '${name}' of the graph is neither a tensor nor a number.`,
    {
      context: { name },
      hints: [
        'Only tensors and run-time scalars are inputs of a graph; other values are constants in it.',
      ],
    },
  );
}

function tensorPrimal(
  recorder: TraceRecorder,
  example: Tensor,
  name: string,
  position: number,
  converter: FakeConverter,
): PrimalTensor {
  const leaf = converter.fresh(example);
  leaf.requiresGradFlag = requiresGrad(example);
  const node = recorder.addInput(leaf, name);
  const edge = gradEdge(leaf);
  const { sizes, strides, storageOffset } = leaf;
  const layout = { sizes, strides, storageOffset };
  if (edge === null)
    return { kind: 'tensor', position, node, leaf, value: leaf, layout, entry: null };
  const value = makeTensor(
    leaf.storage,
    leaf.dtype,
    leaf.device,
    leaf.sizes,
    leaf.strides,
    leaf.storageOffset,
  );
  const entry = new ProgramInput(edge, leaf);
  // The base of the program's views is that of the input.
  entry.standsForLeaf = gradFnOf(example.base ?? example) === null;
  setHistory(value, entry, 0);
  recorder.alias(value, node);
  return { kind: 'tensor', position, node, leaf, value, layout, entry };
}

/** Whether the program changed how an input lies in its memory. */
export function hasNewLayout({ value, layout }: PrimalTensor): boolean {
  return (
    value.storageOffset !== layout.storageOffset ||
    !sameNumbers(value.sizes, layout.sizes) ||
    !sameNumbers(value.strides, layout.strides)
  );
}
