/**
 * @file The caching allocator behind `cpuHeap()`.
 *
 * A freed block goes to the free list of its size class and is handed out again as it is: the steady
 * state of a training loop allocates in a few nanoseconds and touches no new memory (first touch of a
 * page costs the operating system about 2 µs). When a class runs dry it takes pages, in this order:
 * free page runs; pages won back from the pressure hook and from caches of other classes; growth of
 * the memory; and last, after an urgent call of the pressure hook, an out-of-memory error.
 *
 * Invariants: addresses are unsigned and multiples of 64; address 0 is never handed out and no block
 * ends at 2³², so an end address never wraps; a page stays addressable behind the last block, for vector
 * loads that read past a buffer's end; all bookkeeping is outside the WebAssembly memory.
 * Modelled on PyTorch's CUDACachingAllocator and on mimalloc's page-local size classes.
 */
import { TesseraError } from '@tessera/shared';
import type { CpuHeap, HeapStats } from './cpu-heap.js';
import { heapHooks } from './heap-hooks.js';
import { formatBytes, outOfMemory } from './out-of-memory.js';
import { PageRuns } from './page-runs.js';
import {
  CLASS_COUNT,
  LAST_SLAB_CLASS,
  PAGE_SHIFT,
  PAGE_UNITS,
  SLAB_PAGES,
  UNIT_SHIFT,
  classUnits,
  sizeClass,
} from './size-classes.js';
import { type WasmMemory, WASM_PAGE_BYTES } from './wasm-memory.js';

const PAGE_FROM_UNIT = PAGE_SHIFT - UNIT_SHIFT;

/** Class number of blocks above 8 MiB: they have exactly the pages they need and are never cached. */
const HUGE = 255;
const HUGE_UNITS = 2 ** (23 - UNIT_SHIFT);

/** The memory grows by at least this, or a quarter of itself up to the second number. */
const GROWTH_FLOOR_BYTES = 16 * 2 ** 20;
const GROWTH_CEILING_BYTES = 256 * 2 ** 20;

/** See the file header. */
export class CachingHeap implements CpuHeap {
  readonly memory: WebAssembly.Memory;
  readonly shared: boolean;
  u8!: Uint8Array;
  i8!: Int8Array;
  i16!: Int16Array;
  u16!: Uint16Array;
  i32!: Int32Array;
  f32!: Float32Array;
  f64!: Float64Array;
  i64!: BigInt64Array;

  private readonly maximumBytes: number;
  private budgetUnits = Infinity;
  private liveUnits = 0;
  private peakUnits = 0;
  private liveBlocks = 0;
  /** Free blocks of each class, as unit numbers (small integers even above 2 GiB). */
  private readonly freeLists: number[][] = [];
  private readonly unitsOfClass: Int32Array;
  private readonly runs = new PageRuns();
  /** Pages below the guard page at the end; page 0 is never handed out. */
  private usablePages = 1;
  /** Class of the block or slab a page belongs to. */
  private pageClass = new Uint8Array(0);
  /** First page of a page's slab; for the first page of a huge block its number of pages. */
  private pageOwner = new Int32Array(0);
  /** Live blocks of the slab that starts at a page. */
  private slabLive = new Uint16Array(0);
  /** One bit per unit: a live block starts there. */
  private liveBits = new Uint8Array(0);
  private reclaiming = false;

  constructor(wasm: WasmMemory) {
    this.memory = wasm.memory;
    this.shared = wasm.shared;
    this.maximumBytes = wasm.maximumBytes;
    this.unitsOfClass = Int32Array.from({ length: CLASS_COUNT }, (_, cls) => classUnits(cls));
    for (let cls = 0; cls < CLASS_COUNT; cls++) this.freeLists.push([]);
    this.adoptMemory();
  }

