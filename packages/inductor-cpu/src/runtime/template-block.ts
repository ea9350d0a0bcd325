/**
 * @file `TemplateBlocks`: makes the plan blocks of a template, one for each choice of its sizes.
 *
 * A new choice must cost little, because it is made while a call waits and by code that seldom runs: all sizes are
 * evaluated once, an image of what no size changes is copied, and a list says which of its words are sizes.
 */
import { type PlanTemplate, SizeTable, packIntervals } from '@tessera/inductor-core';
import { type Size, TesseraError } from '@tessera/shared';
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

/** A launch that threads may share. */
interface SharedLaunch {
  /** Number of its count of items among the sizes. */
  readonly items: number;
  readonly fewest: number;
  readonly costPerItem: number;
}

/** A buffer in the arena; `word` of the block says where. */
interface Scratch {
  readonly word: number;
  readonly first: number;
  readonly last: number;
  /** Number of its count of elements among the sizes. */
  readonly numel: number;
  readonly itemSize: number;
}

/** See the file header. */
export class TemplateBlocks {
  private readonly table: SizeTable;
  private readonly image: Int32Array;
  /** Words of the block that are sizes, and the numbers of those. */
  private readonly words: number[] = [];
  private readonly sizes: number[] = [];
  private readonly scratch: readonly Scratch[];
  private readonly shared: readonly SharedLaunch[];

  constructor(
    private readonly template: PlanTemplate,
    code: LoadedCode,
    constants: readonly number[],
  ) {
    const { layout } = code.module;
    const table = new SizeTable(template.symbols);
    this.table = table;
    const { words, sizes } = this;
    this.image = imageOf(template, code, constants);
    const write = (offset: number, size: Size): void => {
      words.push(offset >>> 2);
      sizes.push(table.numberOf(size));
    };
    template.launches.forEach((launch, i) => {
      const kernel = code.codes[launch.kernel];
      write(layout.items + 4 * i, kernel?.workItems ?? 0);
      const first = layout.launches[i] + sizesOffset(template, launch);
      kernel?.sizes.forEach((size, k) => write(first + 4 * k, size));
    });
    this.scratch = template.buffers.flatMap(({ dtype, numel, source }, i) =>
      source.kind === 'scratch'
        ? [
            {
              word: (layout.places + 4 * i) >>> 2,
              first: source.first,
              last: source.last,
              numel: table.numberOf(numel),
              itemSize: itemSize(dtype),
            },
          ]
        : [],
    );
    this.shared = template.launches.flatMap(({ kernel }) => {
      const made = code.codes[kernel];
      if (!isWorthSharing(made)) return [];
      const { workItems, costPerItem } = made;
      const fewest = typeof workItems === 'number' ? 0 : fewestShared(made);
      return [{ items: table.numberOf(workItems), fewest, costPerItem }];
    });
  }

  /** The block for values of the template's symbols. @throws plan-invalid, out-of-memory */
  at(values: readonly number[]): TemplateBlock {
    const { image, words, scratch } = this;
    const sizes = this.table.at(values);
    for (const number of this.sizes)
      if (Math.abs(sizes[number]) > LARGEST) throw this.tooLarge(values);
    const heap = cpuHeap();
    const address = heap.alloc(image.byteLength);
    const { i32 } = heap;
    const start = address >>> 2;
    i32.set(image, start);
    for (let i = 0; i < words.length; i++) i32[start + words[i]] = sizes[this.sizes[i]];
    let arenaBytes = 0;
    if (scratch.length > 0) {
      const places = packIntervals(
        scratch.map(({ first, last, numel, itemSize: bytes }) => ({
          first,
          last,
          bytes: sizes[numel] * bytes,
        })),
      );
      for (let i = 0; i < scratch.length; i++) i32[start + scratch[i].word] = places.offsets[i];
      arenaBytes = places.total;
    }
    let parallelNs = 0;
    let parallelLaunches = 0;
    for (const { items, fewest, costPerItem } of this.shared) {
      if (sizes[items] < fewest) continue;
      parallelNs += sizes[items] * costPerItem;
      parallelLaunches++;
    }
    return { address, arenaBytes, parallelNs, parallelLaunches };
  }

  private tooLarge(values: readonly number[]): TesseraError {
    return new TesseraError(
      'plan-invalid',
      `cpu: plan ${this.template.name} computes with sizes beyond 32 bits at ${values.join(', ')}.`,
      { hints: ['Split the tensors.'] },
    );
  }
}

/** A block without sizes. */
function imageOf(
  template: PlanTemplate,
  { module }: LoadedCode,
  constants: readonly number[],
): Int32Array {
  const block = planBlock(template, module.layout, constants);
  const heap = cpuHeap();
  const image = heap.i32.slice(block >>> 2, (block + module.layout.bytes) >>> 2);
  heap.free(block);
  return image;
}
