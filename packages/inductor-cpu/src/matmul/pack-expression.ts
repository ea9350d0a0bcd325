/**
 * @file Packing an operand that is an arbitrary expression: a convolution's masked loads, half-precision
 * weights, an activation fused into the product.
 *
 * A packed block is a matrix with lines adjacent and k moving slowly, or (of A, whose elements are
 * broadcast one by one anyway) with k adjacent. Vectors go along the adjacent dimension, eight elements
 * at a time. B must have its lines adjacent; where its memory is adjacent along k, four lines by four k
 * are evaluated together, which the access code transposes in registers. Runs that are no multiple of
 * the vector length end with a vector that overlaps the one before: packing twice does no harm.
 */
import { type PackOrder, type SizedLoop, mergedSpace } from '@tessera/inductor-core';
import { isMultiple } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { KernelOptions } from '../body/size-slots.js';
import { i32, laneMemory, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled, sum } from './index-code.js';
import { bindBatch, forEachRun, inSteps, type Run } from './matmul-space.js';
import type { MatmulProblem, Operand } from './problem.js';

/** The layout of packed blocks. */
export interface ExpressionPackSpec {
  readonly problem: MatmulProblem;
  readonly operand: Operand;
  readonly mode: PackOrder;
  /** Bytes from one k to the next, or from one line to the next in mode `steps`. */
  readonly rowBytes: number;
  /** Lines and k that the origin of every block is a multiple of. */
  readonly blockLines: number;
  readonly blockDepth: number;
  readonly options: KernelOptions;
}

/** How many elements a vector iteration covers: along the adjacent dimension, and across it. */
interface Shape {
  readonly along: number;
  readonly across: number;
}

/** The adjacent dimension of a packed block, or the other one: variables, flat range, whether runs are always whole. */
interface Dimension {
  readonly vars: readonly SizedLoop[];
  readonly begin: Local<'i32'>;
  readonly end: Local<'i32'>;
  readonly wholeRuns: boolean;
}

/** An empty function `(args, batch, dst, line, lines, step, steps)`. */
export function packFunction({ kernel }: MatmulProblem, { side }: Operand): WasmFunction {
  return new WasmFunction(`${kernel.name}_pack_${side}`, {
    args: 'i32',
    batch: 'i32',
    dst: 'i32',
    line: 'i32',
    lines: 'i32',
    step: 'i32',
    steps: 'i32',
  });
}

/** The function `(args, batch, dst, line, lines, step, steps)`. */
export function packExpression(spec: ExpressionPackSpec): WasmFunction {
  const { problem, operand, mode, rowBytes } = spec;
  const f = packFunction(problem, operand);
  const { space, lists } = mergedSpace(
    [operand.lines, problem.depth],
    problem.batch,
    [operand.expr],
    [],
  );
  const body = new BodyEmitter(f, problem.kernel, space, spec.options);
  bindBatch(body, problem.batch, f.param('batch'));
  const dimension = (
    vars: readonly SizedLoop[],
    begin: string,
    count: string,
    block: number,
  ): Dimension => ({
    vars,
    begin: f.param(begin),
    end: f.let(`${begin}_end`, sum(f.param(begin), f.param(count))),
    wholeRuns: vars.length > 1 && isMultiple(block, vars[vars.length - 1].size),
  });
  const lines = dimension(lists[0], 'line', 'lines', spec.blockLines);
  const steps = dimension(lists[1], 'step', 'steps', spec.blockDepth);
  const [outer, inner] = mode === 'steps' ? [lines, steps] : [steps, lines];

  forEachRun(body, outer.vars, outer.begin, outer.end, (outerRun) =>
    inSteps(body, outerRun, mode === 'transposed' ? 4 : 1, (across) => {
      const offset = op('i32.sub', body.scope.variable(outerRun.inner), outerRun.begin);
      const position = op('i32.sub', sum(outerRun.flat, offset), outer.begin);
      const row = f.let('row', sum(f.param('dst'), scaled(position, rowBytes)));
      forEachRun(body, inner.vars, inner.begin, inner.end, (run) => {
        const along = scaled(op('i32.sub', run.flat, inner.begin), problem.type.bytes);
        const at = f.let('at', sum(row, along));
        const { size } = inner.vars[inner.vars.length - 1];
        const length = inner.wholeRuns ? (size as number) : null;
        packRun(body, spec, run, outerRun.inner, at, across, length);
      });
    }),
  );
  return f;
}

