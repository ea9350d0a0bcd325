/**
 * @file `PlanTemplate`: a plan for all sizes that a graph may have: what is a number in a plan may be an expression of
 * the graph's symbolic sizes.
 *
 * The memory that buffers share is decided with symbols (who may overwrite whom, and who is alive when); where in the
 * arena a buffer lies is decided for each choice of sizes, by the same packing as that of plans.
 */
import { type Size, type SizeProgram, type SymInt, compileSize } from '@tessera/shared';
import { type DType, itemSize } from '@tessera/tensor';
import type { FusedKernel } from '../ir/kernel.js';
import { type SizeValue, kernelAt } from '../ir/kernel-at.js';
import { packInOrder, packingOrder } from '../memory/arena.js';
import type { BufferSource, ExecutionPlan, PlanBuffer, PlanOutput } from './execution-plan.js';

/** Where a buffer of a template lies: scratch is used from launch `first` to launch `last`. */
export type TemplateSource =
  | Exclude<BufferSource, { kind: 'arena' }>
  | { readonly kind: 'scratch'; readonly first: number; readonly last: number };

/** A buffer of a template, its size in elements. */
export interface TemplateBuffer {
  readonly name: string;
  readonly dtype: DType;
  readonly numel: Size;
  readonly source: TemplateSource;
}

/** Layout of an output of a template. */
export interface TemplateOutput {
  readonly dtype: DType;
  readonly sizes: readonly Size[];
  readonly strides: readonly Size[];
}

/** See the file header. */
export interface PlanTemplate extends Omit<
  ExecutionPlan,
  'buffers' | 'outputs' | 'kernels' | 'arenaBytes'
> {
  readonly buffers: readonly TemplateBuffer[];
  readonly outputs: readonly TemplateOutput[];
  readonly kernels: readonly FusedKernel<Size>[];
  /** The symbols whose values choose a plan, in the order in which they are given. */
  readonly symbols: readonly SymInt[];
  /** Computes sizes of them: a backend takes a slot for each that its code needs, when it loads the template. */
  readonly program: SizeProgram;
}

/** Expressions of a template as functions of the values of its symbols; each is compiled once. */
export class TemplateSizes {
  private readonly compiled = new Map<SymInt, (values: readonly number[]) => number>();
  private readonly numbers: ReadonlyMap<SymInt, number>;

  constructor(symbols: readonly SymInt[]) {
    this.numbers = new Map(symbols.map((symbol, i) => [symbol, i]));
  }

  /** What gives the value of any size. */
  at(values: readonly number[]): SizeValue {
    return (size) => (typeof size === 'number' ? size : this.functionOf(size)(values));
  }

  /** An expression as a function of the values. */
  functionOf(size: SymInt): (values: readonly number[]) => number {
    let found = this.compiled.get(size);
    if (found === undefined) {
      found = compileSize(size, (symbol) => this.numbers.get(symbol)!);
      this.compiled.set(size, found);
    }
    return found;
  }
}

/** Scratch buffers of a template, and in which order they come and go (`packingOrder`): that of its example, at all sizes. */
export function scratchOf(
  { buffers, symbols }: PlanTemplate,
  bytesOf: (dtype: DType) => number = itemSize,
): { readonly numbers: readonly number[]; readonly order: readonly number[] } {
  const valueOf = new TemplateSizes(symbols).at(symbols.map(({ hint }) => hint));
  const numbers: number[] = [];
  const intervals = buffers.flatMap(({ dtype, numel, source }, i) => {
    if (source.kind !== 'scratch') return [];
    numbers.push(i);
    return [{ ...source, bytes: valueOf(numel) * bytesOf(dtype) }];
  });
  return { numbers, order: packingOrder(intervals) };
}

/** Buffers of a template with their sizes and places, and the size of the arena in bytes. */
export function buffersAt(
  template: PlanTemplate,
  valueOf: SizeValue,
  bytesOf: (dtype: DType) => number = itemSize,
): { readonly buffers: readonly PlanBuffer[]; readonly arenaBytes: number } {
  const numels = template.buffers.map(({ numel }) => valueOf(numel));
  const { numbers, order } = scratchOf(template, bytesOf);
  const { offsets, total } = packInOrder(
    order,
    numbers.map((i) => numels[i]! * bytesOf(template.buffers[i]!.dtype)),
  );
  let next = 0;
  const buffers = template.buffers.map(({ name, dtype, source }, i): PlanBuffer => ({
    name,
    dtype,
    numel: numels[i]!,
    source: source.kind === 'scratch' ? { kind: 'arena', offset: offsets[next++]! } : source,
  }));
  return { buffers, arenaBytes: total };
}

/** Layouts of a template's outputs at given sizes. */
export function outputsAt(template: PlanTemplate, valueOf: SizeValue): readonly PlanOutput[] {
  return template.outputs.map((output) =>
    isSymbolic(output.sizes) || isSymbolic(output.strides)
      ? {
          dtype: output.dtype,
          sizes: output.sizes.map(valueOf),
          strides: output.strides.map(valueOf),
        }
      : (output as PlanOutput),
  );
}

function isSymbolic(sizes: readonly Size[]): boolean {
  for (let i = 0; i < sizes.length; i++) if (typeof sizes[i] !== 'number') return true;
  return false;
}

/** The plan of a template at given sizes, with kernels of their own. */
export function planAt(
  template: PlanTemplate,
  valueOf: SizeValue,
  bytesOf: (dtype: DType) => number = itemSize,
): ExecutionPlan {
  const { symbols: _, program: _program, ...rest } = template;
  return {
    ...rest,
    ...buffersAt(template, valueOf, bytesOf),
    outputs: outputsAt(template, valueOf),
    kernels: template.kernels.map((kernel) => kernelAt(kernel, valueOf)),
  };
}

/** The plan of a template without symbols. */
export function planOf(
  template: PlanTemplate,
  bytesOf: (dtype: DType) => number = itemSize,
): ExecutionPlan {
  const { symbols: _, program: _program, ...rest } = template;
  return {
    ...rest,
    ...buffersAt(template, Number, bytesOf),
    outputs: outputsAt(template, Number),
    kernels: template.kernels as readonly FusedKernel[],
  };
}
