/**
 * @file An operand's slab of a product: `bk` rows along x in shared memory, loaded by all threads through registers; and
 * the walk over k from slab to slab.
 *
 * Rows are arrays of their own, so that an index that is the same at each step is checked once. A thread that loads along k
 * writes to four rows. Padded by one vector, every eighth row begins in the same bank of memory: where there is room, eight
 * rows are shifted against those before them, so that such threads do not meet.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { IndexExpr } from '../../ir/index-expr.js';
import { over, sum, times, variable, whole } from '../kernel/places.js';
import type { RegisterValue } from '../kernel/registers.js';
import type { ScheduledBody, ScheduledStmt, SharedArray } from '../kernel/scheduled-kernel.js';
import type { LoadOrder } from './operand-order.js';
import { below } from './product-routines.js';
import { type BlockLoaders, type SlabUnit, slabUnits } from './slab-layout.js';

/** Where in the operand a slab is, and who loads it. */
export interface SlabPlace {
  /** Of the operand, its routine and its array, unless that is one of another slab as well. */
  readonly name: string;
  readonly array?: string;
  /** How it is loaded. */
  readonly order: LoadOrder;
  /** Values along x, and rows along k. */
  readonly extent: number;
  readonly bk: number;
  /** The batch and the first x. */
  readonly batch: IndexExpr;
  readonly origin: IndexExpr;
  readonly threads: number;
  /** Whether it is loaded in a loop, and not before the arithmetic on the slab before it. */
  readonly isLooped: boolean;
  /** Who loads it in blocks, if it is loaded so; not in a loop then. */
  readonly loaders?: BlockLoaders | undefined;
  /** Vectors of padding after each row; of more than one, all but one are for shifts. */
  readonly padding: number;
  /** Whether rows are read by numbers that are known. */
  readonly isNumbered: boolean;
  readonly dtype: DType;
}

/** A row of a slab: its number, and how many eights of rows are before it. */
export interface SlabRow {
  readonly k: IndexExpr;
  readonly eights: readonly IndexExpr[];
}

/** What is done for a unit, for those threads that have it. */
interface UnitWork {
  readonly unit: SlabUnit;
  readonly body: ScheduledBody;
}

/** See the file header. */
export class Slab {
  /** Rows are of vectors, or of single values. */
  readonly shared: SharedArray;
  private readonly isWhole: boolean;
  /** Vectors by which eight rows are shifted against those before them. */
  private readonly shift: number;
  private readonly units: readonly SlabUnit[];

  constructor(readonly place: SlabPlace) {
    const { name, order, extent, bk, padding, isNumbered, dtype, loaders } = place;
    const alongK = order === 'vectors along k';
    this.isWhole = !alongK || loaders !== undefined;
    this.shift = alongK && isNumbered && padding > 1 ? Math.floor((padding - 1) / (bk / 8 - 1)) : 0;
    const vectors = extent / 4 + (this.shift > 0 ? padding : Math.min(padding, 1));
    // What is shared has the same rows.
    const array = place.array === undefined ? `slab_${name}.` : `${place.array}.${this.isWhole}`;
    const rows = { name: array, dtype, rows: bk };
    this.shared = this.isWhole
      ? { ...rows, length: vectors, width: 4 }
      : { ...rows, length: vectors * 4, width: 1 };
    this.units = slabUnits(order, place);
  }

  /** The registers that it is loaded through, unless they are those of a slab before. */
  get registers(): readonly string[] {
    if (this.place.loaders?.first) return [];
    return this.units.flatMap((_, round) => this.registersOf(round));
  }

  /** Loads this thread's units of the slab at k = `first` into registers. */
  fetch(first: IndexExpr): UnitWork[] {
    const { name, batch, origin } = this.place;
    return this.each(({ k, x }, registers) =>
      registers.map((register, j): ScheduledStmt => {
        const at = [batch, sum(origin, x, whole(j)), sum(first, k)];
        return { kind: 'set', register, value: { kind: 'call', routine: `load_${name}`, at } };
      }),
    );
  }

  /** Writes the loaded units to shared memory. */
  publish(): UnitWork[] {
    const write = (row: IndexExpr, at: IndexExpr, value: RegisterValue): ScheduledStmt => ({
      kind: 'write',
      to: { array: this.shared.name, row, at },
      value,
    });
    return this.each(({ k, at }, registers) => {
      const part = (name: string, element?: number): RegisterValue => ({
        kind: 'register',
        name,
        ...(element !== undefined && { element }),
      });
      if (this.place.order !== 'vectors along k') return [write(k, at, part(registers[0]!))];
      return [0, 1, 2, 3].map((j) => {
        const of = registers.map((name) => part(name, j));
        const value: RegisterValue = this.isWhole ? { kind: 'pack', of } : of[0]!;
        return write(sum(k, whole(j)), this.shifted(k, at), value);
      });
    });
  }