/** What is packed: an operand, with `rowBytes` between the rows of a block. */
export type PackedOperand = Pick<ExpressionPackSpec, 'problem' | 'operand' | 'rowBytes'>;

/** One run of the adjacent dimension, for `across` values of the other variable; `length` when it is known. */
export function packRun(
  body: BodyEmitter,
  spec: PackedOperand,
  run: Run,
  other: string,
  at: Local<'i32'>,
  across: number,
  length: number | null,
): void {
  const { f } = body;
  const wide = across === 1 ? 8 : 4;
  const pack = (along: number): void => packVectors(body, spec, run, other, at, { along, across });
  if (length !== null) {
    pack(length >= wide ? wide : Math.min(length, 4));
    return;
  }
  // One level per branch: code that is hoisted out of a branch goes before all of them.
  body.scope.nest((inside) => {
    const atLeast = (lines: number): Code<'i32'> =>
      op('i32.ge_u', op('i32.sub', run.end, run.begin), i32(lines));
    const branch = (lines: number) => (): void => inside(() => pack(lines));
    const narrow = (): void => f.if(atLeast(4), branch(4), branch(1));
    if (wide === 4) narrow();
    else f.if(atLeast(8), branch(8), narrow);
  });
}

/** A loop over a run of at least `shape.along` elements. The last iteration overlaps the one before. */
function packVectors(
  body: BodyEmitter,
  spec: PackedOperand,
  run: Run,
  other: string,
  at: Local<'i32'>,
  shape: Shape,
): void {
  const { f, scope } = body;
  const { along, across } = shape;
  const last = f.let('last', op('i32.sub', run.end, i32(along)));
  const lanes =
    across === 1
      ? { lane: run.inner, across: run.inner, groups: Math.ceil(along / 4), active: along }
      : { lane: run.inner, across: other, groups: across, active: along };
  scope.nest((inside) => {
    const x = f.let(run.inner, run.begin);
    f.loop((again) => {
      inside(() => {
        scope.bind(run.inner, x);
        const to = f.let(
          'to',
          sum(at, scaled(op('i32.sub', x, run.begin), spec.problem.type.bytes)),
        );
        scope.vectorise(lanes, () => packElements(body, spec, shape, to));
      });
      f.if(op('i32.lt_u', x, last), () => {
        f.set(x, sum(x, i32(along)));
        f.if(op('i32.gt_u', x, last), () => f.set(x, last));
        f.br(again);
      });
    });
  });
}

/** Evaluates the operand and stores its vectors. What a partial vector writes too much is written over later, or is padding. */
function packElements(
  body: BodyEmitter,
  spec: PackedOperand,
  { along, across }: Shape,
  to: Local<'i32'>,
): void {
  const { f, vb } = body;
  const { type } = spec.problem;
  const kind = kindOf(type.dtype);
  const perGroup = registersPerGroup(kind);
  const value = convert(vb, body.value(spec.operand.expr), kind);
  const groups = across === 1 ? Math.ceil(along / 4) : across;
  for (let g = 0; g < groups; g++) {
    const offset = across === 1 ? g * 4 * type.bytes : g * spec.rowBytes;
    for (let part = 0; part < perGroup; part++) {
      const reg = value.regs[value.uniform ? 0 : g * perGroup + part];
      if (along > 1) f.do(memory('v128.store', offset + 16 * part, to, reg));
      else if (part === 0) f.do(laneMemory(type.storeLane, offset, 0, to, reg));
    }
  }
}
