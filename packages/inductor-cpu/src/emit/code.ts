/**
 * @file Constructors of expression trees: `op('f32x4.add', a, b)`, `load('v128.load', address, 16)`.
 *
 * Instructions go by their WebAssembly names; operand and result types follow from the name and are
 * checked by the type checker. Trees are linear: using one twice would compute it twice, so the second
 * use is an error (keep shared values in locals).
 */
import { TesseraError } from '@tessera/shared';
import { LANE_MEMORY_OPCODES, LANE_OPCODES, MEMORY_OPCODES, OPCODES } from './opcodes.js';
import type { Callee, Code, CodeNode, Global, ResultType, ValType } from './types.js';

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
type ArgsOf<Table, N extends string> =
  SignatureOf<Table, N> extends `${infer P}>${string}` ? Operands<P> : never;
type CodeOf<Table, N extends string> =
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

/** A table row. */
interface Instruction<Payload> {
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
      flat.set(name, { payload, params: types, result: LETTERS[result] as ResultType });
    }
  }
  return flat;
}

const PLAIN = flatten<number>(OPCODES);
const MEMORY = flatten<readonly [number, number]>(MEMORY_OPCODES);
const LANE_MEMORY = flatten<readonly [number, number]>(LANE_MEMORY_OPCODES);
const LANE = flatten<number>(LANE_OPCODES);

/** Marks a tree as used. @throws codegen-invalid when it was used before */
export function consume(code: Code): void {
  const { kind } = code.node;
  if (kind === 'local' || kind === 'global') return;
  if (code.used) {
    throw new TesseraError(
      'codegen-invalid',
      `A tree with root ${describe(code)} is used twice; it would be computed twice.`,
      {
        hints: ['Set it to a local and use the local.'],
      },
    );
  }
  code.used = true;
}

function describe(code: Code): string {
  return 'name' in code.node ? code.node.name : code.node.kind;
}

/** Checks operands and makes the tree; its static type comes from the caller's signature. */
function build(
  name: string,
  instruction: Instruction<unknown>,
  args: readonly Code[],
  node: CodeNode,
): never {
  checkOperands(name, instruction.params, args);
  return { type: instruction.result, node, used: false } as never;
}

/** @throws codegen-invalid when operand count or types differ */
export function checkOperands(
  name: string,
  params: readonly ValType[],
  args: readonly Code[],
): void {
  if (args.length !== params.length || args.some((arg, i) => arg.type !== params[i])) {
    throw new TesseraError(
      'codegen-invalid',
      `${name} takes (${params.join(', ')}), got (${args.map((arg) => arg.type).join(', ')}).`,
    );
  }
  for (const arg of args) consume(arg);
}

function find<Payload>(
  table: ReadonlyMap<string, Instruction<Payload>>,
  name: string,
): Instruction<Payload> {
  const found = table.get(name);
  if (found === undefined)
    throw new TesseraError('codegen-invalid', `The emitter has no instruction '${name}'.`);
  return found;
}

/** An instruction without immediates. @throws codegen-invalid */
export function op<N extends OpName>(
  name: N,
  ...args: ArgsOf<typeof OPCODES, N>
): CodeOf<typeof OPCODES, N> {
  const found = find(PLAIN, name);
  const operands = args as readonly Code[];
  return build(name, found, operands, { kind: 'op', name, opcode: found.payload, args: operands });
}

/** A load or atomic that gives a value, at `address + offset` bytes (offset ≥ 0, added without wrap-around). @throws codegen-invalid */
export function memory<N extends MemoryOpName>(
  name: N,
  offset: number,
  ...args: ArgsOf<typeof MEMORY_OPCODES, N>
): CodeOf<typeof MEMORY_OPCODES, N> {
  const found = find(MEMORY, name);
  const operands = args as readonly Code[];
  const [opcode, align] = found.payload;
  return build(name, found, operands, memoryNode(name, opcode, align, offset, undefined, operands));
}

/** A load or store of one lane, at `address + offset` bytes. @throws codegen-invalid */
export function laneMemory<N extends LaneMemoryOpName>(
  name: N,
  offset: number,
  lane: number,
  ...args: ArgsOf<typeof LANE_MEMORY_OPCODES, N>
): CodeOf<typeof LANE_MEMORY_OPCODES, N> {
  const found = find(LANE_MEMORY, name);
  const operands = args as readonly Code[];
  const [opcode, align] = found.payload;
  return build(name, found, operands, memoryNode(name, opcode, align, offset, lane, operands));
}

function memoryNode(
  name: string,
  opcode: number,
  align: number,
  offset: number,
  lane: number | undefined,
  args: readonly Code[],
): CodeNode {
  if (!Number.isInteger(offset) || offset < 0 || offset > 0xffffffff) {
    throw new TesseraError(
      'codegen-invalid',
      `${name} has offset ${offset}; offsets are unsigned 32-bit integers.`,
      {
        hints: ['Add a negative offset to the address instead.'],
      },
    );
  }
  return { kind: 'memory', name, opcode, align, offset, lane, args };
}

