/**
 * @file `printScheduled`: a scheduled kernel as text, for logs, tests and people.
 *
 * Each body defines the values that its own statements need, once, just before the first that does.
 */
import { shortDtype } from '@tessera/graph';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprPrinter, printIndex, storeSymbol } from '../../ir/print.js';
import { indexValues } from '../../ir/walk.js';
import { asIndex } from './places.js';
import type { BlockLayout, BlockProduct, BlockRange } from './blocks.js';
import type { RowForm } from './narrow-weight.js';
import type { Cell, RegisterValue, Routine } from './registers.js';
import type {
  Accumulator,
  Condition,
  Lanes,
  LoopStmt,
  ParallelAxis,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
  SharedArray,
} from './scheduled-kernel.js';

/** Statements of one body, with the values that they need. */
class BodyPrinter {
  private readonly printer: ExprPrinter;

  constructor(private readonly indent: string) {
    this.printer = new ExprPrinter(indent);
  }

  get lines(): readonly string[] {
    return this.printer.lines;
  }

  private line(text: string): void {
    this.printer.line(text);
  }

  private value(expr: Expr): string {
    return this.printer.emit([expr])[0]!;
  }

  private index(index: IndexExpr): string {
    this.printer.emit(indexValues(index));
    return printIndex(index, this.printer.name);
  }

  private inside(head: string, body: ScheduledBody): void {
    this.line(head);
    const inner = new BodyPrinter(`${this.indent}  `);
    inner.print(body);
    this.printer.lines.push(...inner.lines);
  }

  private conditions(all: readonly Condition[]): string {
    return all.map((each) => this.condition(each)).join(' and ');
  }

  private condition(condition: Condition): string {
    switch (condition.kind) {
      case 'below':
        return `${this.index(condition.index)} < ${this.index(condition.limit)}`;
      case 'first':
        return `${this.index(condition.index)} is 0`;
      case 'test':
        return condition.name;
      case 'call':
        return this.registerValue(condition);
      case 'exceeds':
        return `any of ${this.registerValue(condition.value)} > ${this.registerValue(condition.limit)}`;
      case 'not':
        return `not ${this.condition(condition.of)}`;
      case 'either':
        return `(${condition.of.map((each) => this.condition(each)).join(' or ')})`;
    }
  }

  private call(
    routine: string,
    at: readonly IndexExpr[],
    of: readonly RegisterValue[] = [],
  ): string {
    const handed = of.map((each) => this.registerValue(each));
    return `${routine}(${[...at.map((index) => this.index(index)), ...handed].join(', ')})`;
  }

  private cell({ array, row, at }: Cell): string {
    return `${array}[${(row === undefined ? [at] : [row, at]).map((index) => this.index(index)).join(', ')}]`;
  }

  private registerValue(value: RegisterValue): string {
    switch (value.kind) {
      case 'register':
        return value.element === undefined ? value.name : `${value.name}.${value.element}`;
      case 'number':
        return String(value.value);
      case 'pack':
        return `(${value.of.map((each) => this.registerValue(each)).join(', ')})`;
      case 'read':
        return this.cell(value.from);
      case 'op':
        return `${value.op}(${value.of.map((each) => this.registerValue(each)).join(', ')})`;
      case 'fold':
        return `${value.by} of all in ${value.of.join(', ')}`;
      case 'call':
        return this.call(value.routine, value.at, value.of);
    }
  }

  private lanes({ lane, width, step, groups, across, valid }: Lanes): string {
    const by = step === 1 ? '' : ` by ${step}`;
    const along = width === 1 ? '' : ` ${lane} + 0..${width - 1}${by}`;
    const times = groups === 1 ? '' : across === lane ? ` × ${groups}` : ` ${across} × ${groups}`;
    const all = width * (across === lane ? groups : 1);
    const only =
      typeof valid === 'number'
        ? valid === all
          ? ''
          : `, ${valid} of ${all}`
        : `, where ${this.index(valid.index)} < ${String(valid.limit)}`;
    return `vector${along}${times}${only}`;
  }

  private range([first, count]: BlockRange): string {
    return `${this.index(first)} + ${this.index(count)}`;
  }

  private loop(stmt: LoopStmt): void {
    const { name, begin, ends, pace, only, unrolled, body } = stmt;
    const limits = ends.map((end) => this.index(end));
    const to = limits.length === 1 ? limits[0]! : `min(${limits.join(', ')})`;
    const range =
      pace === 'halve'
        ? `from ${this.index(begin)} by halves`
        : `from ${this.index(begin)} to ${to}${pace === 1 ? '' : ` by ${pace}`}`;
    this.inside(
      `loop ${name} ${range}${unrolled ? ', unrolled' : ''}${only === undefined ? '' : ` if ${this.condition(only)}`}`,
      body,
    );
  }

  print(body: ScheduledBody): void {
    for (const stmt of body) this.stmt(stmt);
  }

