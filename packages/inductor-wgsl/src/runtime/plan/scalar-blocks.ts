/**
 * @file `ScalarBlocks`: uniforms of the launches of one run.
 *
 * Launches that take the same scalars and sizes and no element offsets (the update of every parameter by one
 * optimizer) share a block of uniforms: it is written once and bound once. Sizes are slots of what a template's program
 * computed, so that blocks are the same at all sizes.
 */
import { type Size, type SizeProgram, TesseraError } from '@tessera/shared';
import type { UniformField } from '../../codegen/wgsl-program.js';
import type { CommandStream } from '../device/command-stream.js';
import type { UniformRing } from './uniform-ring.js';

/** One uniform of a launch: a scalar of the run, an element offset, the number of its checks, a size, or a quotient of two. */
export type BoundField =
  | { readonly kind: 'scalar'; readonly index: number; readonly type: 'f32' | 'i32' | 'u32' }
  | { readonly kind: 'offset'; readonly param: number }
  | { readonly kind: 'checks' }
  | { readonly kind: 'size'; readonly slot: number }
  | { readonly kind: 'quotient'; readonly slot: number; readonly by: number };

/** What a run has of its own. */
export interface RunNumbers {
  readonly scalars: readonly number[];
  /** What the program of sizes computed. */
  readonly computed: readonly number[];
}

/** The uniforms of a launch. */
export interface UniformBlock {
  readonly fields: readonly BoundField[];
  /** Number of the block among those that launches may share; -1 if it holds what is its own. */
  readonly shared: number;
}

/** See the file header. */
export class ScalarBlocks {
  private readonly numbers = new Map<string, number>();
  /** By number: where the block was last written, in which run, in which submission. */
  private readonly places: number[] = [];
  private readonly run: number[] = [];
  private readonly epoch: number[] = [];
  private current = 0;

  constructor(
    private readonly uniforms: UniformRing,
    private readonly stream: CommandStream,
    /** Computes the sizes that programs take. */
    private readonly program: SizeProgram,
  ) {}

  /** The block of a launch that takes these scalars of the run; null if there is nothing in it. */
  block(fields: readonly UniformField[], scalars: readonly number[]): UniformBlock | null {
    if (fields.length === 0) return null;
    const { program } = this;
    const bound = fields.map((field): BoundField => {
      switch (field.kind) {
        case 'scalar':
          return { ...field, index: scalars[field.index] };
        case 'size':
          return { kind: 'size', slot: program.slot(field.size) };
        case 'quotient': {
          const [slot, by] = field.of.map((size) => program.slot(size));
          return { kind: 'quotient', slot, by };
        }
        default:
          return field;
      }
    });
    if (bound.some(({ kind }) => kind === 'offset' || kind === 'checks'))
      return { fields: bound, shared: -1 };
    const key = JSON.stringify(bound);
    let shared = this.numbers.get(key);
    if (shared === undefined) {
      this.numbers.set(key, (shared = this.numbers.size));
      this.run[shared] = -1;
    }
    return { fields: bound, shared };
  }

  /** The value of a size at what the program computed. */
  valueOf(size: Size, computed: readonly number[]): number {
    return this.at(this.program.slot(size), computed);
  }

  /** Slots are taken for what variants of kernels need too, which may be made after the sizes were computed. */
  private at(slot: number, computed: readonly number[]): number {
    return slot < computed.length ? computed[slot] : this.program.run(computed)[slot];
  }

  /** A run begins: nothing is written yet. */
  begin(): void {
    this.current++;
  }

  /**
   * Where a block is for this run, in bytes; writes it if it is not there. May submit what is recorded.
   *
   * @param offsets element offset of each parameter within its binding
   * @param firstCheck the device's number of the launch's first check
   */
  place(
    { fields, shared }: UniformBlock,
    numbers: RunNumbers,
    offsets: readonly number[],
    firstCheck: number,
  ): number {
    const { uniforms, stream } = this;
    if (shared >= 0 && this.run[shared] === this.current && this.epoch[shared] === stream.epoch)
      return this.places[shared];
    const at = uniforms.reserve(fields.length);
    this.write(fields, at / 4, numbers, offsets, firstCheck);
    if (shared >= 0) {
      this.places[shared] = at;
      this.run[shared] = this.current;
      this.epoch[shared] = stream.epoch;
    }
    return at;
  }

  private write(
    fields: readonly BoundField[],
    first: number,
    { scalars, computed }: RunNumbers,
    offsets: readonly number[],
    firstCheck: number,
  ): void {
    const { integers, floats } = this.uniforms;
    for (let i = 0, word = first; i < fields.length; i++, word++) {
      const field = fields[i];
      switch (field.kind) {
        case 'size':
          integers[word] = this.at(field.slot, computed);
          break;
        case 'quotient':
          floats[word] = this.at(field.slot, computed) / this.at(field.by, computed);
          break;
        case 'offset':
          integers[word] = offsets[field.param];
          break;
        case 'checks':
          integers[word] = firstCheck;
          break;
        case 'scalar': {
          const value = scalars[field.index];
          if (field.type === 'f32') floats[word] = value;
          else if (field.type === 'i32' && !(Math.abs(value) < 2 ** 31)) refuse(value);
          else integers[word] = field.type === 'u32' ? Number(value !== 0) : value;
        }
      }
    }
  }
}

function refuse(value: number): never {
  throw new TesseraError(
    'invalid-argument',
    `the number ${value} does not fit in the 32 bits that device 'wgpu' stores int64 in.`,
    { hints: ['Use a floating point tensor, or compute on device cpu.'] },
  );
}
