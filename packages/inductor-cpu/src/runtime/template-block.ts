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
import { type LoadedCode, type Sharable, planBlock } from './load-plan.js';
import { sizesOffset } from './plan-layout.js';
import { fewestShared, isWorthSharing } from './plan-module.js';

/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 31 - 1;

/** A plan block in the heap, and what its runs must know. */
export interface TemplateBlock {
  readonly address: number;
  readonly arenaBytes: number;
  readonly sharable: Sharable;
}

/** Words of a block that have the value of an expression. */
interface SizedWords {
  readonly valueAt: (values: readonly number[]) => number;
  readonly words: number[];
}

/** See the file header. */
export class TemplateBlocks {
  private readonly image: Int32Array;
  private readonly words: readonly SizedWords[];
  /** Buffers in the arena; `word` of a block says where. */
  private readonly scratch;
  /** Where they are, if no size changes that. */
  private readonly packed: ReturnType<typeof packIntervals> | null;
  /** Launches that threads may share. */
  private readonly shared;

  constructor(
    private readonly template: PlanTemplate,
    sizes: TemplateSizes,
    { codes, sharable, module: { layout } }: LoadedCode,
    constants: readonly number[],
  ) {
    this.image = imageOf(planBlock(template, layout, constants), layout.bytes);
    const words = new Map<SymInt, SizedWords>();
    const put = (offset: number, size: Size): void => {
      if (typeof size === 'number') {
        this.image[offset >>> 2] = size;
        return;
      }
      const known = words.get(size) ?? { valueAt: sizes.functionOf(size), words: [] };
      words.set(size, known);
      known.words.push(offset >>> 2);
    };
    template.launches.forEach((launch, i) => {
      const kernel = codes[launch.kernel];
      put(layout.items + 4 * i, kernel?.workItems ?? 0);
      const first = layout.launches[i] + sizesOffset(template, launch);
      kernel?.sizes.forEach((size, k) => put(first + 4 * k, size));
    });
    this.words = [...words.values()];
    this.scratch = template.buffers.flatMap(({ dtype, numel, source }, i) =>
      source.kind === 'scratch'
        ? [{ ...source, numel, itemSize: itemSize(dtype), word: (layout.places + 4 * i) >>> 2 }]
        : [],
    );
    const isFixed = this.scratch.every(({ numel }) => typeof numel === 'number');
    this.packed = isFixed ? this.pack(Number) : null;
    this.shared = template.launches.flatMap(({ kernel }) => {
      const code = codes[kernel];
      return sharable.parallelNs > 0 && isWorthSharing(code) ? [code] : [];
    });
  }

  private pack(valueOf: SizeValue): ReturnType<typeof packIntervals> {
    return packIntervals(
      this.scratch.map(({ first, last, numel, itemSize: bytes }) => ({
        first,
        last,
        bytes: valueOf(numel) * bytes,
      })),
    );
  }

  /** The block for values of the template's symbols. @throws plan-invalid, out-of-memory */
  at(values: readonly number[], valueOf: SizeValue): TemplateBlock {
    const { image, scratch } = this;
    const heap = cpuHeap();
    const address = heap.alloc(image.byteLength);
    const { i32 } = heap;
    const start = address >>> 2;
    i32.set(image, start);
    for (let i = 0; i < this.words.length; i++) {
      const { valueAt, words } = this.words[i];
      const value = valueAt(values);
      if (Math.abs(value) > LARGEST) {
        heap.free(address);
        throw this.tooLarge(values);
      }
      for (let k = 0; k < words.length; k++) i32[start + words[k]] = value;
    }
    const { offsets, total } = this.packed ?? this.pack(valueOf);
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
    return { address, arenaBytes: total, sharable: { parallelNs, parallelLaunches } };
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