  /** Four values of a row. */
  vectorAt({ k, eights }: SlabRow, vector: IndexExpr): RegisterValue {
    const { shift, isWhole, shared } = this;
    const at = shift === 0 ? vector : sum(vector, ...eights.map((each) => times(each, shift)));
    const read = (place: IndexExpr): RegisterValue => ({
      kind: 'read',
      from: { array: shared.name, row: k, at: place },
    });
    if (isWhole) return read(at);
    return { kind: 'pack', of: [0, 1, 2, 3].map((j) => read(sum(times(at, 4), whole(j)))) };
  }

  /** Where vector, or value, `at` of row `k` is. */
  private shifted(k: IndexExpr, at: IndexExpr): IndexExpr {
    const by = this.isWhole ? this.shift : 4 * this.shift;
    return by === 0 ? at : sum(at, times(over(k, 8), by));
  }

  /** The registers of a unit. */
  private registersOf(round: number): string[] {
    const { loaders, name } = this.place;
    if (loaders === undefined) return [`next_${name}${round}`];
    return [0, 1, 2, 3].map((j) => `${loaders.registers}${round * 4 + j}`);
  }

  private each(work: (unit: SlabUnit, registers: readonly string[]) => ScheduledBody): UnitWork[] {
    return this.units.map((unit, round) => ({ unit, body: work(unit, this.registersOf(round)) }));
  }
}

/** The work of each thread, in order. */
function shared(work: readonly UnitWork[]): ScheduledBody {
  const stmts: ScheduledStmt[] = [];
  for (const { unit, body } of work) {
    const last = stmts.at(-1);
    if (unit.isOfOthers && last?.kind === 'when')
      stmts[stmts.length - 1] = { ...last, otherwise: [...(last.otherwise ?? []), ...body] };
    else if (unit.below === undefined) stmts.push(...body);
    else stmts.push({ kind: 'when', all: [below(variable('lane'), unit.below)], body });
  }
  return stmts;
}

/** Which slabs are gone through. */
export interface SlabWalk {
  readonly slabs: readonly Slab[];
  /** Number of slabs along k. */
  readonly steps: Size;
  /** Rows of a slab. */
  readonly bk: number;
  /** First k of all slabs; 0 if absent. */
  readonly origin?: IndexExpr;
  /** The arithmetic on a slab; `step` is its number. */
  readonly multiply: ScheduledBody;
}

/**
 * The walk over slabs: the next slab's loads are issued before the arithmetic on this one, unless that is a loop. All threads
 * have passed a barrier at its end.
 */
export function walkSlabs({ slabs, steps, bk, origin, multiply }: SlabWalk): ScheduledBody {
  const first = (k: IndexExpr): IndexExpr => (origin === undefined ? k : sum(origin, k));
  const fetch = (k: IndexExpr): ScheduledBody =>
    shared(slabs.flatMap((slab) => slab.fetch(first(k))));
  const step = variable('step');
  const next = sum(step, whole(1));
  const { isLooped, threads } = slabs[0]!.place;
  const body: ScheduledBody = [
    ...(isLooped
      ? // Little text, and few registers.
        slabs.map((slab): ScheduledStmt => ({
          kind: 'loop',
          name: 'unit',
          begin: variable('lane'),
          ends: [whole((bk * slab.place.extent) / 4)],
          pace: threads,
          body: shared([...slab.fetch(first(times(step, bk))), ...slab.publish()]),
        }))
      : shared(slabs.flatMap((slab) => slab.publish()))),
    { kind: 'barrier' },
    ...(isLooped || steps === 1
      ? []
      : [{ kind: 'when', all: [below(next, steps)], body: fetch(times(next, bk)) } as const]),
    ...multiply,
    { kind: 'barrier' },
  ];
  return [
    { kind: 'clear', of: slabs.flatMap(({ registers }) => registers) },
    ...(isLooped ? [] : fetch(whole(0))),
    { kind: 'loop', name: 'step', begin: whole(0), ends: [whole(steps)], pace: 1, body },
  ];
}

/** How the rows of a slab are gone through. */
export interface SlabRows {
  readonly bk: number;
  readonly isUnrolled: boolean;
  /** Threads that share results, each taking every so manyth row, from `slice` on. */
  readonly slices?: number;
}

/** A loop over the rows of a slab; that of one that is not unrolled knows no eights. */
export function eachRow(
  { bk, isUnrolled, slices = 1 }: SlabRows,
  body: (row: SlabRow) => ScheduledBody,
): ScheduledStmt {
  const [kk, slice] = [variable('kk'), slices > 1 ? variable('slice') : whole(0)];
  const loop = { kind: 'loop', name: 'kk', ends: [whole(bk)], pace: slices } as const;
  if (!isUnrolled) return { ...loop, begin: slice, body: body({ k: kk, eights: [] }) };
  const eights = [...(slices > 8 ? [over(slice, 8)] : []), over(kk, 8)];
  return { ...loop, begin: whole(0), unrolled: true, body: body({ k: sum(slice, kk), eights }) };
}
