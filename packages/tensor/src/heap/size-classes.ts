/**
 * @file Size classes of the CPU heap: which block size serves a request.
 *
 * Sizes are counted in units of 64 bytes, the alignment of every block. Up to 16 units there is a class per
 * unit; above, eight classes per doubling, so at most one ninth of a block is unused.
 */

/** Bytes per unit; every block starts on a multiple of it (one cache line, four SIMD vectors). */
export const UNIT_SHIFT = 6;

/** Bytes per page, the grain of large blocks and slabs. */
export const PAGE_SHIFT = 12;

/** Units in a page. */
export const PAGE_UNITS: number = 1 << (PAGE_SHIFT - UNIT_SHIFT);

/** Classes up to this many units (16 KiB) are cut from slabs; larger blocks are runs of pages. */
export const SLAB_MAX_UNITS = 256;

/** Pages in a slab (64 KiB). */
export const SLAB_PAGES = 16;

/** Class of a request of `units` ≥ 1. */
export function sizeClass(units: number): number {
  if (units <= 16) return units;
  const shift = 28 - Math.clz32(units - 1);
  return (shift << 3) + ((units - 1) >>> shift) + 1;
}

/** Units of a block of class `cls`; the inverse of `sizeClass`, rounding up. */
export function classUnits(cls: number): number {
  if (cls <= 16) return cls;
  const shift = (cls - 9) >>> 3;
  return (cls - (shift << 3)) << shift;
}

/** Number of classes: enough for 2³² bytes. */
export const CLASS_COUNT: number = sizeClass(2 ** (32 - UNIT_SHIFT)) + 1;

/** Last class that is cut from slabs. */
export const LAST_SLAB_CLASS: number = sizeClass(SLAB_MAX_UNITS);
