/**
 * @file A scheduled kernel as JavaScript: what its statements say, with a constant for each distinct value.
 *
 * Nothing is chosen here. Which loops there are, where values are reduced and in what is written in the schedule; what a
 * reduction or a function does, in inductor-core's tables.
 */
import * as core from '@tessera/inductor-core';
import { FUNCTIONS, JavaScript } from './javascript.js';

type Expr = core.Expr;
type DType = Expr['dtype'];

const DIVISION: core.IndexDivision = {
  div: (num, den) => `Math.floor(${num} / ${den})`,
  mod: (num, den) => `${num} % ${den}`,
};

/** What all blocks of a kernel share. */
interface Site {
  readonly accumulators: ReadonlyMap<string, core.Accumulator>;
  readonly language: JavaScript;
  values: number;
}

type Operand = (name: string, dtype: DType) => string;

/** The variables of an accumulator's registers. */
function registers(of: core.Accumulator): (name: string) => string {
  return (name) => `${of.name}_${name}`;
}

/** Statements of one block, in which every distinct value has a name; values of enclosing blocks are known too. */
class Block {
  readonly lines: string[] = [];
  private readonly names = new Map<Expr, string>();

  /** `operand` is the text of what expressions name: scalars of the kernel, registers of a reduction. */
  constructor(
    private readonly site: Site,
    private readonly operand: Operand,
    private readonly parent: Block | null = null,
  ) {}

  /** Statements of the schedule, in a block inside this one. */
  body(head: string, body: core.ScalarBody): void {
    this.inside(head, this.operand, (block) => body.forEach((stmt) => block.statement(stmt)));
  }

  private inside(head: string, operand: Operand, fill: (block: Block) => unknown): void {
    const block = new Block(this.site, operand, this);
    fill(block);
    this.lines.push(`${head}{`, ...block.lines.map((line) => `  ${line}`), '}');
  }

  private statement(stmt: core.ScalarStmt): void {
    switch (stmt.kind) {
      case 'loop': {
        const { name, begin, ends, body } = stmt;
        const tests = ends.map((end) => `${name} < ${this.index(end)}`).join(' && ');
        return this.body(`for (let ${name} = ${this.index(begin)}; ${tests}; ${name}++) `, body);
      }
      case 'when': {
        const tests = stmt.all.map(({ index }) => `(${this.index(index)}) === 0`);
        return this.body(`if (${tests.join(' && ')}) `, stmt.body);
      }
      case 'store': {
        const place = `${stmt.buf}[${this.index(stmt.index)}]`;
        this.lines.push(`${place} = ${this.value(stmt.value)};`);
        return;
      }
      case 'update':
        return this.update(this.site.accumulators.get(stmt.of)!, stmt.value, stmt.at);
      default:
        for (const name of stmt.of) this[stmt.kind](this.site.accumulators.get(name)!);
    }
  }

  private start(of: core.Accumulator): void {
    for (const { name, dtype, identity } of of.reduction.state)
      this.lines.push(`${registers(of)(name)} = ${this.constant(dtype, identity)};`);
  }

  private update(of: core.Accumulator, value: Expr, at: core.IndexExpr): void {
    const given: Record<string, string> = { x: this.value(value), at: `(${this.index(at)})` };
    const operand: Operand = (name) => given[name] ?? registers(of)(name);
    for (const { where, set } of of.reduction.update) this.assign(of, set, where, operand);
    if (of.running === true) this.finish(of);
  }

  private settle(of: core.Accumulator): void {
    if (of.reduction.settling !== undefined) this.assign(of, of.reduction.settling.set);
  }

  private part(of: core.Accumulator): void {
    const { state, part, handOver } = of.reduction;
    const handed = part.map(({ name }, i) => [name, handOver[i]!] as const);
    this.settle(of);
    if (part !== state) this.assign(of, handed);
  }

  private finish(of: core.Accumulator): void {
    this.inside('', registers(of), (block) => {
      const results = of.reduction.finish.map((result) => block.cast(result, of.dtype));
      block.lines.push(...of.ids.map((id, i) => `acc${id} = ${results[i]};`));
    });
  }

