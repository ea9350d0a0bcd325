/**
 * @file Links functions into a WebAssembly module (its text: print-module.ts).
 *
 * Everything reachable from the exported functions is included once, in the order it is first met, so
 * callers list only what they export. The memory is imported as `env.memory`; host functions under the
 * names of their `ImportedFunction`.
 */
import { type Steps, atOnce } from '@tessera/shared';
import { ByteWriter } from './byte-writer.js';
import { encodeBody, encodeConstant, TYPE_BYTES } from './encode-body.js';
import type {
  Callee,
  Code,
  DefinedFunction,
  Global,
  ImportedFunction,
  ResultType,
  Statement,
  ValType,
} from './types.js';

/** The memory that a module imports; limits in 64 KiB pages. */
export interface MemoryImport {
  readonly minPages: number;
  readonly maxPages: number;
  readonly shared: boolean;
}

/** What goes into a module. */
export interface ModuleSpec {
  readonly memory: MemoryImport;
  /** Exported under their own names, which must differ. */
  readonly functions: readonly DefinedFunction[];
  /** Exported under their own names; others are included when used. */
  readonly globals?: readonly Global[];
}

/** What a module is made of. */
export interface Linked {
  readonly imports: readonly ImportedFunction[];
  readonly functions: readonly DefinedFunction[];
  readonly globals: readonly Global[];
}

/** Everything reachable, in a deterministic order; with a pause after each function. */
export function* link(spec: Omit<ModuleSpec, 'memory'>): Steps<Linked> {
  const imports = new Set<ImportedFunction>();
  const functions = new Set<DefinedFunction>(spec.functions);
  const globals = new Set<Global>(spec.globals);
  const visitCode = (code: Code): void => {
    const { node } = code;
    if (node.kind === 'global') globals.add(node.global);
    if (node.kind === 'call') {
      if (node.callee.kind === 'import') imports.add(node.callee);
      else functions.add(node.callee);
    }
    if ('args' in node) node.args.forEach(visitCode);
  };
  const visit = (statements: readonly Statement[]): void => {
    for (const statement of statements) {
      if (statement.kind === 'set-global') globals.add(statement.global);
      if ('code' in statement && statement.code !== undefined) visitCode(statement.code);
      if ('cond' in statement && statement.cond !== undefined) visitCode(statement.cond);
      if ('body' in statement) visit(statement.body);
      if (statement.kind === 'if') {
        visit(statement.then);
        visit(statement.otherwise);
      }
    }
  };
  // A Set's iterator also visits what is added meanwhile: callees of callees.
  for (const fn of functions) {
    visit(fn.body);
    yield;
  }
  return { imports: [...imports], functions: [...functions], globals: [...globals] };
}

function paramTypes(callee: Callee): readonly ValType[] {
  return callee.kind === 'import' ? callee.params : callee.params.map((param) => param.type);
}

/** The module in binary form. */
export function assembleModule(spec: ModuleSpec): Uint8Array<ArrayBuffer> {
  return atOnce(assemblySteps(spec));
}

/** `assembleModule` with pauses between functions. */
export function* assemblySteps(spec: ModuleSpec): Steps<Uint8Array<ArrayBuffer>> {
  const { imports, functions, globals } = yield* link(spec);
  const functionIndices = new Map<Callee, number>();
  for (const callee of [...imports, ...functions])
    functionIndices.set(callee, functionIndices.size);
  const globalIndices = new Map(globals.map((global, index) => [global, index]));

  const types = new TypeTable();
  const typeOf = (callee: Callee): number => types.index(paramTypes(callee), callee.result);
  const out = new ByteWriter();
  out.bytes([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
  const importTypes = imports.map(typeOf);
  const functionTypes = functions.map(typeOf);

  section(out, 1, types.entries, (w, entry) => w.bytes(entry));
  section(out, 2, [undefined, ...imports], (w, entry, i) => {
    w.name(entry?.module ?? 'env');
    w.name(entry?.name ?? 'memory');
    if (entry === undefined) {
      w.byte(2);
      w.byte(spec.memory.shared ? 3 : 1);
      w.unsigned(spec.memory.minPages);
      w.unsigned(spec.memory.maxPages);
    } else {
      w.byte(0);
      w.unsigned(importTypes[i - 1]);
    }
  });
  section(out, 3, functionTypes, (w, type) => w.unsigned(type));
  section(out, 6, globals, (w, global) => {
    w.byte(TYPE_BYTES[global.type]);
    w.byte(global.mutable ? 1 : 0);
    encodeConstant(w, global.init);
  });
  section(out, 7, [...(spec.globals ?? []), ...spec.functions], (w, item) => {
    w.name(item.name);
    const isFunction = 'kind' in item;
    w.byte(isFunction ? 0 : 3);
    w.unsigned((isFunction ? functionIndices.get(item) : globalIndices.get(item))!);
  });
  const indices = {
    functionIndex: (callee: Callee): number => functionIndices.get(callee)!,
    globalIndex: (global: Global): number => globalIndices.get(global)!,
  };
  const bodies: ByteWriter[] = [];
  for (const fn of functions) {
    bodies.push(encodeBody(fn, indices));
    yield;
  }
  section(out, 10, bodies, (w, body) => w.sized(body));
  return out.finish();
}

function section<T>(
  out: ByteWriter,
  id: number,
  entries: readonly T[],
  write: (writer: ByteWriter, entry: T, index: number) => void,
): void {
  if (entries.length === 0) return;
  const content = new ByteWriter();
  content.unsigned(entries.length);
  entries.forEach((entry, i) => write(content, entry, i));
  out.byte(id);
  out.sized(content);
}

/** Function types, each once. */
class TypeTable {
  readonly entries: Uint8Array[] = [];
  readonly #indices = new Map<string, number>();

  index(params: readonly ValType[], result: ResultType): number {
    const key = `${params.join()}>${result}`;
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    const results = result === 'void' ? [] : [TYPE_BYTES[result]];
    this.#indices.set(key, this.entries.length);
    this.entries.push(
      Uint8Array.from([
        0x60,
        params.length,
        ...params.map((type) => TYPE_BYTES[type]),
        results.length,
        ...results,
      ]),
    );
    return this.entries.length - 1;
  }
}
