/**
 * @file `ReductionRun`: a reduction on plain numbers, one part of it.
 *
 * The definition of what a `Reduction` record means: code generators do the same in registers.
 */
import type { Expr } from '../ir/expr.js';
import { evalScalar } from '../ir/scalar-eval.js';
import type { Assignments, Reduction, Register } from './reduction.js';

type Cells = Map<string, { value: number }>;
type Read = () => number;

/** Functions that compute expressions from named cells. */
class Compiler {
  private readonly known = new Map<Expr, Read>();

  constructor(private readonly cells: Cells) {}

  cell(name: string): { value: number } {
    let cell = this.cells.get(name);
    if (cell === undefined) this.cells.set(name, (cell = { value: NaN }));
    return cell;
  }

  read(expr: Expr): Read {
    let read = this.known.get(expr);
    if (read === undefined) this.known.set(expr, (read = this.compile(expr)));
    return read;
  }

  /** Computes all new values, then sets them. */
  assign(set: Assignments): () => void {
    const reads = set.map(([, value]) => this.read(value));
    const targets = set.map(([name]) => this.cell(name));
    return () => {
      const values = reads.map((read) => read());
      targets.forEach((target, i) => (target.value = values[i]!));
    };
  }

  private compile(expr: Expr): Read {
    if (expr.kind === 'const') return () => expr.value;
    if (expr.kind === 'scalar') {
      const cell = this.cell(expr.name);
      return () => cell.value;
    }
    const { op, dtype, args } = expr as Extract<Expr, { kind: 'op' }>;
    const [a, b, c]: readonly (Read | undefined)[] = args.map((arg) => this.read(arg));
    const operand = (op === 'where' ? args[1]! : args[0]!).dtype;
    return () => evalScalar(op, dtype, operand, a!(), b?.() ?? 0, c?.() ?? 0);
  }
}

/** See the file header. */
export class ReductionRun {
  private readonly cells: Cells = new Map();
  private readonly compiler = new Compiler(this.cells);
  private readonly steps: readonly (() => void)[];
  private readonly settling: (() => void) | undefined;
  private readonly handOver: readonly Read[];
  private readonly parts: readonly { value: number }[];
  private readonly results: readonly Read[];
  private readonly x: { value: number };
  private readonly at: { value: number };
  private readonly taken: { value: number };

  constructor(readonly reduction: Reduction) {
    const { compiler } = this;
    this.steps = reduction.update.map(({ where, set }) => {
      const assign = compiler.assign(set);
      if (where === undefined) return assign;
      const test = compiler.read(where);
      return () => {
        if (test() !== 0) assign();
      };
    });
    this.settling = reduction.settling && compiler.assign(reduction.settling.set);
    this.handOver = reduction.handOver.map((each) => compiler.read(each));
    this.parts = reduction.part.map(({ name }) => compiler.cell(name));
    this.results = reduction.finish.map((each) => compiler.read(each));
    this.x = compiler.cell('x');
    this.at = compiler.cell('at');
    this.taken = compiler.cell('size');
  }

  /** Values that were taken in, those of merged parts included. */
  get count(): number {
    return this.taken.value;
  }

  /** Back to having reduced nothing. */
  reset(): void {
    this.taken.value = 0;
    const start = ({ name, identity }: Register): void => {
      this.compiler.cell(name).value = identity;
    };
    this.reduction.state.forEach(start);
  }

  /** Takes in a value at a place of the inner loops. */
  add(x: number, at: number): void {
    this.taken.value++;
    this.x.value = x;
    this.at.value = at;
    for (const step of this.steps) step();
  }

  /** Moves what would lose precision. */
  settle(): void {
    this.settling?.();
  }

  /** The values that this part hands to another one; the run is over. */
  part(): readonly number[] {
    this.settle();
    const values = this.handOver.map((read) => read());
    this.parts.forEach((cell, i) => (cell.value = values[i]!));
    return values;
  }

  /** Has what a part of so many values handed over, in place of its own. */
  replace(part: readonly number[], count: number): void {
    this.parts.forEach((cell, i) => (cell.value = part[i]!));
    this.taken.value = count;
  }

  /** The values that this part has now, after `part`. */
  current(): readonly number[] {
    return this.parts.map(({ value }) => value);
  }

  /** Merges what another part of so many values handed over into this one, whose `part` was called. */
  merge(other: readonly number[], count: number): void {
    const { reduction, compiler } = this;
    reduction.part.forEach(({ name }, i) => (compiler.cell(`other.${name}`).value = other[i]!));
    const values = reduction.merge.map((each) => compiler.read(each)());
    this.parts.forEach((cell, i) => (cell.value = values[i]!));
    this.taken.value += count;
  }

  /** The results, after `part`. */
  finish(): readonly number[] {
    return this.results.map((read) => read());
  }
}
