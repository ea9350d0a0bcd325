/**
 * @file The instruction tables by name, and the types of operands and results that follow from a name.
 */
import { LANE_MEMORY_OPCODES, LANE_OPCODES, MEMORY_OPCODES, OPCODES } from './opcodes.js';
import type { Code, ResultType, ValType } from './types.js';

interface Letters {
  readonly i: 'i32';
  readonly l: 'i64';
  readonly f: 'f32';
  readonly d: 'f64';
  readonly v: 'v128';
}
type Letter = keyof Letters;

/** `'vi'` → `[Code<'v128'>, Code<'i32'>]`. */
type Operands<S extends string> = S extends `${infer C extends Letter}${infer Rest}`
  ? [Code<Letters[C]>, ...Operands<Rest>]
  : [];
type ResultOf<S extends string> = S extends Letter ? Letters[S] : 'void';

type NameIn<Table> = { [S in keyof Table]: keyof Table[S] }[keyof Table] & string;
type SignatureOf<Table, N extends string> = {
  [S in keyof Table]: N extends keyof Table[S] ? S : never;
}[keyof Table] &
  string;
/** Operand trees of an instruction of a table, by name. */
export type ArgsOf<Table, N extends string> =
  SignatureOf<Table, N> extends `${infer P}>${string}` ? Operands<P> : never;
/** Result tree of an instruction of a table, by name. */
export type CodeOf<Table, N extends string> =
  SignatureOf<Table, N> extends `${string}>${infer R}` ? Code<ResultOf<R>> : never;

/** Names of instructions without immediates. */
export type OpName = NameIn<typeof OPCODES>;
/** Names of loads, stores and atomics. */
export type MemoryOpName = NameIn<typeof MEMORY_OPCODES>;
/** Names of single-lane loads and stores. */
export type LaneMemoryOpName = NameIn<typeof LANE_MEMORY_OPCODES>;
/** Names of lane extractions and replacements. */
export type LaneOpName = NameIn<typeof LANE_OPCODES>;
/** Instructions from two vectors to one. */
export type BinaryVectorOp = keyof (typeof OPCODES)['vv>v'];
/** Instructions from one vector to another. */
export type UnaryVectorOp = keyof (typeof OPCODES)['v>v'];

const LETTERS: Record<string, ResultType> = {
  i: 'i32',
  l: 'i64',
  f: 'f32',
  d: 'f64',
  v: 'v128',
  '': 'void',
};

/** A table row: opcode (and access width), operand types and result type. */
export interface Instruction<Payload> {
  readonly payload: Payload;
  readonly params: readonly ValType[];
  readonly result: ResultType;
}

function flatten<Payload>(table: object): ReadonlyMap<string, Instruction<Payload>> {
  const flat = new Map<string, Instruction<Payload>>();
  for (const [signature, group] of Object.entries(table)) {
    const [params = '', result = ''] = signature.split('>');
    const types = [...params].map((letter) => LETTERS[letter] as ValType);
    for (const [name, payload] of Object.entries(group as Record<string, Payload>)) {
      flat.set(name, { payload, params: types, result: LETTERS[result] });
    }
  }
  return flat;
}

/** The tables by instruction name. */
export const PLAIN: ReadonlyMap<string, Instruction<number>> = flatten<number>(OPCODES);
export const MEMORY: ReadonlyMap<string, Instruction<readonly [number, number]>> = flatten<
  readonly [number, number]
>(MEMORY_OPCODES);
export const LANE_MEMORY: ReadonlyMap<string, Instruction<readonly [number, number]>> = flatten<
  readonly [number, number]
>(LANE_MEMORY_OPCODES);
export const LANE: ReadonlyMap<string, Instruction<number>> = flatten<number>(LANE_OPCODES);
