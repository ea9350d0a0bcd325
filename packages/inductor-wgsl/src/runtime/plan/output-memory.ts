/**
 * @file `OutputMemory`: where one output of a loaded plan, or of the plans of a template, is put, run after run.
 *
 * It takes memory that an earlier run had for this output, if that has been freed meanwhile, so
 * that bind groups made then fit again, whatever else the program allocates in between. That run may have been of other
 * sizes, with somewhat larger outputs. Small outputs
 * (a loss) take slots of slabs, which may be held without end at the cost of a buffer now and then.
 */
import type { BufferPool } from '../memory/buffer-pool.js';
import { SLOT_BYTES, Slab } from '../memory/slab.js';
import type { WgpuMemory } from '../memory/wgpu-memory.js';

/** Memory that an output remembers: results of so many runs may be held at a time. */
const REMEMBERED = 16;
/** Bytes that memory may have beyond what an output needs: a quarter of that, or so many. */
const ROOM = 64 * 1024;
/** Slots of an output's first slab, how much larger the next one is, and the most of one. */
const FIRST_SLOTS = 16;
const GROWTH = 16;
const MOST_SLOTS = 16384;

/** See the file header. */
export class OutputMemory {
  private readonly recent: WgpuMemory[] = [];
  private readonly slabs: Slab[] = [];

  constructor(private readonly pool: BufferPool) {}

  /** Memory that the output had before, if some of it is free and fits. */
  again(bytes: number): WgpuMemory | null {
    const { recent, pool } = this;
    const size = pool.sizeOf(bytes);
    const most = size + Math.max(ROOM, size / 4);
    for (let i = 0; i < recent.length; i++) {
      const memory = recent[i];
      if (memory.bytes >= size && memory.bytes <= most && pool.retake(memory)) return memory;
    }
    return null;
  }

  /** Other memory, which is remembered; not in one of the slabs of `avoid`. @throws out-of-memory */
  fresh(bytes: number, avoid: ReadonlySet<Slab> | null): WgpuMemory {
    if (bytes <= SLOT_BYTES) return this.slot(avoid);
    const memory = this.pool.allocate(bytes);
    const { recent } = this;
    if (recent.length >= REMEMBERED) recent.shift();
    recent.push(memory);
    return memory;
  }

  /** There will be no more runs. */
  close(): void {
    for (const slab of this.slabs) slab.close();
    this.recent.length = 0;
  }

  private slot(avoid: ReadonlySet<Slab> | null): WgpuMemory {
    for (const slab of this.slabs) {
      if (avoid?.has(slab)) continue;
      const slot = slab.take();
      if (slot !== null) return slot;
    }
    const last = this.slabs.at(-1);
    const slots = last === undefined ? FIRST_SLOTS : Math.min(MOST_SLOTS, last.slots * GROWTH);
    const slab = new Slab(this.pool, slots);
    this.slabs.push(slab);
    return slab.take()!;
  }
}