/** Extracts or replaces a lane. @throws codegen-invalid */
export function lane<N extends LaneOpName>(
  name: N,
  index: number,
  ...args: ArgsOf<typeof LANE_OPCODES, N>
): CodeOf<typeof LANE_OPCODES, N> {
  const found = find(LANE, name);
  const operands = args as readonly Code[];
  return build(name, found, operands, {
    kind: 'lane',
    name,
    opcode: found.payload,
    lane: index,
    args: operands,
  });
}

/** `i8x16.shuffle`: byte k of the result is byte `lanes[k]` of a ++ b. @throws codegen-invalid */
export function shuffle(lanes: readonly number[], a: Code<'v128'>, b: Code<'v128'>): Code<'v128'> {
  checkOperands('i8x16.shuffle', ['v128', 'v128'], [a, b]);
  if (lanes.length !== 16)
    throw new TesseraError(
      'codegen-invalid',
      `i8x16.shuffle takes 16 lane numbers, got ${lanes.length}.`,
    );
  return { type: 'v128', node: { kind: 'shuffle', lanes, args: [a, b] }, used: false };
}

/** Shuffle of 32-bit lanes: lane k of the result is lane `lanes[k]` (0–7) of a ++ b. */
export function shuffle32(
  lanes: readonly [number, number, number, number],
  a: Code<'v128'>,
  b: Code<'v128'>,
): Code<'v128'> {
  return shuffle(
    lanes.flatMap((k) => [4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3]),
    a,
    b,
  );
}

/** `cond ? a : b`; all three are evaluated. */
export function select<T extends ValType>(a: Code<T>, b: Code<T>, cond: Code<'i32'>): Code<T> {
  checkOperands('select', [a.type, a.type, 'i32'], [a, b, cond]);
  return { type: a.type, node: { kind: 'select', args: [a, b, cond] }, used: false };
}

/** i32 constant, given as a signed or unsigned number. */
export function i32(value: number): Code<'i32'> {
  return { type: 'i32', node: { kind: 'i32', value: value | 0 }, used: false };
}

/** i64 constant. */
export function i64(value: bigint | number): Code<'i64'> {
  return {
    type: 'i64',
    node: { kind: 'i64', value: BigInt.asIntN(64, BigInt(value)) },
    used: false,
  };
}

/** f32 constant, rounded to nearest. */
export function f32(value: number): Code<'f32'> {
  return { type: 'f32', node: { kind: 'f32', value: Math.fround(value) }, used: false };
}

/** f64 constant. */
export function f64(value: number): Code<'f64'> {
  return { type: 'f64', node: { kind: 'f64', value }, used: false };
}

function v128(bytes: Uint8Array): Code<'v128'> {
  return { type: 'v128', node: { kind: 'v128', bytes }, used: false };
}

function bytesOf(array: Float32Array | Float64Array | Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(array.buffer);
}

/** v128 constant of four f32 (or one, repeated). */
export function f32x4(...values: readonly number[]): Code<'v128'> {
  return v128(
    bytesOf(Float32Array.from({ length: 4 }, (_, i) => values[i % values.length] as number)),
  );
}

/** v128 constant of two f64 (or one, repeated). */
export function f64x2(...values: readonly number[]): Code<'v128'> {
  return v128(
    bytesOf(Float64Array.from({ length: 2 }, (_, i) => values[i % values.length] as number)),
  );
}

/** v128 constant of four i32 (or one, repeated). */
export function i32x4(...values: readonly number[]): Code<'v128'> {
  return v128(
    bytesOf(Int32Array.from({ length: 4 }, (_, i) => values[i % values.length] as number)),
  );
}

/** v128 constant of two i64 (or one, repeated). */
export function i64x2(...values: readonly bigint[]): Code<'v128'> {
  return v128(
    bytesOf(BigInt64Array.from({ length: 2 }, (_, i) => values[i % values.length] as bigint)),
  );
}

/** v128 constant of sixteen bytes. */
export function i8x16(values: readonly number[]): Code<'v128'> {
  return v128(Uint8Array.from(values));
}

/** A module variable. Mutable unless said otherwise. */
export function global<T extends ValType>(name: string, init: Code<T>, mutable = true): Global<T> {
  consume(init);
  const node: { kind: 'global'; global: Global<T> } = {
    kind: 'global',
    global: undefined as never,
  };
  const made: Global<T> = {
    type: init.type,
    node: node as CodeNode,
    used: false,
    name,
    mutable,
    init,
  };
  node.global = made;
  return made;
}

/** A call of a defined or imported function; `T` is its result type. @throws codegen-invalid */
export function call<T extends ResultType>(
  callee: Callee & { readonly result: T },
  ...args: readonly Code[]
): Code<T> {
  const params = callee.params.map((param) => (typeof param === 'string' ? param : param.type));
  checkOperands(callee.name, params, args);
  return { type: callee.result, node: { kind: 'call', callee, args }, used: false };
}
