/**
 * @file Packing an operand that is an arbitrary expression: a convolution's masked loads, half-precision
 * weights, an activation fused into the product.
 *
 * The packed block has k moving slowest and lines adjacent, `rowBytes` from one k to the next. Vectors
 * go along the lines, eight at a time, or, where memory is adjacent along k, four lines by four k,
 * which the access code transposes in registers. Runs that are no multiple of the vector length end
 * with a vector that overlaps the one before: packing twice does no harm.
 */
import { indexOf, postorder, type Expr } from '@tessera/inductor-core';
import { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { LoopSpace } from '../body/loop-space.js';
import type { CodeOptions } from '../body/vector-builder.js';
import { i32, laneMemory, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, mergedSpace, type Run } from './matmul-space.js';
import type { MatmulProblem, Operand } from './problem.js';

/** The layout of packed blocks. */
export interface ExpressionPackSpec {
  readonly problem: MatmulProblem;
  readonly operand: Operand;
  /** Bytes from one k to the next. */
  readonly rowBytes: number;
  /** Lines of a block, a multiple of which every block starts at. */
  readonly blockLines: number;
  readonly options: CodeOptions;
}

/** How many elements a vector iteration covers: `lines` along the lines, `steps` along k. */
interface Shape {
  readonly lines: number;
  readonly steps: number;
}

/** The function `(args, batch, dst, line, lines, step, steps)`. */
export function packExpression(spec: ExpressionPackSpec): WasmFunction {
  const { problem, operand, rowBytes } = spec;
  const { kernel } = problem;
  const f = new WasmFunction(`${kernel.name}_pack_${operand.side}`, {
    args: 'i32',
    batch: 'i32',
    dst: 'i32',
    line: 'i32',
    lines: 'i32',
    step: 'i32',
    steps: 'i32',
  });
  const { space, lists } = mergedSpace([operand.lines, problem.depth], problem.batch, [operand.expr], []);
  const [lineVars, depthVars] = lists;
  const innerLine = lineVars[lineVars.length - 1];
  const innerDepth = depthVars[depthVars.length - 1];
  const body = new BodyEmitter(f, kernel, space, spec.options);
  const [line, step] = [f.param('line'), f.param('step')];
  bindBatch(body, problem.batch, f.param('batch'));
  const lineEnd = f.let('line_end', sum(line, f.param('lines')));
  const stepEnd = f.let('step_end', sum(step, f.param('steps')));
  const alongDepth = adjacency(operand.expr, space, innerDepth.name) > adjacency(operand.expr, space, innerLine.name);
  const isWholeRun = lineVars.length > 1 && spec.blockLines % innerLine.size === 0;

  forEachRun(body, depthVars, step, stepEnd, (depthRun) => {
    const lines = (begin: Local<'i32'>, end: Local<'i32'>, steps: number): void => {
      body.scope.loop(depthRun.inner, begin, end, steps, () => {
        const k = op('i32.sub', body.scope.variable(depthRun.inner), depthRun.begin);
        const position = op('i32.sub', sum(depthRun.flat, k), step);
        const row = f.let('row', sum(f.param('dst'), scaled(position, rowBytes)));
        forEachRun(body, lineVars, line, lineEnd, (run) => {
          const at = f.let('at', sum(row, scaled(op('i32.sub', run.flat, line), problem.type.bytes)));
          packRun(body, spec, run, depthRun.inner, at, steps, isWholeRun ? innerLine.size : null);
        });
      });
    };
    if (!alongDepth) {
      lines(depthRun.begin, depthRun.end, 1);
      return;
    }
    const whole = op('i32.and', op('i32.sub', depthRun.end, depthRun.begin), i32(-4));
    const middle = f.let('middle', sum(depthRun.begin, whole));
    lines(depthRun.begin, middle, 4);
    lines(middle, depthRun.end, 1);
  });
  return f;
}

/** Loads that advance by one element along a variable, less those that jump. */
export function adjacency(expr: Expr, space: LoopSpace, name: string): number {
  let score = 0;
  for (const each of postorder([expr])) {
    const index = each.kind === 'load' ? indexOf(each) : null;
    if (index === null) continue;
    const stride = space.affine(index).terms.get(name) ?? 0;
    if (stride === 1) score++;
    else if (stride !== 0) score--;
  }
  return score;
}

/** One run of lines, at one k or four; `length` when it is known. */
function packRun(body: BodyEmitter, spec: ExpressionPackSpec, run: Run, depth: string, at: Local<'i32'>, steps: number, length: number | null): void {
  const { f } = body;
  const wide = steps === 1 ? 8 : 4;
  const pack = (lines: number): void => packVectors(body, spec, run, depth, at, { lines, steps });
  if (length !== null) {
    pack(length >= wide ? wide : Math.min(length, 4));
    return;
  }
  // One level per branch: code that is hoisted out of a branch goes before all of them.
  body.scope.nest((inside) => {
    const atLeast = (lines: number): Code<'i32'> => op('i32.ge_u', op('i32.sub', run.end, run.begin), i32(lines));
    const branch = (lines: number) => (): void => inside(() => pack(lines));
    const narrow = (): void => f.if(atLeast(4), branch(4), branch(1));
    if (wide === 4) narrow();
    else f.if(atLeast(8), branch(8), narrow);
  });
}

/** A loop over a run of at least `shape.lines` lines. The last iteration overlaps the one before. */
function packVectors(body: BodyEmitter, spec: ExpressionPackSpec, run: Run, depth: string, at: Local<'i32'>, shape: Shape): void {
  const { f, scope } = body;
  const { lines, steps } = shape;
  const last = f.let('last', op('i32.sub', run.end, i32(lines)));
  scope.nest((inside) => {
    const x = f.let(run.inner, run.begin);
    f.loop((again) => {
      inside(() => {
        scope.bind(run.inner, x);
        const lanes =
          steps === 1
            ? { lane: run.inner, across: run.inner, groups: Math.ceil(lines / 4), active: lines }
            : { lane: run.inner, across: depth, groups: steps, active: lines };
        scope.vectorise(lanes, () => packElements(body, spec, shape, f.let('to', sum(at, scaled(op('i32.sub', x, run.begin), spec.problem.type.bytes)))));
      });
      f.if(op('i32.lt_u', x, last), () => {
        f.set(x, sum(x, i32(lines)));
        f.if(op('i32.gt_u', x, last), () => f.set(x, last));
        f.br(again);
      });
    });
  });
}

/** Evaluates the operand and stores its vectors. A partial vector is stored whole only if what follows is written later. */
function packElements(body: BodyEmitter, spec: ExpressionPackSpec, shape: Shape, to: Local<'i32'>): void {
  const { f, vb } = body;
  const { type } = spec.problem;
  const kind = kindOf(type.dtype);
  const perGroup = registersPerGroup(kind);
  const value = convert(vb, body.value(spec.operand.expr), kind);
  const groups = shape.steps === 1 ? Math.ceil(shape.lines / 4) : shape.steps;
  for (let g = 0; g < groups; g++) {
    const offset = shape.steps === 1 ? g * 4 * type.bytes : g * spec.rowBytes;
    for (let part = 0; part < perGroup; part++) {
      const reg = value.regs[value.uniform ? 0 : g * perGroup + part];
      if (shape.lines > 1) f.do(memory('v128.store', offset + 16 * part, to, reg));
      else if (part === 0) f.do(laneMemory(type.storeLane, offset, 0, to, reg));
    }
  }
}
