/**
 * @file A step of a recurrence as a kernel of its own (recurrence-chain.ts): workgroups divide units and rows.
 *
 * A workgroup has a few units of some rows. Its threads divide the terms of their products, `member` says which are a
 * thread's, and each weight that it reads counts for all of the rows. The sums of the members come together in workgroup
 * memory, and then a thread is a unit of a row: it makes the next states, and what the next step multiplies.
 */
import {
  type ChainPart,
  type ChainStep,
  extent,
  planesOf,
  type RecurrenceKernel,
  stmtRoots,
} from '@tessera/inductor-core';
import { type Size, sizeMul } from '@tessera/shared';
import { elementText } from '../values/buffer-access.js';
import { type StepShape, stepShape } from './chain-shape.js';
import { CodeBlock } from '../code-block.js';
import { linearGrid } from '../dispatch.js';
import { decompose } from '../scheduled/loop-vars.js';
import { ProgramBuilder } from '../program.js';
import { sideBySide } from '../scheduled/scheduled-program.js';
import { type Symbols, StepValues } from './step-values.js';
import { emitStore } from '../values/store-emitter.js';
import type { WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import type { WgslProgram } from '../wgsl-program.js';
import { computeType, type ScalarType } from '../values/wgsl-types.js';

/** Generates such a kernel. */
export function generateChainStep(
  step: ChainStep,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const { parts, name, params, scalars } = step;
  const recurrences = parts.map(({ recurrence }) => recurrence);
  const kernel = { kind: 'joined', name, params, scalars, parts: recurrences } as const;
  const builder = new ProgramBuilder(kernel, target, variant, new Set());
  const generators = parts.map((part) => new ChainStepGenerator(part, builder, parts.length));
  const [first] = generators;
  const program =
    parts.length === 1 ? first.alone() : sideBySide(builder, first.threads, generators);
  return { ...program, schedule: () => ({ kernel: name, facts: first.facts() }) };
}

/** About how many loads a thread begins before it waits for the first. */
const UNDER_WAY = 16;

class ChainStepGenerator {
  private readonly kernel: RecurrenceKernel<Size>;
  private readonly type: ScalarType;
  private readonly values: StepValues;
  private readonly width: number;
  private readonly plane: string;
  private readonly allRows: string;
  private readonly shape: StepShape;
  private readonly sums: string;

  /** @param sharing how many parts share the launch */
  constructor(
    private readonly part: ChainPart,
    private readonly builder: ProgramBuilder,
    sharing: number,
  ) {
    this.kernel = part.recurrence;
    const { batch, n, accDtype, products } = this.kernel;
    this.type = computeType(accDtype);
    this.values = new StepValues(builder, this.type);
    this.width = extent(n);
    const rows = extent(batch);
    this.plane = builder.size(sizeMul(rows, this.width));
    this.allRows = builder.size(rows);
    this.shape = stepShape(this.kernel, builder.target, sharing);
    this.sums = builder.workgroupArray('sums', this.type, products.length * this.cells);
  }

  get threads(): number {
    return this.shape.threads;
  }

  /** Workgroups; where several parts share a launch, all sizes are known. */
  get groups(): number {
    return this.shape.groups as number;
  }

  /** The step in a launch of its own. */
  alone(): WgslProgram {
    const { builder, shape } = this;
    const { id, workgroups, hasSurplus } = linearGrid(shape.groups, builder.target);
    const body = new CodeBlock();
    if (hasSurplus) body.line(`if (${id} >= ${builder.size(shape.groups)}) { return; }`);
    this.emit(body, id);
    return builder.finish(this.threads, body, workgroups);
  }

  /** Appends what the workgroup of a number does. */
  readonly emit = (body: CodeBlock, group: string): void => {
    const { kernel, shape, width } = this;
    const { units, rows } = shape;
    const across = Math.ceil(width / units);
    body.line(`let first_unit = (${group} % ${across}u) * ${units}u;`);
    body.line(`let first_row = (${group} / ${across}u) * ${rows}u;`);
    const unit = `first_unit + lane % ${units}u`;
    body.line(`let unit = ${width % units === 0 ? unit : `min(${unit}, ${width - 1}u)`};`);
    body.line(`let member = lane / ${units}u;`);
    const place = this.carried(planesOf(kernel).number, `first_row * ${width}u + first_unit`);
    body.line(`let now = u32(${place});`);
    const turn = `${kernel.vectors.length}u * ${this.plane}`;
    body.line(`let read_at = (now % 2u) * ${turn};`);
    body.line(`let write_at = (1u - now % 2u) * ${turn};`);
    this.multiply(body);
    this.gather(body);
    this.cellsOf(body);
  };

  facts(): Readonly<Record<string, string>> {
    const { units, rows, members } = this.shape;
    return {
      'a launch': 'a step of all rows',
      'a workgroup': `${units} units of ${rows} rows`,
      'threads of a workgroup': `${units} units × ${members} members`,
    };
  }

  /** Units of rows that a workgroup has. */
  private get cells(): number {
    return this.shape.units * this.shape.rows;
  }

  /** Text of an element of a plane. */
  private carried(plane: number, place: string): string {
    const { carried } = this.part;
    const index = plane === 0 ? place : `${plane}u * ${this.plane} + ${place}`;
    return elementText(this.builder.buffer(carried), index);
  }

  /** Sums of a thread's terms, of each product and row. */
  private multiply(body: CodeBlock): void {
    const { builder, kernel, width, allRows, type } = this;
    const { rows, members } = this.shape;
    for (let r = 0; r < rows; r++) {
      const row = `first_row + ${r}u`;
      const inside = rows === 1 ? row : `min(${row}, ${allRows} - 1u)`;
      body.line(`let row${r} = read_at + (${inside}) * ${width}u;`);
      for (const p of kernel.products.keys()) body.line(`var total${p}_${r} = ${type}(0);`);
    }
    const wanted = Math.max(1, Math.floor(UNDER_WAY / (kernel.products.flat().length + rows)));
    const together = width % (members * wanted) === 0 ? wanted : 1;
    const symbols = decompose(body, builder, kernel.n, 'unit');
    const loop = new CodeBlock();
    const adds: string[] = [];
    for (let i = 0; i < together; i++) this.addTerms(loop, symbols, i * members, adds);
    for (const line of adds) loop.line(line);
    const stride = `at += ${members * together}u`;
    body.nest(`for (var at = member; at < ${width}u; ${stride})`, loop);
  }

  /** Loads what a term of each product is made of; `adds` get the lines that add it. */
  private addTerms(loop: CodeBlock, symbols: Symbols, by: number, adds: string[]): void {
    const { kernel, builder } = this;
    const { rows } = this.shape;
    const other = builder.names.fresh('other');
    loop.line(`let ${other} = at${by === 0 ? '' : ` + ${by}u`};`);
    const terms = kernel.products.flat();
    const emitter = this.values.emitter(
      loop,
      new Map([...symbols, ...decompose(loop, builder, kernel.k, other)]),
      terms.map(({ weight }) => weight),
    );
    const weights = kernel.products.map((list) =>
      list.map(({ weight }) => emitter.atom(emitter.value(weight)).text),
    );
    for (let r = 0; r < rows; r++) {
      const values = kernel.vectors.map((_, v) => {
        const name = builder.names.fresh('value');
        loop.line(`let ${name} = ${this.carried(v, `row${r} + ${other}`)};`);
        return name;
      });
      for (const [p, list] of kernel.products.entries())
        for (const [i, { vector }] of list.entries())
          adds.push(`total${p}_${r} += ${weights[p][i]} * ${values[vector]};`);
    }
  }

  /** Adds what the members have, some products and rows at a time, into `sums`. */
  private gather(body: CodeBlock): void {
    const { kernel, cells, sums, type, builder } = this;
    const { rows, units, members, threads } = this.shape;
    const totals = kernel.products.flatMap((_, p) =>
      Array.from({ length: rows }, (__, r) => `total${p}_${r}`),
    );
    if (members === 1) {
      for (const [i, total] of totals.entries())
        body.line(`${sums}[${i * units}u + lane] = ${total};`);
      body.line('workgroupBarrier();');
      return;
    }
    // Threads that add neighbours' parts find them in other banks of the memory.
    const stride = threads + units;
    const room = this.shape.room - kernel.products.length * cells;
    const most = Math.max(1, Math.min(totals.length, Math.floor(room / stride)));
    const parts = builder.workgroupArray('parts', type, most * stride);
    for (let first = 0; first < totals.length; first += most) {
      const some = totals.slice(first, first + most);
      for (const [i, total] of some.entries())
        body.line(`${parts}[${i * stride}u + lane] = ${total};`);
      body.line('workgroupBarrier();');
      const loop = new CodeBlock();
      loop.line(`let own = (cell / ${units}u) * ${stride}u + cell % ${units}u;`);
      loop.line(`var sum = ${parts}[own];`);
      const add = `sum += ${parts}[own + other * ${units}u];`;
      loop.line(`for (var other = 1u; other < ${members}u; other++) { ${add} }`);
      loop.line(`${sums}[${first * units}u + cell] = sum;`);
      body.nest(this.eachCell(some.length * units), loop);
      body.line('workgroupBarrier();');
    }
  }

  /** Head of what threads do for so many cells. */
  private eachCell(count: number): string {
    return `for (var cell = lane; cell < ${count}u; cell += ${this.threads}u)`;
  }

  /** The next states of each unit of each row, what is stored, and the vectors of the next step. */
  private cellsOf(body: CodeBlock): void {
    const { kernel, builder, width, cells, allRows } = this;
    const { units, rows } = this.shape;
    const planes = planesOf(kernel);
    const loop = new CodeBlock();
    loop.line(`let own = first_unit + cell % ${units}u;`);
    loop.line(`let row = first_row + cell / ${units}u;`);
    const inside = new CodeBlock();
    inside.line(`let place = row * ${width}u + own;`);
    const points = new Map([
      ...decompose(inside, builder, kernel.batch, 'row'),
      ...decompose(inside, builder, kernel.n, 'own'),
    ]);
    const nexts = kernel.states.map(({ next }) => next);
    const emitter = this.values.emitter(
      inside,
      new Map([...points, ...decompose(inside, builder, kernel.step, 'now')]),
      [...nexts, ...kernel.stores.flatMap(stmtRoots)],
    );
    const states = kernel.states.map((_, s) => {
      const name = builder.names.fresh('state');
      inside.line(`let ${name} = ${this.carried(planes.states + s, 'place')};`);
      return name;
    });
    this.values.know(emitter, 0, states);
    const products = kernel.products.map((_, p) => `${this.sums}[${p * cells}u + cell]`);
    this.values.know(emitter, states.length, products);
    // Stores come when all is read: their buffers may be read, too.
    const stores = new CodeBlock();
    for (const stmt of kernel.stores)
      if (stmt.kind === 'store') emitStore(emitter, stmt, { full: stores });
    const following = nexts.map((next) => {
      const name = builder.names.fresh('following');
      inside.line(`let ${name} = ${emitter.value(next).text};`);
      return name;
    });
    inside.append(stores);
    for (const [s, text] of following.entries())
      inside.line(`${this.carried(planes.states + s, 'place')} = ${text};`);
    // Who reads the number has it: all threads have met since.
    inside.line(`if (cell == 0u) { ${this.carried(planes.number, 'place')} = f32(now + 1u); }`);
    const after = new CodeBlock();
    after.line('let later = now + 1u;');
    const ahead = this.values.emitter(
      after,
      new Map([...points, ...decompose(after, builder, kernel.step, 'later')]),
      kernel.vectors,
    );
    this.values.know(ahead, 0, following);
    for (const [v, vector] of kernel.vectors.entries())
      after.line(`${this.carried(v, 'write_at + place')} = ${ahead.value(vector).text};`);
    inside.nest(`if (now + 1u < ${builder.size(extent(kernel.step))})`, after);
    const tests = [
      ...(width % units === 0 ? [] : [`own < ${width}u`]),
      ...(rows === 1 ? [] : [`row < ${allRows}`]),
    ];
    if (tests.length === 0) loop.append(inside);
    else loop.nest(`if (${tests.join(' && ')})`, inside);
    body.nest(this.eachCell(cells), loop);
  }
}
