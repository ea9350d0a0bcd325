/**
 * @file `TemplateBlocks`: makes the plan blocks of a template, one for each choice of its sizes.
 *
 * A new choice must cost little, because it is made while a call waits and by code that seldom runs: an image of what no
 * size changes is copied, and each expression of sizes is evaluated once and written to all words that have its value.
 */
import {
  type PlanTemplate,
  type SizeValue,
  type TemplateSizes,
  packIntervals,
} from '@tessera/inductor-core';
import { type Size, type SymInt, TesseraError } from '@tessera/shared';
import { cpuHeap, itemSize } from '@tessera/tensor';
import { type LoadedCode, planBlock } from './load-plan.js';
import { sizesOffset } from './plan-layout.js';
import { fewestShared, isWorthSharing } from './plan-module.js';

/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 31 - 1;

/** A plan block in the heap, and what its runs must know. */
export interface TemplateBlock {
  readonly address: number;
  readonly arenaBytes: number;
  /** See `LoadedModule`. */
  readonly parallelNs: number;
  readonly parallelLaunches: number;
}

/** See the file header. */
export class TemplateBlocks {
  private readonly image: Int32Array;
  /** The words of a block that have the value of an expression. */
  private readonly words = new Map<SymInt, number[]>();
  /** Buffers in the arena; `word` of a block says where. */
  private readonly scratch;
  /** Launches that threads may share. */
  private readonly shared;

  constructor(
    private readonly template: PlanTemplate,
    private readonly sizes: TemplateSizes,
    { codes, module: { layout } }: LoadedCode,
    constants: readonly number[],
  ) {
    this.image = imageOf(planBlock(template, layout, constants), layout.bytes);
    template.launches.forEach((launch, i) => {
      const kernel = codes[launch.kernel];
      this.put(layout.items + 4 * i, kernel?.workItems ?? 0);
      const first = layout.launches[i] + sizesOffset(template, launch);
      kernel?.sizes.forEach((size, k) => this.put(first + 4 * k, size));
    });
    this.scratch = template.buffers.flatMap(({ dtype, numel, source }, i) =>
      source.kind === 'scratch'
        ? [{ ...source, numel, itemSize: itemSize(dtype), word: (layout.places + 4 * i) >>> 2 }]
        : [],
    );
    this.shared = template.launches.flatMap(({ kernel }) => {
      const code = codes[kernel];
      return isWorthSharing(code) ? [code] : [];
    });
  }

  /** Notes that a word of a block is a size. */
  private put(offset: number, size: Size): void {
    if (typeof size === 'number') this.image[offset >>> 2] = size;
    else this.words.set(size, [...(this.words.get(size) ?? []), offset >>> 2]);
  }

  /** The block for values of the template's symbols. @throws plan-invalid, out-of-memory */
  at(values: readonly number[], valueOf: SizeValue): TemplateBlock {
    const { image, scratch } = this;
    const heap = cpuHeap();
    const address = heap.alloc(image.byteLength);
    const { i32 } = heap;
    const start = address >>> 2;
    i32.set(image, start);
    for (const [size, words] of this.words) {
      const value = this.sizes.functionOf(size)(values);
      if (Math.abs(value) > LARGEST) {
        heap.free(address);
        throw this.tooLarge(values);
      }
      for (const word of words) i32[start + word] = value;
    }
    const { offsets, total } = packIntervals(
      scratch.map(({ first, last, numel, itemSize: bytes }) => ({
        first,
        last,
        bytes: valueOf(numel) * bytes,
      })),
    );
    for (let i = 0; i < scratch.length; i++) i32[start + scratch[i].word] = offsets[i];
    let parallelNs = 0;
    let parallelLaunches = 0;
    for (const code of this.shared) {
      const { workItems, costPerItem } = code;
      const items = valueOf(workItems);
      if (typeof workItems !== 'number' && items < fewestShared(code)) continue;
      parallelNs += items * costPerItem;
      parallelLaunches++;
    }
    return { address, arenaBytes: total, parallelNs, parallelLaunches };
  }

  private tooLarge(values: readonly number[]): TesseraError {
    return new TesseraError(
      'plan-invalid',
      `cpu: plan ${this.template.name} computes with sizes beyond 32 bits at ${values.join(', ')}.`,
      { hints: ['Split the tensors.'] },
    );
  }
}

/** The words of a block, which is freed. */
function imageOf(block: number, bytes: number): Int32Array {
  const heap = cpuHeap();
  const image = heap.i32.slice(block >>> 2, (block + bytes) >>> 2);
  heap.free(block);
  return image;
}