  alloc(bytes: number): number {
    if (!(bytes >= 0 && bytes <= this.maximumBytes)) throw this.failure(bytes);
    const units = bytes <= 64 ? 1 : Math.floor((bytes + 63) / 64);
    const huge = units > HUGE_UNITS;
    const cls = huge ? HUGE : sizeClass(units);
    const size = huge ? Math.ceil(units / PAGE_UNITS) * PAGE_UNITS : this.unitsOfClass[cls];
    if (this.liveUnits + size > this.budgetUnits) this.reclaimForBudget(bytes, size);
    const unit = (huge ? undefined : this.freeLists[cls].pop()) ?? this.refill(cls, size, bytes);
    const page = unit >>> PAGE_FROM_UNIT;
    if (cls <= LAST_SLAB_CLASS) this.slabLive[this.pageOwner[page]]++;
    this.liveBits[unit >>> 3] |= 1 << (unit & 7);
    this.liveBlocks++;
    this.liveUnits += size;
    if (this.liveUnits > this.peakUnits) this.peakUnits = this.liveUnits;
    return unit * 64;
  }

  free(ptr: number): void {
    const unit = ptr >>> UNIT_SHIFT;
    const bit = 1 << (unit & 7);
    if ((this.liveBits[unit >>> 3] & bit) === 0 || unit * 64 !== ptr) {
      throw new TesseraError(
        'invalid-argument',
        `CPU heap: free(${ptr}) does not name a live block.`,
        {
          hints: ['Free what alloc returned, once.'],
        },
      );
    }
    this.liveBits[unit >>> 3] ^= bit;
    this.liveBlocks--;
    const page = unit >>> PAGE_FROM_UNIT;
    const cls = this.pageClass[page];
    if (cls === HUGE) {
      const pages = this.pageOwner[page];
      this.liveUnits -= pages * PAGE_UNITS;
      this.runs.release(page, pages);
      return;
    }
    this.liveUnits -= this.unitsOfClass[cls];
    if (cls <= LAST_SLAB_CLASS) this.slabLive[this.pageOwner[page]]--;
    this.freeLists[cls].push(unit);
  }

  stats(): HeapStats {
    const openPages = this.usablePages - 1 - this.runs.freePages;
    return {
      liveBytes: this.liveUnits * 64,
      cachedBytes: openPages * 2 ** PAGE_SHIFT - this.liveUnits * 64,
      peakBytes: this.peakUnits * 64,
      committedBytes: this.u8.byteLength,
      liveBlocks: this.liveBlocks,
    };
  }

  resetPeak(): void {
    this.peakUnits = this.liveUnits;
  }

  setBudget(bytes: number): void {
    this.budgetUnits = Math.floor(bytes / 64);
  }

  /** A block of a class whose free list is empty. */
  private refill(cls: number, size: number, bytes: number): number {
    const pages = cls <= LAST_SLAB_CLASS ? SLAB_PAGES : Math.ceil(size / PAGE_UNITS);
    let page = this.runs.take(pages);
    if (page < 0) {
      this.reclaim(false);
      if (cls !== HUGE && this.freeLists[cls].length > 0) return this.freeLists[cls].pop()!;
      const idle = this.stats().cachedBytes + this.runs.freePages * 2 ** PAGE_SHIFT;
      if (idle >= pages * 2 ** PAGE_SHIFT) this.releaseCaches();
      page = this.runs.take(pages);
    }
    if (page < 0 && this.grow(pages)) page = this.runs.take(pages);
    if (page < 0) {
      this.reclaim(true);
      this.releaseCaches();
      page = this.runs.take(pages);
    }
    if (page < 0) throw this.failure(bytes);
    return this.openPages(cls, page, pages, size);
  }

  /** Dedicates pages to a class and returns their first block; the other blocks of a slab become free. */
  private openPages(cls: number, page: number, pages: number, size: number): number {
    const first = page * PAGE_UNITS;
    this.pageClass.fill(cls, page, page + pages);
    if (cls > LAST_SLAB_CLASS) {
      this.pageOwner[page] = pages;
      return first;
    }
    this.pageOwner.fill(page, page, page + pages);
    this.slabLive[page] = 0;
    const list = this.freeLists[cls];
    const last = first + pages * PAGE_UNITS - size;
    for (
      let unit = first + (Math.ceil((last - first + 1) / size) - 1) * size;
      unit > first;
      unit -= size
    )
      list.push(unit);
    return first;
  }