  private stmt(stmt: ScheduledStmt): void {
    switch (stmt.kind) {
      case 'let':
        return this.line(
          `let ${stmt.name} = ${this.index(stmt.index)}${stmt.atMost === undefined ? '' : ` at most ${this.index(asIndex(stmt.atMost))}`}`,
        );
      case 'test':
        return this.line(`test ${stmt.name}: ${this.conditions(stmt.all)}`);
      case 'exit':
        return this.line(`exit unless ${this.conditions(stmt.unless)}`);
      case 'loop':
        return this.loop(stmt);
      case 'when':
        this.inside(`when ${this.conditions(stmt.all)}`, stmt.body);
        if (stmt.otherwise !== undefined) this.inside('otherwise', stmt.otherwise);
        return;
      case 'once':
        return this.inside(`once for ${this.index(stmt.of)}`, stmt.body);
      case 'vector':
        return this.inside(this.lanes(stmt.lanes), stmt.body);
      case 'point':
        return this.inside(`point ${stmt.number}`, stmt.body);
      case 'start':
      case 'settle':
      case 'part':
      case 'fold':
      case 'finish':
        return this.line(`${stmt.kind} ${stmt.of.join(', ')}`);
      case 'update':
        return this.line(
          `update ${stmt.of} with ${this.value(stmt.value)} at ${this.index(stmt.at)}`,
        );
      case 'share':
      case 'fetch':
      case 'merge':
        return this.line(
          `${stmt.kind} ${stmt.of} ${stmt.arrays.map((array) => `${array}[${this.index(stmt.at)}]`).join(', ')}`,
        );
      case 'exchange':
        return this.line(`exchange ${stmt.of.join(', ')} among ${this.index(stmt.among)}`);
      case 'barrier':
        return this.line('barrier');
      case 'ask':
        return this.line(
          `ask for ${stmt.of.map(({ buf, index }) => `${buf}[${this.index(index)}]`).join(', ')}`,
        );
      case 'keep': {
        const value = this.value(stmt.value);
        return this.line(`keep ${stmt.array}[${this.index(stmt.at)}] = ${value}`);
      }
      case 'recall':
        return this.printer.given(stmt.value, `recall ${stmt.array}[${this.index(stmt.at)}]`);
      case 'clear':
        return this.line(`clear ${stmt.of.join(', ')}`);
      case 'set':
        return this.line(
          `${stmt.keeps ? 'begin ' : ''}${stmt.register} = ${this.registerValue(stmt.value)}`,
        );
      case 'add':
        return this.line(`${stmt.to} += ${this.registerValue(stmt.value)}`);
      case 'multiply': {
        const to = `${stmt.to[0]![0]}..${stmt.to.at(-1)!.at(-1)}`;
        return this.line(`${to} += (${stmt.rows.join(', ')}) × (${stmt.columns.join(', ')})`);
      }
      case 'write':
        return this.line(`${this.cell(stmt.to)} = ${this.registerValue(stmt.value)}`);
      case 'visit':
        return this.line(this.call(stmt.routine, stmt.at, stmt.of));
      case 'give': {
        const value = this.value(stmt.value);
        const where =
          stmt.where === undefined
            ? ''
            : ` where ${this.condition(stmt.where)}, or ${stmt.otherwise ?? 0}`;
        return this.line(`give ${value}${where}`);
      }
      case 'pair':
        return this.line(`pair ${stmt.of.join(', ')} by ${stmt.by}, bit ${stmt.bit}`);
      case 'mark':
        return this.line(`mark ${this.cell(stmt.cell)} if ${this.condition(stmt.where)}`);
      case 'agree':
        return this.line(`agree ${stmt.name}: ${this.cell(stmt.cell)}`);
      case 'pack': {
        const { product, side, batch, steps } = stmt;
        const lines = stmt.lines.map((range) => this.range(range)).join(' by ');
        return this.line(
          `pack ${side} of ${product}: lines ${lines}, steps ${this.range(steps)} of ${this.index(batch)}`,
        );
      }
      case 'arrange':
        return this.line(`arrange ${stmt.array} = ${stmt.from} as ${printForm(stmt.as)}`);
      case 'product': {
        const [rows, columns, steps, at] = [stmt.rows, stmt.columns, stmt.steps, stmt.at].map(
          (index) => this.index(index),
        );
        const { onto } = stmt;
        const isNew = onto.kind === 'int' && onto.value === 0;
        const added =
          isNew || onto.kind === 'int'
            ? ''
            : `, onto what is there unless ${this.index(onto)} is 0`;
        return this.line(
          `${isNew || added !== '' ? 'multiply' : 'add'} ${stmt.product}[${at}..]: ${rows} × ${columns}, ${steps} steps${added}`,
        );
      }
      case 'store': {
        const value = this.value(stmt.value);
        return this.line(
          `${stmt.buf}[${this.index(stmt.index)}] ${storeSymbol(stmt.combine)} ${value}`,
        );
      }
    }
  }
}

