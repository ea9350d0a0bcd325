/**
 * @file `TemplateBlocks`: makes the plan blocks of a template, one for each choice of its sizes.
 *
 * A new choice must cost little, because it is made while a call waits and by code that seldom runs: an image of what no
 * size changes is copied, and all expressions of sizes are one program (`SizeProgram`). Blocks are a cache: one that was
 * not made lately is made into that of other sizes, and again when its own come back.
 */
import { type PlanTemplate, packInOrder, scratchOf } from '@tessera/inductor-core';
import { type Size, SizeProgram, TesseraError } from '@tessera/shared';
import { cpuHeap, itemSize } from '@tessera/tensor';
import type { PlanBlock } from './cpu-executable.js';
import { type LoadedCode, planBlock } from './load-plan.js';
import { sizesOffset } from './plan-layout.js';
import { fewestShared, isWorthSharing } from './plan-module.js';

/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 31 - 1;
/** Choices of sizes that have blocks at a time. */
const MOST = 64;

/** Words of a block that have the value of a slot of the program. */
interface SizedWords {
  readonly slot: number;
  readonly words: number[];
}

/** See the file header. */
export class TemplateBlocks {
  private readonly image: Int32Array;
  private readonly sizes: SizeProgram;
  private readonly words: readonly SizedWords[];
  /** Buffers in the arena; `word` of a block says where, a slot how many elements they have. */
  private readonly scratch;
  /** In which order they come and go. */
  private readonly order: readonly number[];
  /** Where they are, if no size changes that. */
  private readonly packed: ReturnType<typeof packInOrder> | null;
  /** Launches that threads may share. */
  private readonly shared;
  /** By their values, oldest first; null once they were released. */
  private made: Map<readonly number[], PlanBlock> | null = new Map();

  constructor(
    private readonly template: PlanTemplate,
    { codes, sharable, module: { layout } }: Pick<LoadedCode, 'codes' | 'sharable' | 'module'>,
    constants: readonly number[],
  ) {
    this.image = imageOf(planBlock(template, layout, constants), layout.bytes);
    const sizes = new SizeProgram(template.symbols);
    this.sizes = sizes;
    const words = new Map<number, SizedWords>();
    const put = (offset: number, size: Size): void => {
      if (typeof size === 'number') {
        this.image[offset >>> 2] = size;
        return;
      }
      const slot = sizes.slot(size);
      const known = words.get(slot) ?? { slot, words: [] };
      words.set(slot, known);
      known.words.push(offset >>> 2);
    };
    template.launches.forEach((launch, i) => {
      const kernel = codes[launch.kernel];
      put(layout.items + 4 * i, kernel?.workItems ?? 0);
      const first = layout.launches[i] + sizesOffset(template, launch);
      kernel?.sizes.forEach((size, k) => put(first + 4 * k, size));
    });
    this.words = [...words.values()];
    const { numbers, order } = scratchOf(template);
    this.order = order;
    this.scratch = numbers.map((i) => {
      const { dtype, numel } = template.buffers[i];
      const word = (layout.places + 4 * i) >>> 2;
      return { slot: sizes.slot(numel), itemSize: itemSize(dtype), word };
    });
    const isFixed = numbers.every((i) => typeof template.buffers[i].numel === 'number');
    this.packed = isFixed ? this.pack(sizes.run(template.symbols.map(({ hint }) => hint!))) : null;
    this.shared = template.launches.flatMap(({ kernel }) => {
      const code = codes[kernel];
      if (sharable.parallelNs <= 0 || !isWorthSharing(code)) return [];
      const { workItems, costPerItem } = code;
      const fewest = typeof workItems === 'number' ? 0 : fewestShared(code);
      return [{ slot: sizes.slot(workItems), costPerItem, fewest }];
    });
  }

  private pack(computed: readonly number[]): ReturnType<typeof packInOrder> {
    const bytes: number[] = [];
    for (let i = 0; i < this.scratch.length; i++)
      bytes.push(computed[this.scratch[i].slot] * this.scratch[i].itemSize);
    return packInOrder(this.order, bytes);
  }

  /**
   * The block for values of the template's symbols, which are known by their list; null once it was released.
   *
   * @throws plan-invalid, out-of-memory
   */
  at(values: readonly number[]): PlanBlock | null {
    if (this.made === null) return null;
    const known = this.made.get(values);
    if (known !== undefined) return known;
    const computed = this.sizes.run(values);
    for (let i = 0; i < this.words.length; i++)
      if (!(Math.abs(computed[this.words[i].slot]) <= LARGEST)) throw this.tooLarge(values);
    const block = this.fill(this.address(this.made), computed);
    this.made.set(values, block);
    return block;
  }

  /** Memory for a block: that of the oldest, if there are enough. */
  private address(made: Map<readonly number[], PlanBlock>): number {
    if (made.size < MOST) return cpuHeap().alloc(this.image.byteLength);
    const [[values, { address }]] = made;
    made.delete(values);
    return address;
  }

  private fill(address: number, computed: readonly number[]): PlanBlock {
    const { scratch, words, shared } = this;
    const { i32 } = cpuHeap();
    const start = address >>> 2;
    i32.set(this.image, start);
    for (let i = 0; i < words.length; i++) {
      const { slot, words: places } = words[i];
      for (let k = 0; k < places.length; k++) i32[start + places[k]] = computed[slot];
    }
    const { offsets, total } = this.packed ?? this.pack(computed);
    for (let i = 0; i < scratch.length; i++) i32[start + scratch[i].word] = offsets[i];
    let parallelNs = 0;
    let parallelLaunches = 0;
    for (let i = 0; i < shared.length; i++) {
      const { slot, costPerItem, fewest } = shared[i];
      const items = computed[slot];
      if (items < fewest) continue;
      parallelNs += items * costPerItem;
      parallelLaunches++;
    }
    return { address, arenaBytes: total, parallelNs, parallelLaunches };
  }

  /** Frees all blocks. */
  release(): void {
    for (const { address } of this.made?.values() ?? []) cpuHeap().free(address);
    this.made = null;
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