  /** Gives registers new values, all of them computed from the old ones. */
  private assign(
    of: core.Accumulator,
    set: core.Assignments,
    where?: Expr,
    operand: Operand = registers(of),
  ): void {
    this.inside('', operand, (block) => {
      const condition = where === undefined ? '' : `if (${block.value(where)}) `;
      const names = set.map(([name]) => registers(of)(name));
      const values = set.map(([, value]) => block.value(value));
      const text = set.length === 1 ? `${names} = ${values}` : `[${names}] = [${values}]`;
      block.lines.push(`${condition}${text};`);
    });
  }

  private index(index: core.IndexExpr): string {
    return core.printIndex(index, (value) => this.cast(value, 'float64'), DIVISION);
  }

  private constant(dtype: DType, value: number): string {
    return this.site.language.spell(core.constantValue(dtype, value));
  }

  private cast(value: Expr, to: DType): string {
    return this.site.language.spell(core.castValue(this.operandOf(value), value.dtype, to));
  }

  private operandOf(value: Expr): core.ScalarExpr {
    return core.namedValue(value.dtype, this.value(value));
  }

  /** The name of a value, which is computed here if it is not known. */
  private value(root: Expr): string {
    const isKnown = (expr: Expr): boolean => this.known(expr) !== undefined;
    for (const expr of core.valuesBefore(root, isKnown)) this.names.set(expr, this.define(expr));
    return this.known(root)!;
  }

  private known(expr: Expr): string | undefined {
    return this.names.get(expr) ?? this.parent?.known(expr);
  }

  private define(expr: Expr): string {
    if (expr.kind === 'const') return this.constant(expr.dtype, expr.value);
    if (expr.kind === 'scalar') return this.operand(expr.name, expr.dtype);
    if (expr.kind === 'acc') return `acc${expr.id}`;
    const name = `v${this.site.values++}`;
    if (expr.kind === 'masked') {
      this.lines.push(`let ${name} = ${this.constant(expr.dtype, expr.other)};`);
      this.inside(`if (${this.value(expr.mask)}) `, this.operand, (block) =>
        block.lines.push(`${name} = ${block.value(expr.body)};`),
      );
      return name;
    }
    if (expr.kind === 'check') {
      const given = `${JSON.stringify(expr.check)}, ${this.cast(expr.subject, 'float64')}`;
      this.lines.push(`if (!${this.value(expr.ok)}) fail(${given});`);
      return this.value(expr.value);
    }
    this.lines.push(`const ${name} = ${this.text(expr)};`);
    return name;
  }

  private text(expr: Extract<Expr, { kind: 'load' | 'index' | 'random' | 'op' }>): string {
    const { language } = this.site;
    switch (expr.kind) {
      case 'load': {
        const text = `${expr.buf}[${this.index(expr.index)}]`;
        return expr.dtype === 'bool' ? `!!${text}` : text;
      }
      case 'index': {
        const place = core.namedValue('int32', this.index(expr.index));
        return language.spell(core.castValue(place, 'int32', expr.dtype));
      }
      case 'random': {
        const words = [expr.seed, expr.offset].map((word) => this.operandOf(word));
        return language.spell(core.drawnValue(expr, words, this.index(expr.index)));
      }
      case 'op': {
        const args = expr.args.map((arg) => this.operandOf(arg));
        return language.spell(core.operationValue(expr, args, FUNCTIONS));
      }
    }
  }
}

/** The body of a function of a kernel's buffers and scalars. */
export function emit(kernel: core.ScalarKernel): string {
  const { grid, accumulators, scratch = [], body } = kernel;
  const language = new JavaScript();
  const scalar: Operand = (name, dtype) =>
    language.spell(core.castValue(core.namedValue('float64', name), 'float64', dtype));
  const named = new Map(accumulators.map((of) => [of.name, of]));
  const block = new Block({ accumulators: named, language, values: 0 }, scalar);
  block.body(`for (let ${grid.name} = 0; ${grid.name} < ${grid.extent}; ${grid.name}++) `, body);
  const variables = accumulators.flatMap((of) => [
    ...[...of.reduction.state, ...of.reduction.part].map(({ name }) => registers(of)(name)),
    ...of.ids.map((id) => `acc${id}`),
  ]);
  return [
    ...language.functions.values(),
    ...[...new Set(variables)].map((name) => `let ${name};`),
    ...scratch.map(({ name, length }) => `const ${name} = new Array(${length});`),
    ...block.lines,
  ].join('\n');
}
