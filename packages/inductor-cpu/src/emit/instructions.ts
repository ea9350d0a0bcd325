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

/** `'add sub'` → `'add' | 'sub'`. */
type Words<S> = S extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : S;
/** Names of the instructions of one signature. */
type NamesOf<Group> = {
  [
    P in keyof Group & string
  ]: `${P extends '' ? '' : `${P}.`}${Words<Group[P][keyof Group[P]]> & string}`;
}[keyof Group & string];
type NameIn<Table> = { [S in keyof Table]: NamesOf<Table[S]> }[keyof Table];
type SignatureOf<Table, N extends string> = {
  [S in keyof Table]: N extends NamesOf<Table[S]> ? S : never;
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
export type BinaryVectorOp = NamesOf<(typeof OPCODES)['vv>v']>;
/** Instructions from one vector to another. */
export type UnaryVectorOp = NamesOf<(typeof OPCODES)['v>v']>;

const LETTERS: Record<string, ResultType> = {
  i: 'i32',
  l: 'i64',
  f: 'f32',
  d: 'f64',
  v: 'v128',
  '': 'void',
};

/** A table row. */
export interface Instruction {
  readonly opcode: number;
  readonly params: readonly ValType[];
  readonly result: ResultType;
}

/** A table by instruction name. */
export type Instructions = ReadonlyMap<string, Instruction>;

type Table = Readonly<Record<string, Readonly<Record<string, Readonly<Record<number, string>>>>>>;

function flatten(table: Table): Instructions {
  const flat = new Map<string, Instruction>();
  for (const [signature, group] of Object.entries(table)) {
    const [params = '', result = ''] = signature.split('>');
    const types = [...params].map((letter) => LETTERS[letter] as ValType);
    for (const [type, lists] of Object.entries(group))
      for (const [first, words] of Object.entries(lists))
        words.split(' ').forEach((word, i) => {
          const name = type === '' ? word : `${type}.${word}`;
          flat.set(name, { opcode: Number(first) + i, params: types, result: LETTERS[result] });
        });
  }
  return flat;
}

/** The tables by instruction name. */
export const PLAIN: Instructions = flatten(OPCODES);
export const MEMORY: Instructions = flatten(MEMORY_OPCODES);
export const LANE_MEMORY: Instructions = flatten(LANE_MEMORY_OPCODES);
export const LANE: Instructions = flatten(LANE_OPCODES);
