/**
 * @file `WorkItems`: how the outer loops of a kernel are cut into independent items.
 *
 * An item is one value of most outer variables and a run of consecutive values of the variables along
 * which vectors lie. Items are numbered with the last variable fastest.
 */
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
  readonly size: number;
  readonly length: number;
  readonly count: number;
}

/** See the file header. */
export class WorkItems {
  readonly #runs: readonly Run[];
  /** Number of items. */
  readonly count: number;

  constructor(shape: LoopShape, space: LoopSpace, outer: readonly string[], hasInner: boolean) {
    const points = outer.reduce((n, name) => n * space.size(name), 1);
    this.#runs = outer.map((name) => {
      const size = space.size(name);
      const length = runLength(shape, name, size, points, hasInner);
      return { name, size, length, count: Math.ceil(size / length) };
    });
    this.count = this.#runs.reduce((n, run) => n * run.count, 1);
  }

  /** Binds the variables of which an item has one value; gives the number of the item's run of the others. */
  decode(body: BodyEmitter, item: Local<'i32'>): ReadonlyMap<string, Local<'i32'>> {
    const numbers = new Map<string, Local<'i32'>>();
    let below = this.count;
    for (const run of this.#runs) {
      if (run.count === 1) continue;
      const isFirst = below === this.count;
      below /= run.count;
      const quotient = (): Code<'i32'> => (below === 1 ? item : op('i32.div_u', item, i32(below)));
      const number = isFirst ? quotient() : op('i32.rem_u', quotient(), i32(run.count));
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
    if (number === undefined) return [0, size];
    const begin = nest.body.f.let(`${name}.begin`, op('i32.mul', number, i32(length)));
    return nest.run(name, begin, length);
  }
}

function runLength(
  { mode, lane, across, groups }: LoopShape,
  name: string,
  size: number,
  points: number,
  hasInner: boolean,
): number {
  if (mode === 'row' || (name !== lane && name !== across)) return 1;
  if (across !== lane) return name === lane ? TILE_LANE : TILE_ACROSS;
  const step = 4 * groups;
  if (hasInner) return step;
  const isCut = size > 2 * ITEM_ELEMENTS || points / size < 16;
  return isCut ? Math.ceil(ITEM_ELEMENTS / step) * step : size;
}
