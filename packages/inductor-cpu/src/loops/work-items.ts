/**
 * @file `WorkItems`: how the outer loops of a kernel are cut into independent items.
 *
 * An item is one value of most outer variables and a run of consecutive values of the variables along
 * which vectors lie. Items are numbered with the last variable fastest.
 */
import { type Size, sizeCeilDiv, sizeProduct } from '@tessera/shared';
import type { BodyEmitter } from '../body/body-emitter.js';
import type { LoopSpace } from '../body/loop-space.js';
import { i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { Bound, LoopNest } from './loop-nest.js';
import type { LoopShape } from './loop-shape.js';

/** Elements of a pointwise item: about a microsecond of work. */
const ITEM_ELEMENTS = 2048;
/** A tile of a transposing kernel: few rows read by lanes, so that their cache lines stay until all is read. */
const TILE_LANE = 16;
const TILE_ACROSS = 128;

/** A variable cut into `count` runs of `length` values; the last may be shorter. */
interface Run {
  readonly name: string;
  readonly size: Size;
  readonly length: number;
  readonly count: Size;
}

/** See the file header. */
export class WorkItems {
  readonly #runs: readonly Run[];
  /** Number of items. */
  readonly count: Size;

  constructor(shape: LoopShape, space: LoopSpace, outer: readonly string[], hasInner: boolean) {
    const points = outer.reduce((n, name) => n * space.hint(name), 1);
    this.#runs = outer.map((name) => {
      const size = space.size(name);
      const length = runLength(shape, name, size, points, hasInner);
      return { name, size, length, count: sizeCeilDiv(size, length) };
    });
    this.count = sizeProduct(this.#runs.map(({ count }) => count));
  }

  /** Binds the variables of which an item has one value; gives the number of the item's run of the others. */
  decode(body: BodyEmitter, item: Local<'i32'>): ReadonlyMap<string, Local<'i32'>> {
    const numbers = new Map<string, Local<'i32'>>();
    let isFirst = true;
    for (const [i, run] of this.#runs.entries()) {
      if (run.count === 1) continue;
      const below = sizeProduct(this.#runs.slice(i + 1).map(({ count }) => count));
      const quotient = (): Code<'i32'> =>
        below === 1 ? item : op('i32.div_u', item, body.size(below));
      const number = isFirst ? quotient() : op('i32.rem_u', quotient(), body.size(run.count));
      isFirst = false;
      const local = body.f.let(run.name, number);
      if (run.length === 1) body.scope.bind(run.name, local);
      else numbers.set(run.name, local);
    }
    return numbers;
  }

  /** Bounds of an item's run of a variable. */
  bounds(
    nest: LoopNest,
    name: string,
    numbers: ReadonlyMap<string, Local<'i32'>>,
  ): readonly [Bound, Bound] {
    const { size, length } = this.#runs.find((run) => run.name === name) as Run;
    const number = numbers.get(name);
    if (number === undefined) return [0, nest.bound(size)];
    const begin = nest.body.f.let(`${name}.begin`, op('i32.mul', number, i32(length)));
    return nest.run(name, begin, length);
  }
}

function runLength(
  { mode, lane, across, groups }: LoopShape,
  name: string,
  size: Size,
  points: number,
  hasInner: boolean,
): number {
  if (mode === 'row' || (name !== lane && name !== across)) return 1;
  if (across !== lane) return name === lane ? TILE_LANE : TILE_ACROSS;
  const step = 4 * groups;
  if (hasInner) return step;
  const whole = Math.ceil(ITEM_ELEMENTS / step) * step;
  if (typeof size !== 'number') return whole;
  const isCut = size > 2 * ITEM_ELEMENTS || points / size < 16;
  return isCut ? whole : size;
}
