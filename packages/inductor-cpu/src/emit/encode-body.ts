/**
 * @file Binary encoding of a function body.
 *
 * Locals are written in runs of one type, as the format wants, so a local's index in the binary differs
 * from its order of creation: `slots` maps one to the other.
 */
import { ByteWriter } from './byte-writer.js';
import { localsByType } from './types.js';
import type {
  Callee,
  Code,
  DefinedFunction,
  Global,
  Label,
  Local,
  ResultType,
  Statement,
} from './types.js';

/** Type bytes of the binary format; `void` is the empty block type. */
export const TYPE_BYTES: Readonly<Record<ResultType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  void: 0x40,
};

/** Index spaces of the module that a body is linked into. */
export interface ModuleIndices {
  functionIndex(callee: Callee): number;
  globalIndex(global: Global): number;
}

/** Encodes an instruction's opcode with its prefix. */
export function writeOpcode(out: ByteWriter, opcode: number): void {
  const prefix = opcode >>> 16;
  if (prefix === 0) {
    out.byte(opcode);
  } else {
    out.byte(prefix);
    out.unsigned(opcode & 0xffff);
  }
}

/** Body of one function: local declarations, instructions, end. */
export function encodeBody(fn: DefinedFunction, indices: ModuleIndices): ByteWriter {
  const slots = new Map<Local, number>();
  for (const param of fn.params) slots.set(param, slots.size);
  const runs = localsByType(fn);
  const out = new ByteWriter();
  out.unsigned(runs.length);
  for (const [type, locals] of runs) {
    out.unsigned(locals.length);
    out.byte(TYPE_BYTES[type]);
    for (const local of locals) slots.set(local, slots.size);
  }
  new BodyEncoder(out, slots, indices).statements(fn.body);
  out.byte(0x0b);
  return out;
}

/** A constant expression, as a global's initial value. */
export function encodeConstant(out: ByteWriter, code: Code): void {
  const none = (): never => {
    throw new TypeError('a constant expression refers to nothing');
  };
  new BodyEncoder(out, new Map(), { functionIndex: none, globalIndex: none }).code(code);
  out.byte(0x0b);
}

class BodyEncoder {
  /** Open constructs, innermost last; an `if` has no label. */
  readonly #labels: (Label | undefined)[] = [];

  constructor(
    readonly out: ByteWriter,
    readonly slots: ReadonlyMap<Local, number>,
    readonly indices: ModuleIndices,
  ) {}

  statements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    const { out } = this;
    switch (statement.kind) {
      case 'do':
        this.code(statement.code);
        if (statement.code.type !== 'void') out.byte(0x1a);
        return;
      case 'set':
        this.code(statement.code);
        out.byte(0x21);
        out.unsigned(this.slots.get(statement.local)!);
        return;
      case 'set-global':
        this.code(statement.code);
        out.byte(0x24);
        out.unsigned(this.indices.globalIndex(statement.global));
        return;
      case 'block':
      case 'loop':
        out.byte(statement.kind === 'block' ? 0x02 : 0x03);
        out.byte(TYPE_BYTES.void);
        this.#nest(statement.label, statement.body);
        out.byte(0x0b);
        return;
      case 'if':
        this.code(statement.cond);
        out.byte(0x04);
        out.byte(TYPE_BYTES.void);
        this.#nest(undefined, statement.then);
        if (statement.otherwise.length > 0) {
          out.byte(0x05);
          this.#nest(undefined, statement.otherwise);
        }
        out.byte(0x0b);
        return;
      case 'br':
        if (statement.cond !== undefined) this.code(statement.cond);
        out.byte(statement.cond === undefined ? 0x0c : 0x0d);
        out.unsigned(this.#labels.length - 1 - this.#labels.lastIndexOf(statement.label));
        return;
      case 'return':
        if (statement.code !== undefined) this.code(statement.code);
        out.byte(0x0f);
        return;
      case 'section':
        this.statements(statement.body);
        return;
      case 'comment':
        return;
    }
  }

  #nest(label: Label | undefined, body: readonly Statement[]): void {
    this.#labels.push(label);
    this.statements(body);
    this.#labels.pop();
  }

  /** Operands first, left to right, then the instruction. */
  code(code: Code): void {
    const { out } = this;
    const { node } = code;
    if ('args' in node) for (const arg of node.args) this.code(arg);
    switch (node.kind) {
      case 'op':
        this.#plain(node.name, node.opcode);
        return;
      case 'i32':
        out.byte(0x41);
        out.signed32(node.value);
        return;
      case 'i64':
        out.byte(0x42);
        out.signed(node.value);
        return;
      case 'f32':
        out.byte(0x43);
        out.float32(node.value);
        return;
      case 'f64':
        out.byte(0x44);
        out.float64(node.value);
        return;
      case 'v128':
        writeOpcode(out, 0xfd000c);
        out.bytes(node.bytes);
        return;
      case 'memory':
        writeOpcode(out, node.opcode);
        // Atomics require natural alignment; elsewhere it is a hint and tensors promise only element alignment.
        out.byte(node.name.includes('atomic') ? (node.name.startsWith('i64') ? 3 : 2) : 0);
        out.unsigned(node.offset);
        if (node.lane !== undefined) out.byte(node.lane);
        return;
      case 'lane':
        writeOpcode(out, node.opcode);
        out.byte(node.lane);
        return;
      case 'shuffle':
        writeOpcode(out, 0xfd000d);
        out.bytes(node.lanes);
        return;
      case 'select':
        if (code.type === 'v128') out.bytes([0x1c, 1, TYPE_BYTES.v128]);
        else out.byte(0x1b);
        return;
      case 'local':
        out.byte(0x20);
        out.unsigned(this.slots.get(node.local)!);
        return;
      case 'tee':
        out.byte(0x22);
        out.unsigned(this.slots.get(node.local)!);
        return;
      case 'global':
        out.byte(0x23);
        out.unsigned(this.indices.globalIndex(node.global));
        return;
      case 'call':
        out.byte(0x10);
        out.unsigned(this.indices.functionIndex(node.callee));
        return;
    }
  }

  #plain(name: string, opcode: number): void {
    writeOpcode(this.out, opcode);
    // Reserved bytes: memory numbers and the fence's ordering.
    if (name === 'memory.copy') this.out.bytes([0, 0]);
    else if (name === 'memory.fill' || name === 'memory.size' || name === 'atomic.fence')
      this.out.byte(0);
  }
}
