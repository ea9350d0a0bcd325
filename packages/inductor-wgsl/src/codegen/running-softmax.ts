/**
 * @file A softmax over tiles of logits: largest logit and sum of each of a thread's rows, as vectors of four rows.
 *
 * The largest is known to all threads of a row (they exchange it at each tile), a sum is each thread's own until the
 * end. Modelled on FlashAttention (Dao et al., 2022).
 */
import { rowBits } from '@tessera/inductor-core';
import { tileColumns, type AttentionTile } from './attention-tiles.js';
import { CodeBlock } from './code-block.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from './program.js';
import type { RegisterBlock } from './register-block.js';

/** Below all logits but -∞; finite, so that differences are numbers. */
const LOWEST = '-3.4028234e38';

/** See the file header. Rows are numbered as a thread has them. */
export class RunningSoftmax {
  private readonly array: string;
  /** Bits of a thread's number in which those of a row differ, where they exchange values without memory. */
  private readonly bits: readonly number[] | null;
  private readonly groups: number;
  private readonly rows: number;
  private readonly columns: number;
  private readonly tm: number;

  private readonly exp: string;

  /**
   * @param slack by how much logits may exceed what weights are relative to: the larger, the more seldom results are
   *   to be scaled, and the larger weights become
   * @param inSubgroup all threads of a row are of one subgroup, which exchange values without memory
   */
  constructor(
    private readonly builder: ProgramBuilder,
    tile: AttentionTile,
    private readonly logits: RegisterBlock,
    private readonly slack = 0,
    inSubgroup = false,
  ) {
    this.tm = tile.tm;
    // WGSL's own may be off by 2|x| units in the last place of eˣ, which is nothing beside the weight 1 that there is.
    // Software adapters have one that is never 0.
    this.exp = builder.target.software ? builder.helpers.use('exp', 4) : 'exp';
    this.groups = tile.tm / 4;
    this.rows = tile.bm / tile.tm;
    this.columns = tileColumns(tile);
    this.bits = inSubgroup ? rowBits(tile, builder.target) : null;
    this.array = inSubgroup
      ? ''
      : builder.workgroupArray('rows', `array<vec4f, ${tile.bm / 4}>`, this.columns);
  }

  declare(body: CodeBlock): void {
    for (let r = 0; r < this.groups; r++) {
      body.line(`var peak${r} = vec4f(${LOWEST});`);
      body.line(`var total${r} = vec4f(0);`);
    }
  }

  /** Makes logits into weights relative to the largest so far. What there is of results is to be shrunk to it. */
  advance(loop: CodeBlock): void {
    const { slack, exp } = this;
    this.each((r) => {
      const highest = [0, 1, 2, 3].map((i) => this.lanes(r * 4 + i, 'max'));
      loop.line(`var next${r} = vec4f(${highest.join(', ')});`);
    });
    this.exchange(loop, 'next', (a, b) => `max(${a}, ${b})`);
    this.each((r) => {
      if (slack === 0) loop.line(`next${r} = max(next${r}, peak${r});`);
      else {
        loop.line(`let grows${r} = next${r} > peak${r} + vec4f(${slack});`);
        loop.line(`next${r} = select(peak${r}, next${r}, grows${r});`);
      }
      loop.line(`let shrink${r} = ${exp}(peak${r} - next${r});`);
      loop.line(`peak${r} = next${r};`);
    });
    for (const [i, names] of this.logits.names.entries())
      for (const name of names) loop.line(`${name} = ${exp}(${name} - ${rowOf('peak', i)});`);
    this.each((r) => {
      const sums = [0, 1, 2, 3].map((i) => this.lanes(r * 4 + i, 'sum'));
      loop.line(`total${r} = total${r} * shrink${r} + vec4f(${sums.join(', ')});`);
    });
  }

  /** Text of what the results of a row are to be multiplied with after `advance`. */
  shrink(i: number): string {
    return rowOf('shrink', i);
  }

  /** Text: whether a row of this thread is to be shrunk; with slack only. */
  grows(): string {
    return Array.from({ length: this.groups }, (_, r) => `any(grows${r})`).join(' || ');
  }

  /** Finds the sums of the rows. */
  finish(body: CodeBlock): void {
    this.exchange(body, 'total', (a, b) => `${a} + ${b}`);
    this.each((r) =>
      body.line(`let divisor${r} = select(total${r}, vec4f(1), total${r} == vec4f(0));`),
    );
  }

  /** Text of what a row of results is to be divided by; a row without weights gives zeros. */
  divisor(i: number): string {
    return rowOf('divisor', i);
  }

  /** Passes log Σ exp of each row to `store_row`. */
  storeRows(body: CodeBlock): void {
    const { helpers } = this.builder;
    const stores = new CodeBlock();
    for (let i = 0; i < this.tm; i++) {
      const sum = `${rowOf('peak', i)} + ${helpers.use('log', 1)}(${this.divisor(i)})`;
      const logSum = `select(${sum}, -${helpers.use('inf', 1)}(), ${rowOf('total', i)} == 0)`;
      const down = `first_m + row * 4u${plus((i >> 2) * this.rows * 4 + (i & 3))}`;
      stores.line(`store_row(batch, ${down}, ${logSum});`);
    }
    body.nest('if (column == 0u)', stores);
  }

  /** Combines `name` of all threads of a row, in the same order in each. */
  private exchange(body: CodeBlock, name: string, combine: (a: string, b: string) => string): void {
    const { array, bits } = this;
    if (bits !== null) {
      for (const bit of bits)
        this.each((r) => {
          const other = `subgroupShuffleXor(${name}${r}, ${bit}u)`;
          body.line(`${name}${r} = ${combine(`${name}${r}`, other)};`);
        });
      return;
    }
    this.each((r) => body.line(`${array}[column][row${plus(r * this.rows)}] = ${name}${r};`));
    body.line('workgroupBarrier();');
    this.each((r) => body.line(`${name}${r} = ${array}[0][row${plus(r * this.rows)}];`));
    const loop = new CodeBlock();
    this.each((r) => {
      const other = `${array}[other][row${plus(r * this.rows)}]`;
      loop.line(`${name}${r} = ${combine(`${name}${r}`, other)};`);
    });
    body.nest(`for (var other = 1u; other < ${this.columns}u; other++)`, loop);
  }

  /** The four lanes of all vectors of a row of logits, together. */
  private lanes(i: number, how: 'max' | 'sum'): string {
    const names = this.logits.names[i];
    const join = (a: string, b: string): string =>
      how === 'max' ? `max(${a}, ${b})` : `${a} + ${b}`;
    const vector = names.slice(1).reduce(join, names[0]);
    if (how === 'sum') return `dot(${vector}, vec4f(1))`;
    const lanes = names.flatMap((name) => [...'xyzw'].map((lane) => `${name}.${lane}`));
    return lanes.slice(1).reduce(join, lanes[0]);
  }

  private each(visit: (group: number) => void): void {
    for (let r = 0; r < this.groups; r++) visit(r);
  }
}

function rowOf(name: string, i: number): string {
  return `${name}${i >> 2}.${'xyzw'[i & 3]}`;
}
