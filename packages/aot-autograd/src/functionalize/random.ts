/**
 * @file Random ops of a functional graph: numbers from an explicit (seed, offset).
 *
 * Every random op takes one offset of the generator, in program order. The graph gets seed and offset as
 * scalar inputs, reserved by the caller per run, so compiled numbers are eager's, and a value that is
 * recomputed in the backward pass is the same again.
 */
import { type Argument, type Graph, type Node } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { type DType, type OpOverload, defaultDType } from '@tessera/tensor';
import type { Emitter } from './emitter.js';

/** Whether a node draws from the generator. */
export function isRandomOp(node: Node): boolean {
  return typeof node.target === 'object' && node.target.hasTag('random');
}

type Draw = (size: readonly number[], dtype: DType, device: string) => Node;

/** A random op in terms of uniform and normal numbers; `args` by schema position. */
type RandomRule = (
  emitter: Emitter,
  args: readonly Argument[],
  uniform: Draw,
  normal: Draw,
) => Node;

const factory =
  (distribution: 'uniform' | 'normal'): RandomRule =>
  (_emitter, [size, dtype, , device], uniform, normal) =>
    (distribution === 'uniform' ? uniform : normal)(
      size as number[],
      (dtype as DType | null) ?? defaultDType(),
      (device as string | null) ?? 'cpu',
    );

const like =
  (distribution: 'uniform' | 'normal'): RandomRule =>
  (emitter, [self, dtype, , device], uniform, normal) => {
    const val = emitter.val(self as Node);
    return emitter.restride(
      (distribution === 'uniform' ? uniform : normal)(
        val.sizes,
        (dtype as DType | null) ?? val.dtype,
        (device as string | null) ?? val.device,
      ),
      val,
    );
  };

const RULES: ReadonlyMap<string, RandomRule> = new Map([
  ['aten::rand', factory('uniform')],
  ['aten::randn', factory('normal')],
  ['aten::rand_like', like('uniform')],
  ['aten::randn_like', like('normal')],
]);

/** See the file header. */
export class RandomState {
  /** Number of offsets one run takes. */
  count = 0;
  /** The scalar inputs; null in a graph without random ops. */
  seed: Node | null = null;
  offset: Node | null = null;

  constructor(private readonly graph: Graph) {}

  /** Adds the scalar inputs. */
  addInputs(): void {
    this.seed = this.scalar('rng_seed');
    this.offset = this.scalar('rng_offset');
  }

  /** Emits a random op with the next offset. @throws aot-unsupported */
  emit(emitter: Emitter, op: OpOverload, args: readonly Argument[]): Node {
    const rule = RULES.get(op.qualifiedName);
    if (rule === undefined) {
      throw new TesseraError(
        'aot-unsupported',
        `${op.qualifiedName} cannot be compiled: it has no form with an explicit generator state.`,
        {
          context: { op: op.qualifiedName },
          hints: ['Draw the numbers outside the compiled function and pass them in.'],
        },
      );
    }
    const increment = this.count++;
    const draw =
      (name: string): Draw =>
      (size, dtype, device) =>
        emitter.emit(name, [[...size], this.seed!, this.offset!, increment, dtype, device]);
    return rule(emitter, args, draw('tessera::philox_uniform'), draw('tessera::philox_normal'));
  }

  private scalar(name: string): Node {
    const node = this.graph.placeholder(name);
    node.meta.scalar = { kind: 'int' };
    node.meta.val = 0;
    return node;
  }
}
