/**
 * @file `WasmFunction`: builds the body of one WebAssembly function, statement by statement.
 *
 * ```ts
 * const f = new WasmFunction('axpy', { args: 'i32', begin: 'i32', end: 'i32' });
 * const i = f.let('i', f.param('begin'));            // a local, initialised here
 * f.while(() => op('i32.lt_u', i, f.param('end')), () => {
 *   f.do(memory('i32.store', 0, op('i32.shl', i, i32(2)), i));
 *   f.set(i, op('i32.add', i, i32(1)));
 * });
 * ```
 *
 * Statements go to the innermost open construct. A `section()` reserves a place that later code can be
 * sent to with `into(section, …)`: that is how loop invariants are hoisted while the loop is written.
 * A function is complete when its module is assembled; building afterwards has no effect on that module.
 */
import { consume, i32, op } from './code.js';
import type {
  Code,
  DefinedFunction,
  Global,
  Label,
  Local,
  ResultType,
  Statement,
  ValType,
} from './types.js';

/** A reserved place in a function body. */
export interface Section {
  readonly body: Statement[];
}

/** See the file header. */
export class WasmFunction<R extends ResultType = 'void'> implements DefinedFunction {
  readonly kind = 'defined';
  readonly name: string;
  readonly params: readonly Local[];
  readonly result: R;
  readonly locals: Local[] = [];
  readonly body: Statement[] = [];
  #current: Statement[] = this.body;
  readonly #names = new Map<string, number>();

  constructor(name: string, params: Readonly<Record<string, ValType>>, result: R = 'void' as R) {
    this.name = name;
    this.result = result;
    this.params = Object.entries(params).map(([param, type]) =>
      makeLocal(type, this.#unique(param)),
    );
  }

  /** The parameter of this name. */
  param<T extends ValType = 'i32'>(name: string): Local<T> {
    let at = 0;
    while (this.params[at].name !== name) at++;
    return this.params[at] as Local<T>;
  }

  /** A new local, zero at function entry. The name is a hint; a number is appended to repeated names. */
  local<T extends ValType>(type: T, name = 't'): Local<T> {
    const made = makeLocal(type, this.#unique(name));
    this.locals.push(made);
    return made;
  }

  /** A new local set to `code` here. */
  let<T extends ValType>(name: string, code: Code<T>): Local<T> {
    if (code.node.kind !== 'local') consume(code);
    const local = makeLocal(code.type, this.#unique(name));
    this.locals.push(local);
    this.#current.push({ kind: 'set', local, code });
    return local;
  }

  set<T extends ValType>(local: Local<T>, code: Code<T>): void {
    consume(code);
    this.#current.push({ kind: 'set', local, code });
  }

  /** Sets the local and gives the value. */
  tee<T extends ValType>(local: Local<T>, code: Code<T>): Code<T> {
    consume(code);
    return { type: local.type, node: { kind: 'tee', local, args: [code] }, used: false };
  }

  setGlobal<T extends ValType>(global: Global<T>, code: Code<T>): void {
    consume(code);
    this.#current.push({ kind: 'set-global', global, code });
  }

  /** Evaluates for effect (stores, calls); a value is dropped. */
  do(code: Code): void {
    consume(code);
    this.#current.push({ kind: 'do', code });
  }

  /** `body` gets the label; branching to it leaves the block. */
  block(body: (label: Label) => void): void {
    this.#nested('block', body);
  }

  /** `body` gets the label; branching to it starts the loop again; falling off the end leaves it. */
  loop(body: (label: Label) => void): void {
    this.#nested('loop', body);
  }

  if(cond: Code<'i32'>, then: () => void, otherwise?: () => void): void {
    consume(cond);
    const statement = {
      kind: 'if' as const,
      cond,
      then: [],
      otherwise: [],
    };
    this.#current.push(statement);
    this.#inside(statement.then, then);
    if (otherwise !== undefined) this.#inside(statement.otherwise, otherwise);
  }

  br(label: Label): void {
    this.#current.push({ kind: 'br', label, cond: undefined });
  }

  brIf(label: Label, cond: Code<'i32'>): void {
    consume(cond);
    this.#current.push({ kind: 'br', label, cond });
  }

  return(code?: Code): void {
    if (code !== undefined) consume(code);
    this.#current.push({ kind: 'return', code });
  }

  /** Loop with the test at the top. The condition is built twice: rotated, so that an iteration has one branch. */
  while(cond: () => Code<'i32'>, body: () => void): void {
    this.if(cond(), () => {
      this.loop((again) => {
        body();
        this.brIf(again, cond());
      });
    });
  }

  /** Counts `i` from `begin` to below `end` (unsigned), by `step`. Known bounds save the first test, and the loop if it runs once. */
  for(
    name: string,
    begin: Code<'i32'>,
    end: Local<'i32'> | number,
    step: number,
    body: (i: Local<'i32'>) => void,
  ): void {
    const first = begin.node.kind === 'i32' ? begin.node.value >>> 0 : undefined;
    const iterations =
      first === undefined || typeof end !== 'number'
        ? undefined
        : Math.max(0, Math.ceil((end - first) / step));
    if (iterations === 0) return;
    const i = this.let(name, begin);
    if (iterations === 1) {
      body(i);
      return;
    }
    const isBelow = (): Code<'i32'> => op('i32.lt_u', i, typeof end === 'number' ? i32(end) : end);
    const loop = (): void =>
      this.loop((again) => {
        body(i);
        this.set(i, op('i32.add', i, i32(step)));
        this.brIf(again, isBelow());
      });
    if (iterations === undefined) this.if(isBelow(), loop);
    else loop();
  }

  /** Reserves a place here, for `into`. */
  section(): Section {
    const made = { kind: 'section' as const, body: [] };
    this.#current.push(made);
    return made;
  }

  /** Sends the statements that `build` makes to the end of a section. */
  into<T>(section: Section, build: () => T): T {
    return this.#inside(section.body, build);
  }

  /** A line in the text form only. */
  comment(text: string): void {
    this.#current.push({ kind: 'comment', text });
  }

  #nested(kind: 'block' | 'loop', build: (label: Label) => void): void {
    const label = { name: this.#unique(kind) };
    const body: Statement[] = [];
    this.#current.push({ kind, label, body });
    this.#inside(body, () => build(label));
  }

  #inside<T>(statements: Statement[], build: () => T): T {
    const outer = this.#current;
    this.#current = statements;
    try {
      return build();
    } finally {
      this.#current = outer;
    }
  }

  #unique(name: string): string {
    const count = this.#names.get(name) ?? 0;
    this.#names.set(name, count + 1);
    return count === 0 ? name : `${name}.${count}`;
  }
}

function makeLocal<T extends ValType>(type: T, name: string): Local<T> {
  const node = { kind: 'local' as const, local: undefined as unknown as Local<T> };
  const made: Local<T> = { type, node, used: false, name };
  node.local = made;
  return made;
}
