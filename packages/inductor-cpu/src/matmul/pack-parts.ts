/**
 * @file Packing columns whose elements are parts of what is loaded, such as weights of few bits, several to a word.
 *
 * The last digit of k says which part an element is, and no load depends on it. So what is loaded for one element serves
 * all parts, which are evaluated with the digit as a constant: vectors go along columns, four words of each at a time,
 * and all lanes are shifted by the same number of bits. Columns are packed into panels, as plain ones are.
 */
import {
  type Expr,
  IrBuilder,
  indexSymbols,
  indexValues,
  postorder,
  type SizedLoop,
  mergedSpace,
} from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { Blocking } from './blocking.js';
import type { OperandAccess } from './gemm-operands.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, type Run } from './matmul-space.js';
import { packFunction } from './pack-expression.js';
import type { MatmulProblem } from './problem.js';

/** More parts would be more code than they are worth. */
const MOST_PARTS = 8;

/** Columns of a vector, and words of each that are loaded together. */
const LANES = 4;

/** The parts of a product's columns as expressions of the digits that are left. */
interface Parts {
  readonly exprs: readonly Expr[];
  /** Variables of k without the last digit. */
  readonly words: readonly SizedLoop[];
}

/** Whether an expression may be evaluated for several k at once, from the same loads. */
function loadsAll(expr: Expr, part: string): boolean {
  return postorder([expr]).every((each) => {
    if (each.kind === 'load')
      return indexValues(each.index).length === 0 && !indexSymbols(each.index).has(part);
    return ['op', 'const', 'index', 'scalar'].includes(each.kind);
  });
}

/** See the file header; null where there are none, or blocks of k end within a word. */
function partsOf({ b, depth, type }: MatmulProblem, { depthBlock }: Blocking): Parts | null {
  const [part, ...rest] = depth.toReversed();
  if (type.dtype !== 'float32' || b.plain !== null || part === undefined || rest.length === 0)
    return null;
  const { name, size } = part;
  if (typeof size !== 'number' || size < 2 || size > MOST_PARTS || depthBlock % size !== 0)
    return null;
  if (!loadsAll(b.expr, name)) return null;
  // One builder for all: what they share is then evaluated once.
  const ir = new IrBuilder();
  const exprs = Array.from({ length: size }, (_, i) =>
    ir.rewrite([b.expr], { symbol: (each) => (each === name ? ir.int(i) : undefined) }),
  ).flat();
  return { exprs, words: rest.toReversed() };
}

/** The function `(args, batch, dst, line, lines, step, steps)`. */
function packParts(
  problem: MatmulProblem,
  { exprs, words }: Parts,
  tileCols: number,
  pitch: number,
  options: KernelOptions,
): WasmFunction | null {
  const { kernel, batch, b, colCount } = problem;
  const { space, lists } = mergedSpace([b.lines, words], batch, exprs, []);
  const [lines, digits] = lists;
  if (lines.length > 1) return null;
  const [{ name: column }] = lines;
  const f = packFunction(problem, b);
  const body = new BodyEmitter(f, kernel, space, options);
  const { scope, vb } = body;
  bindBatch(body, batch, f.param('batch'));
  const toWord = (step: Code<'i32'>): Code<'i32'> => op('i32.div_u', step, i32(exprs.length));
  const wordBegin = f.let('word', toWord(f.param('step')));
  const wordEnd = f.let('word_end', sum(wordBegin, toWord(f.param('steps'))));
  const rowBytes = tileCols * 4;

  /** The parts of `across` words of `active` columns. */
  const packWords = (run: Run, at: Local<'i32'>, across: number, active: number): void => {
    const word = op('i32.sub', scope.variable(run.inner), run.begin);
    const position = op('i32.sub', sum(run.flat, word), wordBegin);
    const to = f.let('to', sum(at, scaled(position, exprs.length * rowBytes)));
    const lanes = { lane: column, across: run.inner, groups: across, active };
    scope.vectorise(lanes, () => {
      exprs.forEach((expr, part) => {
        const { regs, uniform } = convert(vb, body.value(expr), 'f32');
        for (let g = 0; g < across; g++) {
          const offset = (g * exprs.length + part) * rowBytes;
          f.do(memory('v128.store', offset, to, regs[uniform ? 0 : g]!));
        }
      });
    });
  };
  /** All words of `active` columns. */
  const packColumns = (active: number): void => {
    const position = f.let('position', op('i32.sub', scope.variable(column), f.param('line')));
    const panel = scaled(op('i32.div_u', position, i32(tileCols)), pitch);
    const inPanel = scaled(op('i32.rem_u', position, i32(tileCols)), 4);
    const at = f.let('at', sum(sum(f.param('dst'), panel), inPanel));
    forEachRun(body, digits, wordBegin, wordEnd, (run) => {
      const whole = op('i32.and', op('i32.sub', run.end, run.begin), i32(-LANES));
      const middle = f.let('middle', sum(run.begin, whole));
      scope.loop(run.inner, run.begin, middle, LANES, () => packWords(run, at, LANES, active));
      scope.loop(run.inner, middle, run.end, 1, () => packWords(run, at, 1, active));
    });
  };
  const rest = (colCount as number) % LANES;
  const end = f.let('line_end', sum(f.param('line'), f.param('lines')));
  const stop = f.let('stop', op('i32.and', f.param('lines'), i32(-LANES)));
  const whole = f.let('whole', sum(f.param('line'), stop));
  scope.loop(column, f.param('line'), whole, LANES, () => packColumns(LANES));
  if (rest > 0) scope.loop(column, whole, end, LANES, () => packColumns(rest));
  return f;
}

/** How the columns of a product are packed, if they are parts of words; null for others. */
export function partsAccess(
  problem: MatmulProblem,
  blocking: Blocking,
  options: KernelOptions,
): OperandAccess | null {
  const parts = typeof problem.colCount === 'number' ? partsOf(problem, blocking) : null;
  if (parts === null) return null;
  const tileCols = blocking.tileVectors * LANES;
  const step = 4 * tileCols;
  const pitch = blocking.depthBlock * step + 64;
  const pack = packParts(problem, parts, tileCols, pitch, options);
  if (pack === null) return null;
  return {
    strides: { line: 4, step, tailStep: step, tile: pitch },
    scratchBytes: Math.ceil(blocking.colBlock / tileCols) * pitch,
    prepare(f, { args, batch, origin, extent, step: first, steps }, scratch) {
      f.do(call(pack, args, batch, scratch, origin[0]!, extent[0]!, first, steps));
      return scratch;
    },
  };
}
