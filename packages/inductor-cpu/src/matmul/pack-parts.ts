/**
 * @file Packing columns whose elements are parts of words, such as weights of few bits (`WordParts`).
 *
 * What is loaded for one element serves all parts: vectors go along columns, four words of each at a time, and all lanes
 * are shifted by the same number of bits. Columns are packed into panels, as plain ones are.
 */
import {
  type BlockLayout,
  extent,
  mergedSpace,
  panelPitch,
  type WordParts,
} from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import type { OperandAccess } from './gemm-operands.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, inSteps, type Run } from './matmul-space.js';
import { packFunction } from './pack-expression.js';
import type { MatmulProblem } from './problem.js';

/** Columns of a vector, and words of each that are loaded together. */
const LANES = 4;

/** The function `(args, batch, dst, line, lines, step, steps)`. */
function packParts(
  problem: MatmulProblem,
  { exprs, words }: WordParts,
  tileCols: number,
  pitch: number,
  options: KernelOptions,
): WasmFunction {
  const { kernel, batch, b } = problem;
  const { space, lists } = mergedSpace([b.lines, words], batch, exprs, []);
  const [[{ name: column }], digits] = lists;
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
    forEachRun(body, digits, wordBegin, wordEnd, (run) =>
      inSteps(body, run, LANES, (across) => packWords(run, at, across, active)),
    );
  };
  const rest = (extent(b.lines) as number) % LANES;
  const end = f.let('line_end', sum(f.param('line'), f.param('lines')));
  const stop = f.let('stop', op('i32.and', f.param('lines'), i32(-LANES)));
  const whole = f.let('whole', sum(f.param('line'), stop));
  scope.loop(column, f.param('line'), whole, LANES, () => packColumns(LANES));
  if (rest > 0) scope.loop(column, whole, end, LANES, () => packColumns(rest));
  return f;
}

/** How columns are packed that are parts of words. */
export function partsAccess(
  problem: MatmulProblem,
  parts: WordParts,
  { steps }: Extract<BlockLayout, { kind: 'panels' }>,
  tileCols: number,
  options: KernelOptions,
): OperandAccess {
  const step = 4 * tileCols;
  const pitch = panelPitch(steps, tileCols, 4);
  const pack = packParts(problem, parts, tileCols, pitch, options);
  return {
    strides: { line: 4, step, tailStep: step, tile: pitch },
    prepare(f, { args, batch, origin, extent, step: first, steps: count }, scratch) {
      f.do(call(pack, args, batch, scratch, origin[0]!, extent[0]!, first, count));
      return scratch;
    },
  };
}
