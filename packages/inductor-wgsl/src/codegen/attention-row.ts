/**
 * @file Attention of few queries: a workgroup for each row, with all of its weights in workgroup memory.
 *
 * Threads that share a key add up its score, all threads together make the weights of the scores, and then each sums
 * its part of the columns for four of the results. Nothing is used twice, so there are no tiles: what counts is that
 * many loads are under way at once, and that the row is one launch.
 */
import { type AttentionKernel, type ScheduleFacts } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { AttentionFrame } from './attention-frame.js';
import { attentionRow, type AttentionRow } from './attention-row-shape.js';
import { CodeBlock } from './code-block.js';
import { plus } from './offset-text.js';
import type { WgslProgram } from './program.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { addWeighFunction } from './weigh-function.js';
import { typeName } from './wgsl-types.js';

/** Below all logits but -∞; finite, so that differences are numbers. */
const LOWEST = '-3.4028234e38';

/** Generates the kernel; null where its rows are many, too long, or weighed otherwise than by a softmax. */
export function generateRowAttention(
  kernel: AttentionKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram | null {
  const row = attentionRow(kernel, target);
  if (row === null) return null;
  return {
    ...new RowGenerator(kernel, target, variant, row).generate(),
    schedule: () => rowFacts(kernel.name, row),
  };
}

function rowFacts(kernel: string, { threads, perKey, perColumn }: AttentionRow): ScheduleFacts {
  return {
    kernel,
    facts: {
      'part of a workgroup': 'one row',
      'threads of a workgroup': threads,
      'threads that share a score': perKey,
      'threads that share a result': threads / perColumn,
    },
  };
}

class RowGenerator {
  private readonly frame: AttentionFrame;
  private readonly body: CodeBlock;
  private readonly vector: string;
  private readonly query: string;
  /** Scores, then logits, then weights. */
  private readonly weights: string;

  constructor(
    private readonly kernel: AttentionKernel<Size>,
    private readonly target: WgslTarget,
    variant: KernelVariant,
    private readonly row: AttentionRow,
  ) {
    const extents = { bm: 1, bn: 4, covered: 4 * row.perColumn, bk: 4, bj: 1 };
    this.frame = new AttentionFrame(kernel, target, variant, extents, {
      orders: { factors: 'vectors along k', values: 'along x' },
    });
    const { builder, type, body } = this.frame;
    this.body = body;
    this.vector = typeName(type, 4);
    this.query = builder.workgroupArray('query', this.vector, row.depth);
    this.weights = builder.workgroupArray('weights', typeName(type, 1), 4 * row.quads);
    addWeighFunction(this.frame, kernel, 0, 4);
  }

  generate(): WgslProgram {
    const { frame, body, row, kernel } = this;
    const { builder } = frame;
    const workgroups = frame.placeTile();
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    if (row.spread > 1) builder.requireSubgroups();
    this.score();
    this.weigh();
    this.sumValues();
    if (kernel.rowStores.length > 0) {
      const { helpers } = builder;
      const sum = `select(peak + ${helpers.use('log', 1)}(divisor), -${helpers.use('inf', 1)}(), total == 0)`;
      body.line(`if (lane == 0u) { store_row(batch, first_m, ${sum}); }`);
    }
    return builder.finish(row.threads, body, workgroups);
  }

  /** The products of the row with each key. */
  private score(): void {
    const { body, row, query, vector } = this;
    const { threads, depth, perKey, unrolled, columns } = row;
    const load = new CodeBlock();
    load.line(`${query}[i] = load_a0(batch, first_m, i * 4u);`);
    body.nest(`for (var i = lane; i < ${depth}u; i += ${threads}u)`, load);
    body.line('workgroupBarrier();');
    const keys = threads / perKey;
    const all = Array.from({ length: unrolled }, (_, u) => u);
    const pass = new CodeBlock();
    for (const u of all) {
      pass.line(`let key${u} = first + lane / ${perKey}u${plus(u * keys)};`);
      pass.line(`var score${u} = ${vector}(0);`);
    }
    const step = new CodeBlock();
    step.line(`let factor = ${query}[i];`);
    // What lies beyond the last key is not used.
    for (const u of all)
      step.line(`score${u} += factor * load_b0(batch, min(key${u}, ${columns - 1}u), i * 4u);`);
    pass.nest(`for (var i = lane % ${perKey}u; i < ${depth}u; i += ${perKey}u)`, step);
    const store = new CodeBlock();
    for (const u of all) {
      pass.line(`var sum${u} = dot(score${u}, ${vector}(1));`);
      for (let mask = perKey / 2; mask >= 1; mask /= 2)
        pass.line(`sum${u} += subgroupShuffleXor(sum${u}, ${mask}u);`);
      store.line(`if (key${u} < ${columns}u) { ${this.weights}[key${u}] = sum${u}; }`);
    }
    if (perKey === 1) pass.append(store);
    else pass.nest(`if (lane % ${perKey}u == 0u)`, store);
    body.nest(`for (var first = 0u; first < ${columns}u; first += ${keys * unrolled}u)`, pass);
    body.line('workgroupBarrier();');
  }

  /** Logits of the scores, and of these what a softmax makes of them, but for the division by `divisor`. */
  private weigh(): void {
    const { body, frame, row, weights, vector, target } = this;
    const { helpers } = frame.builder;
    const exp = target.software ? helpers.use('exp', 4) : 'exp';
    const four = [0, 1, 2, 3].map((i) => `${weights}[quad * 4u${plus(i)}]`);
    const each = (inner: CodeBlock): void =>
      body.nest(`for (var quad = lane; quad < ${row.quads}u; quad += ${row.threads}u)`, inner);
    const put = (inner: CodeBlock): void => {
      for (const [i, element] of four.entries()) inner.line(`${element} = four.${'xyzw'[i]};`);
    };
    const given = `${vector}(${four.join(', ')})`;
    const logits = new CodeBlock();
    logits.line(`let four = weigh0(batch, first_m, quad * 4u, ${given});`);
    put(logits);
    logits.line('peak = max(peak, max(max(four.x, four.y), max(four.z, four.w)));');
    body.line(`var peak = ${LOWEST};`);
    each(logits);
    this.combine('peak', (a, b) => `max(${a}, ${b})`);
    const raised = new CodeBlock();
    raised.line(`let four = ${exp}(${given} - peak);`);
    put(raised);
    raised.line(`total += dot(four, ${vector}(1));`);
    body.line('var total = 0f;');
    each(raised);
    this.combine('total', (a, b) => `${a} + ${b}`);
    // A row that sees nothing gives zeros.
    body.line('let divisor = select(total, 1f, total == 0);');
  }

  /** Gives all threads what a variable of each makes together. What was written before is seen after it. */
  private combine(name: string, join: (a: string, b: string) => string): void {
    const { body, frame, row } = this;
    const parts = row.threads / row.spread;
    const array = frame.builder.workgroupArray(name, 'f32', parts);
    for (let mask = row.spread / 2; mask >= 1; mask /= 2)
      body.line(`${name} = ${join(name, `subgroupShuffleXor(${name}, ${mask}u)`)};`);
    const at = row.spread === 1 ? 'lane' : `lane / ${row.spread}u`;
    body.line(`${array}[${at}] = ${name};`);
    body.line('workgroupBarrier();');
    if (parts === 1) return;
    body.line(`${name} = ${array}[0];`);
    const other = new CodeBlock();
    other.line(`${name} = ${join(name, `${array}[other]`)};`);
    body.nest(`for (var other = 1u; other < ${parts}u; other++)`, other);
  }

  /** Four results of each of the first threads. */
  private sumValues(): void {
    const { body, frame, row, weights, vector, kernel } = this;
    const { threads, perColumn, unrolled, columns, width, together } = row;
    const rows = threads / perColumn;
    body.line(`let column = lane % ${perColumn}u * 4u;`);
    body.line(`var result = ${vector}(0);`);
    const step = rows * unrolled;
    const whole = columns - (columns % step);
    const take = (key: string): string =>
      `result += ${weights}[${key}] * load_v0(batch, column, ${key});`;
    const summed = new CodeBlock();
    if (whole > 0) {
      const many = new CodeBlock();
      for (let u = 0; u < unrolled; u++) many.line(take(`key${plus(u * rows)}`));
      summed.nest(`for (var key = lane / ${perColumn}u; key < ${whole}u; key += ${step}u)`, many);
    }
    if (whole < columns) {
      const one = new CodeBlock();
      one.line(take('key'));
      summed.nest(
        `for (var key = lane / ${perColumn}u${plus(whole)}; key < ${columns}u; key += ${rows}u)`,
        one,
      );
    }
    if (perColumn * 4 - width >= 4) body.nest(`if (column < ${width}u)`, summed);
    else body.append(summed);
    for (let mask = together / 2; mask >= 1; mask /= 2)
      body.line(`result += subgroupShuffleXor(result, ${mask * perColumn}u);`);
    const parts = rows / together;
    const finish = new CodeBlock();
    if (parts > 1) {
      const array = frame.builder.workgroupArray('sums', vector, parts * perColumn);
      const at =
        together === 1
          ? 'lane'
          : `lane / ${perColumn * together}u * ${perColumn}u + lane % ${perColumn}u`;
      body.line(`${array}[${at}] = result;`);
      body.line('workgroupBarrier();');
      const other = new CodeBlock();
      other.line(`result += ${array}[lane + other * ${perColumn}u];`);
      finish.nest(`for (var other = 1u; other < ${parts}u; other++)`, other);
    }
    if (kernel.epilogue.length > 0)
      finish.line('store_c(batch, first_m, column, result / divisor);');
    body.nest(`if (lane < ${perColumn}u)`, finish);
  }
}
