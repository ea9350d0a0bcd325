/**
 * @file Rare things that a program may have beside its statements, each drawn with a small probability from dice of
 * its own, so that the programs without them stay as they are.
 */
import { type Tensor, isFloatingPoint } from '@tessera/tensor';
import type { Dice } from './dice.js';
import { type FuzzDevice, randomMove, withDevices } from './devices.js';
import type { Form } from './generate-inputs.js';
import { INDEXINGS, INDICES, SINK, SINK_SPEC, randomIndices } from './indices.js';
import { randomEdits } from './module-edits.js';
import {
  type CallSpec,
  LISTS,
  NETS,
  type Program,
  type Stmt,
  type TensorSpec,
  withEachTensor,
} from './program.js';

/** Which of them a program has. */
export interface Extras {
  /** The module changes between the calls. */
  readonly edits: boolean;
  /** Reads at captured indices, of which some are out of range. */
  readonly indices: boolean;
  /** Values that earlier calls left behind are arguments of later ones. */
  readonly kept: boolean;
  /** The last call is made again and again, and memory stays as it is. */
  readonly memory: boolean;
  /** A number that is a fraction in one call and whole in another. */
  readonly numbers: boolean;
  /** Whole numbers are divided, now and then by zero. */
  readonly integers: boolean;
  /** Tensors of both devices. */
  readonly devices: boolean;
  /** Equal modules go through one compiled function. */
  readonly blocks: boolean;
  /** Eight calls of different batches, so that code for all sizes runs at some that it was not made from. */
  readonly sizes: boolean;
  /** Functions of a wide table are called. */
  readonly library: boolean;
}

/** Nothing beside the body. */
export const NO_EXTRAS: Extras = {
  edits: false,
  indices: false,
  kept: false,
  memory: false,
  numbers: false,
  devices: false,
  integers: false,
  blocks: false,
  sizes: false,
  library: false,
};

/** How often each is drawn. */
const CHANCES: Readonly<Record<keyof Extras, number>> = {
  edits: 0.1,
  indices: 0.07,
  kept: 0.1,
  memory: 0.02,
  numbers: 0.06,
  // Only where WebGPU is.
  devices: 0.5,
  integers: 0.06,
  blocks: 0.04,
  sizes: 0.1,
  library: 0.3,
};

/** How often the last call of a program is made again. */
const REPEATS = 30;

/** Values of `captured.k`, a fraction and whole in turn. */
const NUMBERS: readonly (readonly number[])[] = [
  [0.5, 1, 1.5],
  [0.5, 2, 3],
  [1, 2, 0.5],
  [1.5, 0.5, 2],
  [0.25, 0, -1],
];

/** Draws which a program has. */
export function drawExtras(dice: Dice, devices: readonly FuzzDevice[]): Extras {
  const drawn = Object.entries(CHANCES).map(([name, chance]) => [name, dice.chance(chance)]);
  const extras = Object.fromEntries(drawn) as unknown as Extras;
  if (!devices.includes('wgpu')) return { ...extras, devices: false };
  // A kernel of WebGPU cannot throw, and its memory is not counted alone.
  return extras.devices ? { ...extras, indices: false, memory: false } : extras;
}

/** Arguments beside those of every program. */
export function extraForms(dice: Dice, { integers }: Extras): Form[] {
  if (!integers) return [];
  const dtype = dice.pick(['int64', 'int32', 'int16', 'uint8'] as const);
  const plain = { layout: 'contiguous', requiresGrad: false, leaf: true } as const;
  return [
    { shape: ['B', 3], dtype, ...plain },
    { shape: dice.pick([['B', 3], [3], []] as const), dtype, ...plain },
  ];
}