  /** Gives the pages of cached large blocks and of empty slabs back to the page runs. */
  private releaseCaches(): void {
    for (let cls = 1; cls < CLASS_COUNT; cls++) {
      const list = this.freeLists[cls];
      if (list.length === 0) continue;
      if (cls > LAST_SLAB_CLASS) {
        for (const unit of list)
          this.runs.release(unit >>> PAGE_FROM_UNIT, this.pageOwner[unit >>> PAGE_FROM_UNIT]);
        list.length = 0;
        continue;
      }
      const emptySlabs = new Set<number>();
      const kept: number[] = [];
      for (const unit of list) {
        const slab = this.pageOwner[unit >>> PAGE_FROM_UNIT];
        if (this.slabLive[slab] === 0) emptySlabs.add(slab);
        else kept.push(unit);
      }
      this.freeLists[cls] = kept;
      for (const slab of emptySlabs) this.runs.release(slab, SLAB_PAGES);
    }
  }

  /** Grows the memory by at least `pages`; false when it cannot. */
  private grow(pages: number): boolean {
    const committed = this.u8.byteLength;
    const needed = pages * 2 ** PAGE_SHIFT;
    const generous = Math.max(
      needed,
      GROWTH_FLOOR_BYTES,
      Math.min(committed / 4, GROWTH_CEILING_BYTES),
    );
    const room = this.maximumBytes - committed;
    for (const bytes of [Math.min(generous, room), needed]) {
      if (bytes < needed) return false;
      try {
        this.memory.grow(Math.ceil(bytes / WASM_PAGE_BYTES));
      } catch {
        continue;
      }
      this.adoptMemory();
      return true;
    }
    return false;
  }

  /** Refreshes the views and takes over the pages that the memory has gained. */
  private adoptMemory(): void {
    const { buffer } = this.memory;
    this.u8 = new Uint8Array(buffer);
    this.i8 = new Int8Array(buffer);
    this.i16 = new Int16Array(buffer);
    this.u16 = new Uint16Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f32 = new Float32Array(buffer);
    this.f64 = new Float64Array(buffer);
    this.i64 = new BigInt64Array(buffer);
    const pages = buffer.byteLength / 2 ** PAGE_SHIFT - 1;
    this.pageClass = extended(this.pageClass, new Uint8Array(pages));
    this.pageOwner = extended(this.pageOwner, new Int32Array(pages));
    this.slabLive = extended(this.slabLive, new Uint16Array(pages));
    this.liveBits = extended(this.liveBits, new Uint8Array((pages * PAGE_UNITS) / 8));
    this.runs.grow(this.usablePages, pages);
    this.usablePages = pages;
  }

  private reclaim(urgent: boolean): void {
    if (this.reclaiming) return;
    this.reclaiming = true;
    try {
      heapHooks.pressure(urgent);
    } finally {
      this.reclaiming = false;
    }
  }

  private reclaimForBudget(bytes: number, size: number): void {
    this.reclaim(true);
    if (this.liveUnits + size > this.budgetUnits) throw this.failure(bytes);
  }

  private failure(bytes: number): TesseraError {
    const budget = this.budgetUnits * 64;
    const limit =
      budget < this.maximumBytes
        ? `a budget of ${formatBytes(budget)}`
        : `a limit of ${formatBytes(this.maximumBytes)}`;
    return outOfMemory(bytes, limit, this.stats());
  }
}

/** Copies `old` into the start of `array`, which is at least as long. */
function extended<A extends Uint8Array | Int32Array | Uint16Array>(old: A, array: A): A {
  array.set(old);
  return array;
}
