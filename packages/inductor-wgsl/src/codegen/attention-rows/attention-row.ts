/**
 * @file Attention of few queries: a workgroup for each row, with all of its weights in workgroup memory.
 *
 * Threads that share a key add up its score, all threads together make the weights of the scores, and then each sums
 * its part of the columns for four of the results. Nothing is used twice, so there are no tiles: what counts is that
 * many loads are under way at once, and that the row is one launch. Where a thread for every four keys holds all that it
 * loads, scores become weights in registers.
 */
import type { AttentionKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { AttentionFrame } from '../matrices/attention-frame.js';
import { attentionRow, rowFacts, sumPlaces, type AttentionRow } from './attention-row-shape.js';
import { CodeBlock } from '../code-block.js';
import { sumOverLanes } from './lane-sums.js';
import { plus } from '../values/offset-text.js';
import type { WgslProgram } from '../wgsl-program.js';
import { shareTotal } from '../values/share-total.js';
import type { WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import { computeType, typeName } from '../values/wgsl-types.js';

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

class RowGenerator {
  private readonly frame: AttentionFrame;
  private readonly body: CodeBlock;
  private readonly vector: string;
  /** The array that holds the query where threads do not. */
  private query = '';
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
    const { builder, body } = this.frame;
    const type = computeType(kernel.accDtype);
    this.body = body;
    this.vector = typeName(type, 4);
    this.weights = builder.workgroupArray('weights', typeName(type, 1), 4 * row.quads);
  }

  generate(): WgslProgram {
    const { frame, body, row, kernel } = this;
    const { builder, workgroups } = frame;
    if (workgroups === null) return builder.finish(1, body, [0, 1]);
    if (row.spread > 1) builder.requireSubgroups();
    this.score();
    const ahead = this.loadValues();
    if (row.keepsScores) this.weighKept();
    else this.weigh();
    // A row that sees nothing gives zeros.
    body.line('let divisor = select(total, 1f, total == 0);');
    this.sumValues(ahead);
    if (kernel.rowStores.length > 0) {
      const { helpers } = builder;
      const sum = `select(peak + ${helpers.use('log', 1)}(divisor), -${helpers.use('inf', 1)}(), total == 0)`;
      body.line(`if (lane == 0u) { store_row(batch, first_m, ${sum}); }`);
    }
    return builder.finish(row.threads, body, workgroups);
  }

  /** The products of the row with each key. */
  private score(): void {
    const { body, row } = this;
    const { threads, perKey, keysAtOnce, columns } = row;
    if (perKey > 1) body.line(`let neighbour = lane % ${perKey}u;`);
    this.loadQuery();
    const keys = threads / perKey;
    const step = keys * keysAtOnce;
    const round = new CodeBlock();
    const all = Array.from({ length: keysAtOnce }, (_, u) => u);
    const own = perKey > 1 ? `lane / ${perKey}u` : 'lane';
    const isWhole = columns % step === 0;
    if (row.keepsScores) {
      // Four neighbouring keys end at one thread.
      for (const u of all)
        body.line(`let key${u} = ${own} * 4u${plus((u % 4) + Math.floor(u / 4) * 4 * keys)};`);
      this.scoreByHeld(body, all);
      const { number } = sumOverLanes(body, 'score', keysAtOnce, perKey);
      body.line(`let place = ${own} * 4u + ${number} * ${4 * keys}u;`);
      return;
    }
    for (const u of all) {
      const key = `first + ${own}${plus(u * keys)}`;
      // What lies beyond the last key is not used.
      round.line(`let key${u} = ${isWhole ? key : `min(${key}, ${columns - 1}u)`};`);
    }
    if (row.holdsQuery) this.scoreByHeld(round, all);
    else this.scoreByShared(round, all);
    const stored = perKey > 1 ? sumOverLanes(round, 'score', keysAtOnce, perKey) : null;
    const store = new CodeBlock();
    for (const u of stored === null ? all : [0]) {
      const at = stored === null ? `${plus(u * keys)}` : ` + (${stored.number}) * ${keys}u`;
      store.line(`let place${u} = first + ${own}${at};`);
      const write = `${this.weights}[place${u}] = score${u};`;
      store.line(isWhole ? write : `if (place${u} < ${columns}u) { ${write} }`);
    }
    if (stored === null || stored.sharers === 1) round.append(store);
    else round.nest(`if (lane % ${stored.sharers}u == 0u)`, store);
    body.nest(`for (var first = 0u; first < ${columns}u; first += ${step}u)`, round);
  }

  /** A thread's vectors of the query, or all of them for all threads. */
  private loadQuery(): void {
    const { body, row, frame } = this;
    const { threads, depth, holdsQuery, keyVectors } = row;
    if (holdsQuery) {
      for (let i = 0; i < keyVectors; i++)
        body.line(`let query${i} = load_a0(batch, first_m, ${this.depthOf(i)});`);
      return;
    }
    const query = frame.builder.workgroupArray('query', this.vector, depth);
    const load = new CodeBlock();
    load.line(`${query}[i] = load_a0(batch, first_m, i * 4u);`);
    body.nest(`for (var i = lane; i < ${depth}u; i += ${threads}u)`, load);
    body.line('workgroupBarrier();');
    this.query = query;
  }

  /** Text of the first element of a thread's vector number `i` of a key. */
  private depthOf(i: number): string {
    const { perKey } = this.row;
    return perKey > 1 ? `neighbour * 4u${plus(i * perKey * 4)}` : `${i * 4}u`;
  }

  private scoreByHeld(round: CodeBlock, keys: readonly number[]): void {
    const vectors = Array.from({ length: this.row.keyVectors }, (_, i) => i);
    for (const u of keys)
      for (const i of vectors)
        round.line(`let vector${u}_${i} = load_b0(batch, key${u}, ${this.depthOf(i)});`);
    for (const u of keys) {
      const products = vectors.map((i) => `dot(query${i}, vector${u}_${i})`);
      round.line(`var score${u} = ${products.join(' + ')};`);
    }
  }

  private scoreByShared(round: CodeBlock, keys: readonly number[]): void {
    const { vector, query } = this;
    const { depth, perKey } = this.row;
    for (const u of keys) round.line(`var sum${u} = ${vector}(0);`);
    const step = new CodeBlock();
    step.line(`let factor = ${query}[i];`);
    for (const u of keys) step.line(`sum${u} += factor * load_b0(batch, key${u}, i * 4u);`);
    const first = perKey > 1 ? 'neighbour' : '0u';
    round.nest(`for (var i = ${first}; i < ${depth}u; i += ${perKey}u)`, step);
    for (const u of keys) round.line(`var score${u} = dot(sum${u}, ${vector}(1));`);
  }

  /** Logits of the scores, and of these what a softmax makes of them, but for the division by `divisor`. */
  private weigh(): void {
    const { body, frame, row, weights, vector, target } = this;
    const { helpers } = frame.builder;
    const exp = target.software ? helpers.use('exp', 4) : 'exp';
    body.line('workgroupBarrier();');
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
    shareTotal(frame.builder, body, row, 'peak', (a, b) => `max(${a}, ${b})`);
    const raised = new CodeBlock();
    raised.line(`let four = ${exp}(${given} - peak);`);
    put(raised);
    raised.line(`total += dot(four, ${vector}(1));`);
    body.line('var total = 0f;');
    each(raised);
    shareTotal(frame.builder, body, row, 'total', (a, b) => `${a} + ${b}`);
  }

  /** The same of the four scores that each thread has. */
  private weighKept(): void {
    const { body, frame, row, weights, vector } = this;
    body.line(
      `let four = weigh0(batch, first_m, place, ${vector}(score0, score1, score2, score3));`,
    );
    body.line(`var peak = max(${LOWEST}, max(max(four.x, four.y), max(four.z, four.w)));`);
    shareTotal(frame.builder, body, row, 'peak', (a, b) => `max(${a}, ${b})`);
    body.line('let raised = exp(four - peak);');
    for (const [i, element] of [...'xyzw'].entries())
      body.line(`${weights}[place${plus(i)}] = raised.${element};`);
    body.line(`var total = dot(raised, ${vector}(1));`);
    shareTotal(frame.builder, body, row, 'total', (a, b) => `${a} + ${b}`);
  }

  /** The first values of each thread: loads that need no weights. Gives their number. */
  private loadValues(): number {
    const { body, row } = this;
    const { perColumn, valuesAtOnce, columns, threads } = row;
    const rows = threads / perColumn;
    const ahead = this.target.software ? 0 : Math.min(valuesAtOnce, Math.floor(columns / rows));
    body.line(`let column = lane % ${perColumn}u * 4u;`);
    for (let u = 0; u < ahead; u++)
      body.line(`let value${u} = load_v0(batch, column, lane / ${perColumn}u${plus(u * rows)});`);
    return ahead;
  }

  /** Four results of each of the first threads. */
  private sumValues(ahead: number): void {
    const { body, row, weights, vector } = this;
    const { threads, perColumn, valuesAtOnce, columns, width } = row;
    const rows = threads / perColumn;
    const own = `lane / ${perColumn}u`;
    body.line(`var result = ${vector}(0);`);
    for (let u = 0; u < ahead; u++)
      body.line(`result += ${weights}[${own}${plus(u * rows)}] * value${u};`);
    const take = (key: string): string =>
      `result += ${weights}[${key}] * load_v0(batch, column, ${key});`;
    const summed = new CodeBlock();
    let begin = ahead * rows;
    for (let atOnce = valuesAtOnce; atOnce >= 1; atOnce /= 2) {
      const step = rows * atOnce;
      const end = atOnce === 1 ? columns : columns - ((columns - begin) % step);
      if (end <= begin) continue;
      const many = new CodeBlock();
      for (let u = 0; u < atOnce; u++) many.line(take(`key${plus(u * rows)}`));
      summed.nest(`for (var key = ${own}${plus(begin)}; key < ${end}u; key += ${step}u)`, many);
      begin = end;
    }
    if (perColumn * 4 - width >= 4) body.nest(`if (column < ${width}u)`, summed);
    else body.append(summed);
    for (let mask = row.together / 2; mask >= 1; mask /= 2)
      body.line(`result += subgroupShuffleXor(result, ${mask * perColumn}u);`);
    this.finish(rows / row.together);
  }

  /** The results of so many parts, of which neighbouring threads bring together those of the same four. */
  private finish(parts: number): void {
    const { body, frame, row, vector, kernel } = this;
    const { perColumn, together, spread } = row;
    const sharers = Math.min(parts, spread);
    if (parts > 1) {
      const array = frame.builder.workgroupArray('sums', vector, sumPlaces(parts * perColumn, row));
      const pace = sumPlaces(perColumn, row);
      const at =
        together === 1 && pace === perColumn
          ? 'lane'
          : `lane / ${perColumn * together}u * ${pace}u + lane % ${perColumn}u`;
      body.line(`${array}[${at}] = result;`);
      body.line('workgroupBarrier();');
      const place = sharers === 1 ? 'lane' : `(lane % ${sharers}u) * ${pace}u + lane / ${sharers}u`;
      const found = new CodeBlock();
      found.line(`result = ${array}[${place}];`);
      for (let other = sharers; other < parts; other += sharers)
        found.line(`result += ${array}[${place}${plus(other * pace)}];`);
      // Threads beyond hold what nobody takes.
      body.nest(`if (lane < ${perColumn * sharers}u)`, found);
      for (let mask = sharers / 2; mask >= 1; mask /= 2)
        body.line(`result += subgroupShuffleXor(result, ${mask}u);`);
    }
    if (kernel.epilogue.length === 0) return;
    const store = new CodeBlock();
    const column = sharers === 1 ? 'lane' : `lane / ${sharers}u`;
    store.line(`store_c(batch, first_m, ${column} * 4u, result / divisor);`);
    const stores = sharers === 1 ? '' : `lane % ${sharers}u == 0u && `;
    body.nest(`if (${stores}lane < ${perColumn * sharers}u)`, store);
  }
}
