/**
 * @file A softmax over tiles of logits: largest logit and sum of each of a thread's rows, as vectors of four rows.
 *
 * The largest is known to all threads of a row (they exchange it at each tile), a sum is each thread's own until the
 * end. Modelled on FlashAttention (Dao et al., 2022).
 */
import { tileColumns, type AttentionTile } from './attention-tiles.js';
import { CodeBlock } from './code-block.js';
import { plus } from './offset-text.js';
import type { ProgramBuilder } from './program.js';
import type { RegisterBlock } from './register-block.js';

/** Below all logits but -∞; finite, so that differences are numbers. */
const LOWEST = '-3.4028234e38';

/** See the file header. */
export class RunningSoftmax {
  private readonly array: string;
  private readonly groups: number;
  private readonly rows: number;
  private readonly columns: number;

  constructor(
    private readonly builder: ProgramBuilder,
    tile: AttentionTile,
    private readonly logits: RegisterBlock,
    private readonly results: RegisterBlock,
  ) {
    this.groups = tile.tm / 4;
    this.rows = tile.bm / tile.tm;
    this.columns = tileColumns(tile);
    this.array = builder.workgroupArray('rows', `array<vec4f, ${tile.bm / 4}>`, this.columns);
  }

  declare(body: CodeBlock): void {
    for (let r = 0; r < this.groups; r++) {
      body.line(`var peak${r} = vec4f(${LOWEST});`);
      body.line(`var total${r} = vec4f(0);`);
    }
  }

  /** Makes logits into weights of the largest logit so far, and scales what there is to it. */
  scale(loop: CodeBlock): void {
    const exp = this.builder.helpers.use('exp', 4);
    this.each((r) => {
      const highest = [0, 1, 2, 3].map((i) => this.lanes(r * 4 + i, 'max'));
      loop.line(`var next${r} = vec4f(${highest.join(', ')});`);
    });
    this.exchange(loop, 'next', (a, b) => `max(${a}, ${b})`);
    this.each((r) => {
      loop.line(`next${r} = max(next${r}, peak${r});`);
      loop.line(`let shrink${r} = ${exp}(peak${r} - next${r});`);
      loop.line(`peak${r} = next${r};`);
    });
    for (const [i, names] of this.logits.names.entries()) {
      const lane = `${i >> 2}.${'xyzw'[i & 3]}`;
      for (const name of names) loop.line(`${name} = ${exp}(${name} - peak${lane});`);
      for (const name of this.results.names[i]) loop.line(`${name} *= shrink${lane};`);
    }
    this.each((r) => {
      const sums = [0, 1, 2, 3].map((i) => this.lanes(r * 4 + i, 'sum'));
      loop.line(`total${r} = total${r} * shrink${r} + vec4f(${sums.join(', ')});`);
    });
  }

  /** Divides the results by the sums; a row without weights gives zeros. */
  finish(body: CodeBlock): void {
    this.exchange(body, 'total', (a, b) => `${a} + ${b}`);
    this.each((r) =>
      body.line(`let divisor${r} = select(total${r}, vec4f(1), total${r} == vec4f(0));`),
    );
    for (const [i, names] of this.results.names.entries())
      for (const name of names) body.line(`${name} /= divisor${i >> 2}.${'xyzw'[i & 3]};`);
  }

  /** Text of log Σ exp of a row. */
  logSum(i: number): string {
    const { helpers } = this.builder;
    const lane = `${i >> 2}.${'xyzw'[i & 3]}`;
    const sum = `peak${lane} + ${helpers.use('log', 1)}(divisor${lane})`;
    return `select(${sum}, -${helpers.use('inf', 1)}(), total${lane} == 0)`;
  }

  /** Combines `name` of all threads of a row, in the same order in each. */
  private exchange(body: CodeBlock, name: string, combine: (a: string, b: string) => string): void {
    const { array } = this;
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