function printAccumulator(accumulator: Accumulator): string {
  const { name, reduction, ids, dtype, running, ragged, narrow, fused } = accumulator;
  const results = ids.map((id) => `acc${id}`).join(', ');
  const facts = [
    running && 'running ',
    ragged && 'ragged ',
    narrow && 'narrow ',
    fused && 'fused ',
  ];
  const kind = `${facts.filter((fact) => fact !== undefined).join('')}${reduction.op}`;
  return `  accumulator ${name}: ${kind} of ${shortDtype(reduction.dtype)} gives ${results}: ${shortDtype(dtype)}`;
}

function printGrid({ name, extent, surplus, ordered, runs, nanoseconds }: ParallelAxis): string {
  const facts = [
    `${String(extent)}${surplus === true ? ' or more' : ''}`,
    ...(runs === undefined
      ? []
      : [`${runs.name} of them at once, up to ${runs.most} of each ${String(runs.within)}`]),
    ...(ordered === true ? ['in order'] : []),
    ...(nanoseconds === undefined ? [] : [`about ${Math.ceil(nanoseconds)} ns each`]),
  ];
  return `  grid ${name}: ${facts.join(', ')}`;
}

function printShared({ name, dtype, rows, length, width }: SharedArray): string {
  const places = rows === undefined ? `${length}` : `${rows}, ${length}`;
  return `  shared ${name}: ${shortDtype(dtype)}${width === 4 ? ' × 4' : ''}[${places}]`;
}

function printRoutine({ name, parameters, results, gives, isQuick, body }: Routine): string[] {
  const printer = new BodyPrinter('    ');
  printer.print(body);
  const head = `  routine ${name}(${[...parameters, ...results].join(', ')})`;
  const type = gives === undefined ? '' : `: ${shortDtype(gives)}`;
  return [`${head}${type}${isQuick ? ', quick' : ''}`, ...printer.lines];
}

function printForm(form: RowForm): string {
  const { group } = form;
  if (form.kind === 'parts') return `parts of words, groups of ${group}`;
  return `${form.digits} digits${form.inParts ? ' of parts' : ''}, groups of ${group}`;
}

function printLayout(layout: BlockLayout): string {
  if (layout.kind === 'in place') return layout.kind;
  if (layout.kind === 'evaluated')
    return `evaluated along ${layout.along}${layout.weight === undefined ? '' : `, of ${layout.weight.format}`}`;
  if (layout.kind === 'image')
    return `image in ${layout.array}, rows ${layout.pitch} and channels ${layout.channel} apart, taps at ${layout.taps.join(', ')}`;
  if (layout.kind === 'made') {
    const { arranged } = layout;
    if (arranged !== undefined)
      return `${layout.array}, ${printForm(arranged.as)}; or ${arranged.values}, if not finite`;
    return `${layout.array}, ${layout.line} and ${layout.step} apart`;
  }
  const { kind, array, lines, steps } = layout;
  const order =
    layout.kind === 'rows'
      ? ` along ${layout.order}`
      : 'from' in layout && 'words' in layout.from
        ? ' of parts of words'
        : '';
  return `${kind}${order} in ${array}, up to ${lines} × ${steps}`;
}

function printProduct({ name, a, b, tile, to, row }: BlockProduct): string[] {
  return [
    `  product ${name}: tiles of ${tile.rows} × ${tile.vectors} vectors${tile.tail === undefined ? '' : `, then ${tile.tail}`}${tile.apart === undefined ? '' : `, ${tile.apart} apart`} to ${to}, rows ${row} apart`,
    ...[a, b].map(({ value, layout }, i) => {
      const printer = new ExprPrinter('    ');
      const [text] = value === undefined ? [] : printer.emit([value]);
      const of = text === undefined ? '' : ` = ${text}`;
      return [...printer.lines, `    ${'ab'[i]}${of}: ${printLayout(layout)}`].join('\n');
    }),
  ];
}

/** The text of a scheduled kernel. */
export function printScheduled(scheduled: ScheduledKernel): string {
  const { kernel, loops = [], grid, threads, shared, scratch = [], accumulators, body } = scheduled;
  const printer = new BodyPrinter('  ');
  printer.print(body);
  return [
    `scheduled ${kernel.name}`,
    ...loops.map(({ name, size }) => `  variable ${name}: ${String(size)}`),
    printGrid(grid),
    ...(threads === undefined ? [] : [`  threads ${threads.name}: ${threads.extent}`]),
    ...shared.map(printShared),
    ...scratch.map(
      ({ name, dtype, length, lasts }) =>
        `  scratch ${name}: ${shortDtype(dtype)}[${String(length)}]${lasts === true ? ' that lasts' : ''}`,
    ),
    ...accumulators.map(printAccumulator),
    ...(scheduled.products ?? []).flatMap(printProduct),
    ...(scheduled.routines ?? []).flatMap(printRoutine),
    ...printer.lines,
  ].join('\n');
}
