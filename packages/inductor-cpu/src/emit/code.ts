/**
 * @file Constructors of expression trees: `op('f32x4.add', a, b)`, `load('v128.load', address, 16)`.
 *
 * Instructions go by their WebAssembly names; operand and result types follow from the name and are
 * checked by the type checker. Trees are linear: using one twice would compute it twice, so the second
 * use is an error (keep shared values in locals).
 */
import { TesseraError } from '@tessera/shared';
import {
  LANE,
  LANE_MEMORY,
  MEMORY,
  PLAIN,
  type ArgsOf,
  type CodeOf,
  type Instruction,
  type Instructions,
  type LaneMemoryOpName,
  type LaneOpName,
  type MemoryOpName,
  type OpName,
} from './instructions.js';
import type { LANE_MEMORY_OPCODES, LANE_OPCODES, MEMORY_OPCODES, OPCODES } from './opcodes.js';
import type { Callee, Code, CodeNode, Global, ResultType, ValType } from './types.js';

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

/**
 * Checks operands and marks them as used. Most of what generating code takes is this, so nothing is called for an operand
 * that may be used again.
 *
 * @throws codegen-invalid when operand count or types differ
 */
export function checkOperands(
  name: string,
  params: readonly ValType[],
  args: readonly Code[],
): void {
  let fits = args.length === params.length;
  for (let i = 0; i < args.length && fits; i++) fits = args[i].type === params[i];
  if (!fits)
    throw new TesseraError(
      'codegen-invalid',
      `${name} takes (${params.join(', ')}), got (${args.map((arg) => arg.type).join(', ')}).`,
    );
  for (let i = 0; i < args.length; i++) if (args[i].node.kind !== 'local') consume(args[i]);
}

/** The instruction of a name, whose operands are checked. */
function checked(table: Instructions, name: string, args: readonly Code[]): Instruction {
  const found = table.get(name);
  if (found === undefined)
    throw new TesseraError('codegen-invalid', `The emitter has no instruction '${name}'.`);
  checkOperands(name, found.params, args);
  return found;
}

/** An instruction without immediates. @throws codegen-invalid */
export function op<N extends OpName>(
  name: N,
  ...args: ArgsOf<typeof OPCODES, N>
): CodeOf<typeof OPCODES, N> {
  const { opcode, result } = checked(PLAIN, name, args);
  // The static type is that of the signature.
  return { type: result, node: { kind: 'op', name, opcode, args }, used: false } as never;
}

/** A load or atomic that gives a value, at `address + offset` bytes (offset ≥ 0, added without wrap-around). @throws codegen-invalid */
export function memory<N extends MemoryOpName>(
  name: N,
  offset: number,
  ...args: ArgsOf<typeof MEMORY_OPCODES, N>
): CodeOf<typeof MEMORY_OPCODES, N> {
  const { opcode, result } = checked(MEMORY, name, args);
  const node = memoryNode(name, opcode, offset, undefined, args);
  return { type: result, node, used: false } as never;
}

/** A load or store of one lane, at `address + offset` bytes. @throws codegen-invalid */
export function laneMemory<N extends LaneMemoryOpName>(
  name: N,
  offset: number,
  lane: number,
  ...args: ArgsOf<typeof LANE_MEMORY_OPCODES, N>
): CodeOf<typeof LANE_MEMORY_OPCODES, N> {
  const { opcode, result } = checked(LANE_MEMORY, name, args);
  const node = memoryNode(name, opcode, offset, lane, args);
  return { type: result, node, used: false } as never;
}

function memoryNode(
  name: string,
  opcode: number,
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
  return { kind: 'memory', name, opcode, offset, lane, args };
}

/** Extracts or replaces a lane. @throws codegen-invalid */
export function lane<N extends LaneOpName>(
  name: N,
  index: number,
  ...args: ArgsOf<typeof LANE_OPCODES, N>
): CodeOf<typeof LANE_OPCODES, N> {
  const { opcode, result } = checked(LANE, name, args);
  return {
    type: result,
    node: { kind: 'lane', name, opcode, lane: index, args },
    used: false,
  } as never;
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
  return v128(bytesOf(Float32Array.from({ length: 4 }, (_, i) => values[i % values.length])));
}

/** v128 constant of two f64 (or one, repeated). */
export function f64x2(...values: readonly number[]): Code<'v128'> {
  return v128(bytesOf(Float64Array.from({ length: 2 }, (_, i) => values[i % values.length])));
}

/** v128 constant of four i32 (or one, repeated). */
export function i32x4(...values: readonly number[]): Code<'v128'> {
  return v128(bytesOf(Int32Array.from({ length: 4 }, (_, i) => values[i % values.length])));
}

/** v128 constant of two i64 (or one, repeated). */
export function i64x2(...values: readonly bigint[]): Code<'v128'> {
  return v128(bytesOf(BigInt64Array.from({ length: 2 }, (_, i) => values[i % values.length])));
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
    node,
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
