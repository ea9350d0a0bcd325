/**
 * @file `ScalarBlocks`: uniforms of the launches of one run.
 *
 * Launches that take the same scalars and no element offsets (the update of every parameter by one
 * optimizer) share a block of uniforms: it is written once and bound once.
 */
import type { SizeValue } from '@tessera/inductor-core';
import { TesseraError } from '@tessera/shared';
import { LOST_INT64 } from '../../codegen/values/long-integers.js';
import type { UniformField } from '../../codegen/wgsl-program.js';
import type { CommandStream } from '../device/command-stream.js';
import type { UniformRing } from './uniform-ring.js';

/** One uniform of a launch: a scalar of the run, an element offset, or a number that stays. */
export type BoundField =
  | { readonly kind: 'scalar'; readonly index: number; readonly type: 'f32' | 'i32' | 'u32' }
  | { readonly kind: 'offset'; readonly param: number }
  | { readonly kind: 'constant'; readonly value: number };

/** The uniforms of a launch. */
export interface UniformBlock {
  readonly fields: readonly BoundField[];
  /** Number of the block among those that only hold scalars; -1 if it holds offsets. */
  readonly shared: number;
}

/** See the file header. */
export class ScalarBlocks {
  private readonly numbers = new Map<string, number>();
  /** By number: where the block was last written, in which run, in which submission. */
  private readonly at: number[] = [];
  private readonly run: number[] = [];
  private readonly epoch: number[] = [];
  private current = 0;

  constructor(
    private readonly uniforms: UniformRing,
    private readonly stream: CommandStream,
    /** Values of the sizes that programs take. */
    readonly valueOf: SizeValue = Number,
  ) {}

  /**
   * The block of a launch that takes these scalars of the run; null if there is nothing in it.
   *
   * @param firstCheck the device's number of the program's first check
   */
  block(
    fields: readonly UniformField[],
    scalars: readonly number[],
    firstCheck: number,
  ): UniformBlock | null {
    if (fields.length === 0) return null;
    const bound = fields.map((field): BoundField => {
      if (field.kind === 'offset') return field;
      if (field.kind === 'checks') return { kind: 'constant', value: firstCheck };
      if (field.kind === 'size') return { kind: 'constant', value: this.valueOf(field.size) };
      if (field.kind === 'quotient')
        return {
          kind: 'constant',
          value: bitsOf(this.valueOf(field.of[0]) / this.valueOf(field.of[1])),
        };
      return { ...field, index: scalars[field.index] };
    });
    if (bound.some(({ kind }) => kind === 'offset')) return { fields: bound, shared: -1 };
    const key = bound
      .map((field) =>
        'type' in field ? field.type + field.index : 'value' in field && field.value,
      )
      .join();
    let shared = this.numbers.get(key);
    if (shared === undefined) {
      this.numbers.set(key, (shared = this.numbers.size));
      this.run[shared] = -1;
    }
    return { fields: bound, shared };
  }

  /** A run begins: nothing is written yet. */
  begin(): void {
    this.current++;
  }

  /**
   * Where a block is for this run, in bytes; writes it if it is not there. May submit what is recorded.
   *
   * @param offsets element offset of each parameter within its binding
   */
  place(
    { fields, shared }: UniformBlock,
    scalars: readonly number[],
    offsets: readonly number[],
  ): number {
    const { uniforms, stream } = this;
    if (shared >= 0 && this.run[shared] === this.current && this.epoch[shared] === stream.epoch)
      return this.at[shared];
    const at = uniforms.reserve(fields.length);
    this.write(fields, at / 4, scalars, offsets);
    if (shared >= 0) {
      this.at[shared] = at;
      this.run[shared] = this.current;
      this.epoch[shared] = stream.epoch;
    }
    return at;
  }

  private write(
    fields: readonly BoundField[],
    first: number,
    scalars: readonly number[],
    offsets: readonly number[],
  ): void {
    const { integers, floats } = this.uniforms;
    let word = first;
    for (const field of fields) {
      if (field.kind === 'offset') {
        integers[word++] = offsets[field.param];
        continue;
      }
      if (field.kind === 'constant') {
        integers[word++] = field.value;
        continue;
      }
      const value = scalars[field.index];
      if (field.type === 'f32') floats[word++] = value;
      // Seeds are unsigned and keep their bits.
      else if (field.type === 'i32' && !(value > LOST_INT64 && value < 2 ** 32)) refuse(value);
      else integers[word++] = field.type === 'u32' ? Number(value !== 0) : value;
    }
  }
}

/** A float's bits, as an integer. */
function bitsOf(value: number): number {
  return new Int32Array(Float32Array.of(value).buffer)[0];
}

function refuse(value: number): never {
  throw new TesseraError(
    'invalid-argument',
    `the number ${value} does not fit in the 32 bits that device 'wgpu' stores int64 in.`,
    { hints: ['Use a floating point tensor, or compute on device cpu.'] },
  );
}