/** A program without a body, with what was drawn for it. */
export function withExtras(dice: Dice, frame: Program, extras: Extras): Program {
  let program = frame;
  const change = (next: (call: CallSpec, i: number) => Partial<CallSpec>): void => {
    const calls = program.calls.map((call, i) => ({ ...call, ...next(call, i) }));
    program = { ...program, calls };
  };
  if (extras.edits) {
    const net = dice.chance(0.7) ? dice.pick(LISTS) : dice.pick(NETS);
    const hasList = (LISTS as readonly string[]).includes(net);
    program = { ...program, net };
    change((_, i) => ({ edits: i > 0 && dice.chance(0.7) ? randomEdits(dice, hasList) : [] }));
  }
  if (extras.indices) {
    const captured = { [INDICES]: randomIndices(dice, false), [SINK]: SINK_SPEC };
    program = { ...program, async: false, captured: { ...program.captured, ...captured } };
    change(({ replace }, i) =>
      i === 0 ? {} : { replace: { ...replace, [INDICES]: randomIndices(dice, dice.chance(0.5)) } },
    );
  }
  if (extras.numbers) {
    const numbers = dice.pick(NUMBERS);
    change((_, i) => ({ k: numbers[i % numbers.length]! }));
  }
  if (extras.devices) program = withDevices(dice, program);
  if (extras.memory) {
    const leaf = (_: string, spec: TensorSpec): TensorSpec => ({ ...spec, leaf: true });
    const captured = Object.entries(program.captured).map(([name, spec]) => [
      name,
      leaf(name, spec),
    ]);
    const calls = program.calls.map((call) => withEachTensor(call, leaf));
    program = { ...program, captured: Object.fromEntries(captured), calls, repeats: REPEATS };
  }
  return program;
}

const LAYOUT_INPLACE = /^(requiresGrad_|detach_|t_|squeeze_|unsqueeze_|transpose_)$/;

/** Whether a statement may stand in a program. */
export function fits(stmt: Stmt, { indices, memory }: Extras): boolean {
  // What JavaScript does behind an index out of range, eager code does not come to do. And whoever keeps something, or
  // lays an argument out anew in each call, is no case for flat memory.
  if (!indices && !memory) return true;
  if (stmt.do === 'op') return !LAYOUT_INPLACE.test(stmt.name);
  if (stmt.do === 'call') return !(indices && stmt.kind === 'method');
  return !['effect', 'read', 'capture', 'toggle', 'hook', 'clearGrad', 'throw', 'caught'].includes(
    stmt.do,
  );
}

/** Statements that a program must have for what was drawn, as attempts: the first of each list that runs is taken. */
export function wantedStatements(
  dice: Dice,
  extras: Extras,
  tensors: readonly (readonly [string, Tensor])[],
  name: () => string,
): Stmt[][] {
  const names = (when: (t: Tensor) => boolean): string[] =>
    dice.shuffle(tensors.filter(([, t]) => when(t)).map(([of]) => of));
  const rows = (t: Tensor): boolean => t.dtype === 'float32' && t.shape.at(-1) === 3;
  const wanted: Stmt[][] = [];
  if (extras.edits) wanted.push(names(rows).map((of): Stmt => ({ do: 'module', out: name(), of })));
  if (extras.blocks)
    wanted.push(names(rows).map((of): Stmt => ({ do: 'call', out: name(), of, kind: 'blocks' })));
  if (extras.indices) {
    for (let i = 1 + dice.below(2); i > 0; i--) {
      const attempts = names((t) => t.ndim > 0 && isFloatingPoint(t.dtype));
      wanted.push(
        attempts.flatMap((of) =>
          [0, 1, 2].map((): Stmt => {
            return { do: 'indexed', out: name(), of, kind: dice.pick(INDEXINGS) };
          }),
        ),
      );
    }
  }
  if (extras.devices) wanted.push(names(() => true).map((of) => randomMove(dice, name(), of)));
  if (extras.numbers)
    wanted.push(
      names(() => true).map((on): Stmt => {
        const method = dice.pick(['add', 'mul', 'sub', 'maskedFill', 'mul_', 'add_']);
        const number = { n: 'captured.k' };
        const args = method === 'maskedFill' ? [{ t: on }, number] : [number];
        return { do: 'op', out: name(), on, name: method, args };
      }),
    );
  if (extras.integers) {
    for (let i = 1 + dice.below(2); i > 0; i--) wanted.push(divisions(dice, names, name));
  }
  return wanted;
}

function divisions(
  dice: Dice,
  names: (when: (t: Tensor) => boolean) => string[],
  name: () => string,
): Stmt[] {
  const integers = names((t) => !isFloatingPoint(t.dtype) && t.dtype !== 'bool');
  return integers.flatMap((on) =>
    integers.map((by): Stmt => {
      const method = dice.pick(['floorDivide', 'remainder', 'fmod', 'div', 'div', 'floorDivide_']);
      const divisor = dice.chance(0.25) ? dice.pick([0, -1, 2]) : { t: by };
      const rounding = { options: { roundingMode: dice.pick(['floor', 'trunc']) } };
      const args = method === 'div' && dice.chance(0.8) ? [divisor, rounding] : [divisor];
      return { do: 'op', out: name(), on, name: method, args };
    }),
  );
}
