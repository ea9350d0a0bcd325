/**
 * @file `TemplateBlocks`: the plan blocks of a template, which hold what its code reads of sizes.
 *
 * A new choice must cost little, because it is made while a call waits and by code that seldom runs: a block is written
 * for other sizes where these differ, and all expressions of sizes are those of the template's program, which was run
 * before. Few blocks take turns: one that was written for other sizes meanwhile is written again when its own come back.
 */
import { type PlanTemplate, packInOrder, scratchOf } from '@tessera/inductor-core';
import { type Size, TesseraError } from '@tessera/shared';
import { cpuHeap, itemSize } from '@tessera/tensor';
import type { PlanBlock } from './cpu-executable.js';
import { type LoadedCode, planBlock } from './load-plan.js';
import { sizesOffset } from './plan-layout.js';
import { fewestShared, isWorthSharing } from './plan-module.js';

/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 31 - 1;
/** Choices of sizes that have blocks at a time: they stay in the caches of a loop whose sizes are new each time. */
const MOST = 16;

/** Buffers are packed for sizes that need no more than so many times the bytes of others, and so many. */
const SPARE = 4;
const LITTLE = 4096;
/** Packings that are kept. */
const MOST_PACKED = 8;

/** Places in the arena of buffers that have so many bytes, or fewer. */
interface Packed extends ReturnType<typeof packInOrder> {
  readonly bytes: readonly number[];
}

/** A block whose sizes become others. */
type TakenBlock = { -readonly [key in keyof PlanBlock]: PlanBlock[key] };

/** Of a block that was freed: no sizes that code is for. */
const FREED: readonly number[] = [];

/** See the file header. */
export class TemplateBlocks {
  private readonly image: Int32Array;
  /** Words of a block that have values of slots of the program, and those slots. */
  private readonly words: number[] = [];
  private readonly slots: number[] = [];
  /** Buffers in the arena: the slot of how many elements they have, bytes of one, and which word of a block says where, in turns. */
  private readonly scratch: readonly number[];
  /** In which order they come and go. */
  private readonly order: readonly number[];
  /** Where they are at sizes that were met, or are somewhat larger: the last first. */
  private readonly packed: Packed[] = [];
  /** Launches that threads may share. */
  private readonly shared;
  /** Null once they were freed. */
  private blocks: TakenBlock[] | null = [];
  /** Which of them is written next: the oldest. */
  private next = 0;

  constructor(
    private readonly template: PlanTemplate,
    { codes, sharable, module: { layout } }: Pick<LoadedCode, 'codes' | 'sharable' | 'module'>,
    constants: readonly number[],
  ) {
    this.image = imageOf(planBlock(template, layout, constants), layout.bytes);
    const { program: sizes } = template;
    const put = (offset: number, size: Size): void => {
      if (typeof size === 'number') {
        this.image[offset >>> 2] = size;
        return;
      }
      this.words.push(offset >>> 2);
      this.slots.push(sizes.slot(size));
    };
    template.launches.forEach((launch, i) => {
      const kernel = codes[launch.kernel];
      put(layout.items + 4 * i, kernel?.workItems ?? 0);
      const first = layout.launches[i] + sizesOffset(template, launch);
      kernel?.sizes.forEach((size, k) => put(first + 4 * k, size));
    });
    const { numbers, order } = scratchOf(template);
    this.order = order;
    this.scratch = numbers.flatMap((i) => {
      const { dtype, numel } = template.buffers[i];
      return [sizes.slot(numel), itemSize(dtype), (layout.places + 4 * i) >>> 2];
    });
    this.shared = template.launches.flatMap(({ kernel }) => {
      const code = codes[kernel];
      if (sharable.parallelNs <= 0 || !isWorthSharing(code)) return [];
      const { workItems, costPerItem } = code;
      const fewest = typeof workItems === 'number' ? 0 : fewestShared(code);
      return [{ slot: sizes.slot(workItems), costPerItem, fewest }];
    });
  }

  /** Places for buffers: those of other sizes, where there is room and not far too much; else for sizes that are somewhat larger too, which often come next. */
  private placesAt(computed: readonly number[]): Packed {
    const { packed, scratch } = this;
    const bytes: number[] = [];
    let sum = 0;
    for (let i = 0; i < scratch.length; i += 3) {
      const count = computed[scratch[i]] * scratch[i + 1];
      bytes.push(count);
      sum += count;
    }
    for (let k = 0; k < packed.length; k++) {
      const known = packed[k];
      let fits = known.total <= SPARE * sum + LITTLE;
      for (let i = 0; i < bytes.length && fits; i++) fits = bytes[i] <= known.bytes[i];
      if (fits) return known;
    }
    // Those whose sizes never change are packed once.
    const spare = packed.length === 0 ? 1 : 1.25;
    const room = bytes.map((count) => Math.ceil(spare * count));
    const made = { ...packInOrder(this.order, room), bytes: room };
    if (packed.unshift(made) > MOST_PACKED) packed.pop();
    return made;
  }

  /**
   * A block for what the template's program computed, written for it until it is written for others; null once blocks
   * were freed. One function: it seldom runs, so nothing inlines what it calls.
   *
   * @throws plan-invalid, out-of-memory
   */
  at(computed: readonly number[]): PlanBlock | null {
    const { blocks, scratch, words, slots, shared } = this;
    if (blocks === null) return null;
    for (let i = 0; i < slots.length; i++)
      if (!(Math.abs(computed[slots[i]]) <= LARGEST)) throw this.tooLarge(computed);
    const block = blocks.length < MOST ? this.add(blocks) : blocks[this.next];
    this.next = (this.next + 1) % MOST;
    const { i32 } = cpuHeap();
    const start = block.address >>> 2;
    for (let i = 0; i < words.length; i++) i32[start + words[i]] = computed[slots[i]];
    if (scratch.length > 0) {
      const { offsets, total } = this.placesAt(computed);
      for (let i = 0; i < offsets.length; i++) i32[start + scratch[3 * i + 2]] = offsets[i];
      block.arenaBytes = total;
    }
    block.parallelNs = 0;
    block.parallelLaunches = 0;
    for (let i = 0; i < shared.length; i++) {
      const { slot, costPerItem, fewest } = shared[i];
      const items = computed[slot];
      if (items < fewest) continue;
      block.parallelNs += items * costPerItem;
      block.parallelLaunches++;
    }
    block.computed = computed;
    return block;
  }

  /** One more block, with all that no size changes. */
  private add(blocks: TakenBlock[]): TakenBlock {
    const { image } = this;
    const heap = cpuHeap();
    const address = heap.alloc(image.byteLength);
    heap.i32.set(image, address >>> 2);
    const block = { address, computed: FREED, arenaBytes: 0, parallelNs: 0, parallelLaunches: 0 };
    blocks.push(block);
    return block;
  }

  /** Frees all blocks. */
  release(): void {
    for (const block of this.blocks ?? []) {
      block.computed = FREED;
      cpuHeap().free(block.address);
    }
    this.blocks = null;
  }

  private tooLarge(computed: readonly number[]): TesseraError {
    const { name, symbols } = this.template;
    const values = computed.slice(0, symbols.length).join(', ');
    return new TesseraError(
      'plan-invalid',
      `cpu: plan ${name} computes with sizes beyond 32 bits at ${values}.`,
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
