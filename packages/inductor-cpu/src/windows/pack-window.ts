/**
 * @file Packing what a tile sees of its image, channel after channel; see `ImageLayout` for how it lies.
 *
 * Rows of a plane are written one after the other, each up to its end and a little beyond: what follows is written later.
 * Inside of the image's padding no condition is evaluated.
 */
import {
  type Expr,
  type ImageLayout,
  type IndexExpr,
  LoopSpace,
  reach,
  rowsBehind,
  type SizedLoop,
  type WindowAxis,
} from '@tessera/inductor-core';
import { type Size, sizeAdd, sizeMul, sizeSub } from '@tessera/shared';
import { BodyEmitter } from '../body/body-emitter.js';
import type { KernelOptions } from '../body/size-slots.js';
import { call, f32, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import type { OperandAccess } from '../matmul/gemm-operands.js';
import { plus, scaled, sum } from '../matmul/index-code.js';
import { bindBatch, forEachRun } from '../matmul/matmul-space.js';
import { packRun } from '../matmul/pack-expression.js';
import type { MatmulProblem } from '../matmul/problem.js';
import { type Interior, interiorOf } from './interior.js';

/** Variables of the packed image: a place is `stride · step + remainder`. */
interface PlaceNames {
  readonly step: string;
  readonly remainder: string;
}
const DOWN: PlaceNames = { step: 'place.y', remainder: 'remainder.y' };
const ACROSS: PlaceNames = { step: 'place.x', remainder: 'remainder.x' };
const UNIT: SizedLoop = { name: 'unit.c', size: 1 };

/** A stretch of places of one remainder, in steps, and which of it lies inside the image. */
interface Stretch {
  readonly begin: Local<'i32'>;
  readonly end: Local<'i32'>;
  readonly from: Local<'i32'>;
  readonly to: Local<'i32'>;
}

/** How tiles get at a tile of an image. */
export function imageAccess(
  problem: MatmulProblem,
  image: ImageLayout,
  tileLines: number,
  options: KernelOptions,
): OperandAccess {
  const { bytes } = problem.type;
  const taps = image.taps.length;
  const pack = new WindowPacker(problem, image, options).f;
  return {
    strides: { line: bytes, step: 0, tailStep: 0, tile: tileLines * bytes },
    prepare(f, { args, batch, origin, extent, step, steps }, scratch) {
      const [channel, channels] = [step, steps].map((k) => op('i32.div_u', k, i32(taps)));
      f.do(call(pack, args, batch, scratch, channel!, channels!, ...origin, ...extent));
      return scratch;
    },
  };
}

/** The function `(args, batch, dst, channel, channels, y, x, rows, columns)`. */
class WindowPacker {
  readonly f: WasmFunction;
  private readonly body: BodyEmitter;
  private readonly down: Interior;
  /** Along rows that lie inside. */
  private readonly across: Interior;

  constructor(
    private readonly problem: MatmulProblem,
    private readonly image: ImageLayout,
    options: KernelOptions,
  ) {
    const { y, x } = image;
    const { expr } = problem.b;
    const places = placeSpace(problem, image, false);
    this.down = interiorOf(expr, places, DOWN.step);
    this.across = interiorOf(this.down.inside, places, ACROSS.step);
    this.f = new WasmFunction(`${problem.kernel.name}_pack_image`, {
      args: 'i32',
      batch: 'i32',
      dst: 'i32',
      channel: 'i32',
      channels: 'i32',
      y: 'i32',
      x: 'i32',
      rows: 'i32',
      columns: 'i32',
    });
    this.body = new BodyEmitter(this.f, problem.kernel, placeSpace(problem, image, true), options);
    bindBatch(this.body, problem.batch, this.f.param('batch'));
    for (let v = 0; v < y.stride; v++)
      for (let h = 0; h < x.stride; h++)
        if (rowsBehind(y, v) >= 0 && rowsBehind(x, h) >= 0) this.plane(v, h);
  }

  /** The planes of all channels for places of these remainders. */
  private plane(v: number, h: number): void {
    const { f, body, image } = this;
    const vertical = this.stretch(image.y, v, 'y', 'rows', this.down);
    const horizontal = this.stretch(image.x, h, 'x', 'columns', this.across);
    const start = (v * image.x.stride + h) * 4 * image.plane;
    const first = f.param('channel');
    const last = f.let('channels_end', sum(first, f.param('channels')));
    body.scope.nest((inside) => {
      const [down, across] = [f.let('remainder', i32(v)), f.let('remainder', i32(h))];
      inside(() => {
        body.scope.bind(DOWN.remainder, down);
        body.scope.bind(ACROSS.remainder, across);
        const channels = image.channels.length === 0 ? [UNIT] : image.channels;
        forEachRun(body, channels, first, last, (run) => {
          body.scope.loop(run.inner, run.begin, run.end, 1, () => {
            const offset = op('i32.sub', body.scope.variable(run.inner), run.begin);
            const number = op('i32.sub', sum(run.flat, offset), first);
            const at = plus(sum(f.param('dst'), scaled(number, 4 * image.channel)), start);
            this.rows(f.let('plane', at), vertical, horizontal);
          });
        });
      });
    });
  }

  /** Steps along an axis, and those of the interior. */
  private stretch(
    axis: WindowAxis,
    remainder: number,
    origin: string,
    extent: string,
    interior: Interior,
  ): Stretch {
    const { f } = this;
    const begin = f.param(origin);
    const behind = rowsBehind(axis, remainder);
    const end = f.let('steps_end', plus(sum(begin, f.param(extent)), behind));
    const from = f.let('inside', begin);
    const to = f.let('inside_end', end);
    // Signed: the first places may lie below what the image has.
    const step = (place: Size): Local<'i32'> => {
      const up = sum(this.body.size(place), i32(axis.stride - 1 - remainder));
      return f.let('step', axis.stride === 1 ? up : op('i32.div_s', up, i32(axis.stride)));
    };
    for (const place of interior.from) {
      const local = step(place);
      f.if(op('i32.gt_s', local, from), () => f.set(from, local));
    }
    for (const place of interior.to) {
      const local = step(place);
      f.if(op('i32.lt_s', local, to), () => f.set(to, local));
    }
    f.if(op('i32.gt_s', from, end), () => f.set(from, end));
    f.if(op('i32.lt_s', to, from), () => f.set(to, from));
    return { begin, end, from, to };
  }

  private rows(plane: Local<'i32'>, vertical: Stretch, horizontal: Stretch): void {
    const { f, body, image } = this;
    body.scope.loop(DOWN.step, vertical.begin, vertical.end, 1, () => {
      const at = body.scope.variable(DOWN.step);
      const number = op('i32.sub', at, vertical.begin);
      const row = f.let('row', sum(plane, scaled(number, 4 * image.pitch)));
      if (this.down.from.length + this.down.to.length === 0) {
        this.row(row, horizontal, this.across);
        return;
      }
      const isInside = op(
        'i32.lt_u',
        op('i32.sub', at, vertical.from),
        op('i32.sub', vertical.to, vertical.from),
      );
      // One level per branch: code that is hoisted out of a branch goes before all of them.
      body.scope.nest((inside) =>
        f.if(
          isInside,
          () => inside(() => this.row(row, horizontal, this.across)),
          () => inside(() => this.outerRow(row, horizontal)),
        ),
      );
    });
  }

  /** A row in the padding. */
  private outerRow(row: Local<'i32'>, { begin, end }: Stretch): void {
    if (this.down.outside !== null) this.fill(row, begin, begin, end, this.down.outside);
    else this.evaluate(row, begin, begin, end, this.problem.b.expr);
  }

  /** A row: padding, image, padding. */
  private row(row: Local<'i32'>, { begin, end, from, to }: Stretch, across: Interior): void {
    const isPadded = across.from.length + across.to.length > 0;
    const border = (first: Local<'i32'>, last: Local<'i32'>): void => {
      if (!isPadded) return;
      if (across.outside !== null) this.fill(row, begin, first, last, across.outside);
      else this.evaluate(row, begin, first, last, this.down.inside);
    };
    border(begin, from);
    this.evaluate(row, begin, from, to, across.inside);
    border(to, end);
  }

  /** Stores a constant at places of a row, whole vectors at a time. */
  private fill(
    row: Local<'i32'>,
    begin: Local<'i32'>,
    first: Local<'i32'>,
    last: Local<'i32'>,
    value: number,
  ): void {
    const { f } = this;
    const at = f.let('to', addressIn(row, begin, first));
    const end = f.let('end', addressIn(row, begin, last));
    f.while(
      () => op('i32.lt_u', at, end),
      () => {
        f.do(memory('v128.store', 0, at, op('f32x4.splat', f32(value))));
        f.set(at, plus(at, 16));
      },
    );
  }

  /** Stores values of an expression at places of a row. */
  private evaluate(
    row: Local<'i32'>,
    begin: Local<'i32'>,
    first: Local<'i32'>,
    last: Local<'i32'>,
    expr: Expr,
  ): void {
    const { f, body, problem } = this;
    body.scope.nest((inside) =>
      f.if(op('i32.lt_s', first, last), () =>
        inside(() => {
          const at = f.let('at', addressIn(row, begin, first));
          const run = { inner: ACROSS.step, begin: first, end: last, flat: first };
          const operand = { ...problem.b, expr };
          packRun(body, { problem, operand, rowBytes: 0 }, run, ACROSS.step, at, 1, null);
        }),
      ),
    );
  }
}

function addressIn(row: Local<'i32'>, begin: Local<'i32'>, place: Local<'i32'>): Code<'i32'> {
  return sum(row, scaled(op('i32.sub', place, begin), 4));
}

/** The space of batch, channels and places, in which pixels and taps are places; in steps and remainders, or at once. */
function placeSpace(
  { batch, b, depth }: MatmulProblem,
  { channels, units, y, x }: ImageLayout,
  inSteps: boolean,
): LoopSpace {
  const axes = [
    [y, DOWN],
    [x, ACROSS],
  ] as const;
  const all = [...batch, ...b.lines, ...depth, ...channels, UNIT];
  const places = axes.flatMap(([axis, { step, remainder }]) => [
    { name: step, size: countOf(axis, inSteps) },
    { name: remainder, size: axis.stride },
  ]);
  const space = new LoopSpace([...all, ...places]);
  for (const name of units) space.fix(name);
  for (const [axis, names] of axes) {
    const { pixel, tap, taps, stride, dilation } = axis;
    if (pixel === null) continue;
    const place = placeOf(names, inSteps ? stride : 1);
    space.define(pixel, stride === 1 ? place : { kind: 'int', value: 0 });
    if (tap === null) continue;
    const last = dilation < 0 ? taps - 1 : 0;
    space.define(tap, stride === 1 ? { kind: 'int', value: last } : place);
  }
  return space;
}

/** Places that pixels see, or steps that hold them all. */
function countOf(axis: WindowAxis, inSteps: boolean): Size {
  if (inSteps) return sizeAdd(axis.size, rowsBehind(axis, 0));
  return sizeAdd(sizeMul(sizeSub(axis.size, 1), axis.stride), reach(axis) + 1);
}

function placeOf({ step, remainder }: PlaceNames, stride: number): IndexExpr {
  const at: IndexExpr = { kind: 'sym', name: step };
  if (stride === 1) return at;
  const scaledStep: IndexExpr = { kind: 'mul', factors: [{ kind: 'int', value: stride }, at] };
  return { kind: 'add', terms: [scaledStep, { kind: 'sym', name: remainder }] };
}
