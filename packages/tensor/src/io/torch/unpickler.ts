/**
 * @file A reader of pickles that builds containers and runs nothing.
 *
 * A pickle is a program for a stack machine; in Python it may import and call anything. This one knows the opcodes
 * that make `None`, numbers, strings, tuples, lists and dicts (protocols 2 to 5, as `torch.save` uses them), and hands
 * names, calls and persistent ids to `PickleHost`, which knows what a few of them mean and refuses all others. Time and
 * memory are bounded by the length of the pickle.
 *
 * @see https://github.com/python/cpython/blob/main/Lib/pickletools.py
 */
import { invalidTorch } from './invalid-torch.js';
import { PickleDict, PickleGlobal, PickleTuple, type PickleValue } from './pickle-values.js';

/** What names, calls and ids mean. */
export interface PickleHost {
  /** @throws torch-checkpoint-invalid for a name that is not known */
  global(module: string, name: string): PickleValue;
  /** What a call of a known name gives; nothing is called. */
  reduce(callee: PickleValue, args: readonly PickleValue[]): PickleValue;
  persistent(id: PickleValue): PickleValue;
  /** Sets the state of an object, which is left as it is. */
  build(object: PickleValue, state: PickleValue): void;
}

const MARK = /* @__PURE__ */ Symbol('mark');
/** Whole numbers of more bytes are no checkpoint's. */
const MAX_LONG_BYTES = 256;

class Unpickler {
  private at = 0;
  private readonly stack: (PickleValue | typeof MARK)[] = [];
  private readonly memo = new Map<number, PickleValue>();
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly host: PickleHost,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  run(): PickleValue {
    for (;;) {
      const opcode = this.u8();
      if (opcode === 0x2e) {
        const result = this.pop();
        if (this.stack.length > 0) this.invalid('more than one value is left');
        return result;
      }
      this.step(opcode);
    }
  }

  private invalid(why: string): never {
    return invalidTorch(`its pickle is malformed at byte ${this.at}: ${why}`);
  }

  /** Moves over `count` bytes and returns where they start. */
  private take(count: number): number {
    const from = this.at;
    if (count > this.bytes.byteLength - from) this.invalid('it ends too early');
    this.at = from + count;
    return from;
  }

  private u8(): number {
    return this.bytes[this.take(1)]!;
  }

  private u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  private text(length: number): string {
    const from = this.take(length);
    return new TextDecoder().decode(this.bytes.subarray(from, from + length));
  }

