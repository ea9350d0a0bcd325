/**
 * @file `Scope`: the loops that are open while a kernel is emitted, and what is known inside each.
 *
 * Level 0 is the function; each open loop adds a level that binds its variables. Code for a value goes
 * to the outermost level where everything it depends on is bound: while a loop's body is emitted, its
 * enclosing level has a section just before the loop that receives such code. So invariants are hoisted
 * as they are found, values are cached per level, and everything cached at a level is forgotten when
 * its loop closes.
 */
import type { Expr } from '@tessera/inductor-core';
import { i32 } from '../emit/code.js';
import type { Local, ResultType } from '../emit/types.js';
import type { Section, WasmFunction } from '../emit/wasm-function.js';
import { accName, READS_MEMORY } from './dependencies.js';
import type { Value } from './value.js';
import type { Regs } from './vector-builder.js';

/** A condition under which loads may happen: the conjunction of all enclosing masks. */
export interface MaskContext {
  readonly id: number;
  readonly value: Value;
  readonly level: number;
}

/**
 * How the elements of a vector iteration lie in the loops: four lanes along variable `lane`, in
 * `groups` groups that follow each other along the same variable, or along `across` one step each.
 */
export interface Lanes {
  readonly lane: string;
  readonly across: string;
  readonly groups: number;
  /** Valid elements: of all groups together if `across` is `lane`, else of every group. */
  readonly active: number;
}

/** One open loop (or the function itself). */
export interface Level {
  /** Receives hoisted code while a deeper level is open. */
  section: Section | undefined;
  readonly names: string[];
  readonly values: Map<Expr, Map<MaskContext | undefined, Value>>;
  readonly masks: Map<Expr, Map<MaskContext | undefined, MaskContext>>;
  readonly scalars: Map<string, Local<'i32'>>;
  readonly vectors: Map<string, Regs>;
}

function newLevel(): Level {
  return {
    section: undefined,
    names: [],
    values: new Map(),
    masks: new Map(),
    scalars: new Map(),
    vectors: new Map(),
  };
}

/** See the file header. */
export class Scope {
  readonly levels: Level[] = [newLevel()];
  lanes: Lanes | undefined;
  readonly #bound = new Map<string, number>();
  readonly #variables = new Map<string, Local<'i32'>>();
  readonly #accs = new Map<number, Value>();
  readonly #varying = new Set<string>();
  #masks = 0;

  constructor(readonly f: WasmFunction<ResultType>) {}

  /** Number of the innermost level. */
  get innermost(): number {
    return this.levels.length - 1;
  }

  level(index: number): Level {
    return this.levels[index];
  }

  /** Outermost level at which all these names are bound. */
  levelOf(names: Iterable<string>): number {
    let level = 0;
    for (const name of names) {
      if (name === READS_MEMORY) continue;
      const bound = this.#bound.get(name);
      if (bound === undefined) throw new TypeError(`${name} is not bound here`);
      if (bound > level) level = bound;
    }
    return level;
  }

  /** Whether values that depend on these names differ between lanes or groups. */
  isVarying(names: Iterable<string>): boolean {
    for (const name of names) if (this.#varying.has(name)) return true;
    return false;
  }

  /** The local that holds a loop variable (its value in the first lane of the first group). */
  variable(name: string): Local<'i32'> {
    return this.#variables.get(name)!;
  }

  /** A finished reduction. */
  acc(id: number): Value {
    const value = this.#accs.get(id);
    if (value === undefined) throw new TypeError(`result ${id} is not finished here`);
    return value;
  }

  /** Makes a reduction's result known at the current level. */
  bindAcc(id: number, value: Value): void {
    const name = accName(id);
    this.#accs.set(id, value);
    this.#bound.set(name, this.innermost);
    if (value.uniform) this.#varying.delete(name);
    else this.#varying.add(name);
    this.level(this.innermost).names.push(name);
  }

  /** Binds a variable at the current level. */
  bind(name: string, local: Local<'i32'>): void {
    this.#variables.set(name, local);
    this.#bound.set(name, this.innermost);
    this.level(this.innermost).names.push(name);
  }

  nextMaskId(): number {
    this.#masks += 1;
    return this.#masks;
  }

  /** Emits at a level: here if it is the innermost, else in its section before the open loop. */
  at<T>(level: number, emit: () => T): T {
    const { section } = this.levels[level];
    return section === undefined ? emit() : this.f.into(section, emit);
  }

  /** Opens a level around `body`, which binds the level's variables first. */
  nest(open: (inside: (body: () => void) => void) => void): void {
    const outer = this.level(this.innermost);
    const before = outer.section;
    outer.section = this.f.section();
    open((body) => {
      this.levels.push(newLevel());
      body();
      const closed = this.levels.pop()!;
      for (const name of closed.names) {
        this.#bound.delete(name);
        this.#varying.delete(name);
      }
    });
    outer.section = before;
  }

  /** Loops `name` from `begin` to below `end`, by `step`. */
  loop(
    name: string,
    begin: Local<'i32'> | number,
    end: Local<'i32'> | number,
    step: number,
    body: () => void,
  ): void {
    this.nest((inside) => {
      this.f.for(name, typeof begin === 'number' ? i32(begin) : begin, end, step, (i) => {
        inside(() => {
          this.bind(name, i);
          body();
        });
      });
    });
  }

  /** Runs `body` with vectors along `lanes`; their variables vary between elements. */
  vectorise(lanes: Lanes, body: () => void): void {
    const before = this.lanes;
    this.lanes = lanes;
    this.#varying.add(lanes.lane);
    this.#varying.add(lanes.across);
    body();
    this.#varying.delete(lanes.lane);
    this.#varying.delete(lanes.across);
    this.lanes = before;
  }
}