  /** Text up to the end of a line. */
  private line(): string {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) this.invalid('a line does not end');
    const line = this.text(end - this.at);
    this.at = end + 1;
    return line;
  }

  /** A whole number, little-endian, in two's complement. */
  private long(length: number): number | bigint {
    if (length > MAX_LONG_BYTES) this.invalid(`a number of ${length} bytes`);
    const from = this.take(length);
    let value = 0n;
    for (let i = length - 1; i >= 0; i--) value = (value << 8n) | BigInt(this.bytes[from + i]!);
    value = BigInt.asIntN(8 * length, value);
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  private pop(): PickleValue {
    const value = this.stack.pop();
    if (value === undefined || value === MARK) this.invalid('a value is missing');
    return value;
  }

  private top(): PickleValue {
    const value = this.stack.at(-1);
    if (value === undefined || value === MARK) this.invalid('a value is missing');
    return value;
  }

  /** Takes what lies above the last mark, and the mark. */
  private popToMark(): PickleValue[] {
    const mark = this.stack.lastIndexOf(MARK);
    if (mark < 0) this.invalid('a mark is missing');
    return this.stack.splice(mark).slice(1) as PickleValue[];
  }

  private push(value: PickleValue): void {
    this.stack.push(value);
  }

  private pushTuple(count: number): void {
    const items = Array.from({ length: count }, () => this.pop()).reverse();
    this.push(new PickleTuple(items));
  }

  private setItems(items: readonly PickleValue[]): void {
    const dict = this.top();
    if (!(dict instanceof PickleDict) || items.length % 2 !== 0)
      this.invalid('entries of what is no dict');
    for (let i = 0; i < items.length; i += 2) dict.entries.set(items[i]!, items[i + 1]!);
  }

  private append(items: readonly PickleValue[]): void {
    const list = this.top();
    if (!Array.isArray(list)) this.invalid('items of what is no list');
    for (const item of items) list.push(item);
  }

  private pushGlobal(module: PickleValue, name: PickleValue): void {
    if (typeof module !== 'string' || typeof name !== 'string') this.invalid('a name is no text');
    this.push(this.host.global(module, name));
  }

  private recall(index: number): void {
    const value = this.memo.get(index);
    if (value === undefined) this.invalid(`nothing was kept as ${index}`);
    this.push(value);
  }

  private reduce(): void {
    const args = this.pop();
    const callee = this.pop();
    if (!(args instanceof PickleTuple) || !(callee instanceof PickleGlobal))
      this.invalid('a call of what is no function');
    this.push(this.host.reduce(callee, args.items));
  }

  private build(): void {
    const state = this.pop();
    this.host.build(this.top(), state);
  }

  // One case for each opcode, by its letter in pickletools.
  private step(opcode: number): void {
    switch (opcode) {
      case 0x80: // PROTO
        if (this.u8() > 5) this.invalid('an unknown protocol');
        return;
      case 0x95: // FRAME
        this.take(8);
        return;
      case 0x28: // MARK
        this.stack.push(MARK);
        return;
      case 0x30: // POP
        this.stack.pop();
        return;
      case 0x31: // POP_MARK
        this.popToMark();
        return;
      case 0x32: // DUP
        return this.push(this.top());
      case 0x4e: // NONE
        return this.push(null);
      case 0x88: // NEWTRUE
        return this.push(true);
      case 0x89: // NEWFALSE
        return this.push(false);
      case 0x4a: // BININT
        return this.push(this.view.getInt32(this.take(4), true));
      case 0x4b: // BININT1
        return this.push(this.u8());
      case 0x4d: // BININT2
        return this.push(this.view.getUint16(this.take(2), true));
      case 0x8a: // LONG1
        return this.push(this.long(this.u8()));
      case 0x8b: // LONG4
        return this.push(this.long(this.u32()));
      case 0x47: // BINFLOAT
        return this.push(this.view.getFloat64(this.take(8), false));
      case 0x8c: // SHORT_BINUNICODE
      case 0x55: // SHORT_BINSTRING, of Python 2
        return this.push(this.text(this.u8()));
      case 0x58: // BINUNICODE
      case 0x54: // BINSTRING, of Python 2
        return this.push(this.text(this.u32()));
      case 0x8d: // BINUNICODE8
        return this.push(this.text(Number(this.view.getBigUint64(this.take(8), true))));
      default:
        return this.stepContainer(opcode);
    }
  }

  private stepContainer(opcode: number): void {
    switch (opcode) {
      case 0x5d: // EMPTY_LIST
        return this.push([]);
      case 0x6c: // LIST
        return this.push(this.popToMark());
      case 0x61: // APPEND
        return this.append([this.pop()]);
      case 0x65: // APPENDS
        return this.append(this.popToMark());
      case 0x29: // EMPTY_TUPLE
        return this.pushTuple(0);
      case 0x85: // TUPLE1
      case 0x86: // TUPLE2
      case 0x87: // TUPLE3
        return this.pushTuple(opcode - 0x84);
      case 0x74: // TUPLE
        return this.push(new PickleTuple(this.popToMark()));
      case 0x7d: // EMPTY_DICT
        return this.push(new PickleDict());
      case 0x64: {
        // DICT
        const items = this.popToMark();
        this.push(new PickleDict());
        return this.setItems(items);
      }
      case 0x73: {
        // SETITEM
        const value = this.pop();
        return this.setItems([this.pop(), value]);
      }
      case 0x75: // SETITEMS
        return this.setItems(this.popToMark());
      case 0x71: // BINPUT
        this.memo.set(this.u8(), this.top());
        return;
      case 0x72: // LONG_BINPUT
        this.memo.set(this.u32(), this.top());
        return;
      case 0x94: // MEMOIZE
        this.memo.set(this.memo.size, this.top());
        return;
      case 0x68: // BINGET
        return this.recall(this.u8());
      case 0x6a: // LONG_BINGET
        return this.recall(this.u32());
      case 0x63: // GLOBAL
        return this.pushGlobal(this.line(), this.line());
      case 0x93: {
        // STACK_GLOBAL
        const name = this.pop();
        return this.pushGlobal(this.pop(), name);
      }
      case 0x52: // REDUCE
        return this.reduce();
      case 0x62: // BUILD
        return this.build();
      case 0x51: // BINPERSID
        return this.push(this.host.persistent(this.pop()));
      default:
        return this.invalid(
          `opcode 0x${opcode.toString(16)}, which makes neither tensors nor containers`,
        );
    }
  }
}

/** The value that a pickle describes. @throws torch-checkpoint-invalid */
export function unpickle(bytes: Uint8Array, host: PickleHost): PickleValue {
  return new Unpickler(bytes, host).run();
}
