/**
 * @file The function that makes four weights along the columns of an attention kernel from their scores.
 */
import {
  type AttentionKernel,
  extent,
  type LaneSpec,
  lanesAlong,
  moves,
  type SizedLoop,
} from '@tessera/inductor-core';
import { type Size, isMultiple } from '@tessera/shared';
import type { AttentionFrame } from './attention-frame.js';
import { CodeBlock } from './code-block.js';
import { ExprEmitter } from './expr-emitter.js';
import type { SymbolText } from './index-emitter.js';
import { decompose } from './loop-vars.js';
import type { ProgramBuilder } from './program.js';
import { widen } from './value.js';
import { typeName, type Width } from './wgsl-types.js';

/**
 * Weights of gradients are e to the power of what is 0 at most, relative to their row's sum: WGSL's own function may be off
 * by 2|x| units in the last place of them, which is nothing beside the weights near 1 (as in `RunningSoftmax`).
 */
class GradientEmitter extends ExprEmitter {
  override helper(name: string, width: Width): string {
    return name === 'exp' && !this.builder.target.software ? name : super.helper(name, width);
  }
}

/** Declares the variables of x at the four lanes that begin at `position`, a multiple of four. */
function decomposeLanes(
  block: CodeBlock,
  builder: ProgramBuilder,
  x: readonly SizedLoop[],
  spec: LaneSpec,
  position: string,
): Map<string, SymbolText> {
  if (spec.scattered !== undefined) {
    block.line(`let ${position}_lanes = ${position} + vec4u(0u, 1u, 2u, 3u);`);
    return decompose(block, builder, x, `${position}_lanes`, { width: 4 });
  }
  if (spec.lane === undefined) return decompose(block, builder, x, position);
  if (x.filter(moves).length === 1) {
    const symbols = decompose(block, builder, x, position);
    return symbols.set(spec.lane, {
      text: position,
      width: 1,
      lanes: `(${position} + vec4u(0u, 1u, 2u, 3u))`,
    });
  }
  const groups = builder.names.fresh('quad');
  block.line(`let ${groups} = ${position} / 4u;`);
  return decompose(block, builder, x, groups, { lane: spec.lane });
}

/**
 * Adds `fn weigh<q>(batch, down, along, scores…)`. Weights outside of the columns are zero, or logits of it.
 *
 * @param bn columns that are visited together: with a multiple of them, none is outside
 */
export function addWeighFunction(
  { builder, weighing, along, columnBatch, type }: AttentionFrame,
  kernel: AttentionKernel<Size>,
  q: number,
  bn: number,
): void {
  const vector = typeName(type, 4);
  const block = new CodeBlock();
  const root = kernel.weights[q];
  const Emitter = kernel.softmax ? ExprEmitter : GradientEmitter;
  const emitter = new Emitter(builder, weighing, [root]);
  emitter.enter(
    block,
    new Map([
      ...decompose(block, builder, columnBatch, 'batch'),
      ...decompose(block, builder, kernel.m, 'down'),
      ...decomposeLanes(block, builder, along, lanesAlong(along), 'along'),
    ]),
  );
  for (const p of kernel.scores.keys())
    emitter.setAcc(p, { text: `score${p}`, type, width: 4, atom: true });
  const value = widen(emitter.value(root), 4);
  const length = extent(along);
  if (isMultiple(length, bn)) block.line(`return ${value};`);
  else {
    const outside = kernel.softmax ? `-${builder.helpers.use('inf', 4)}()` : `${vector}(0)`;
    const inside = `(vec4u(along) + vec4u(0u, 1u, 2u, 3u)) < vec4u(${builder.size(length)})`;
    block.line(`return select(${outside}, ${value}, ${inside});`);
  }
  const parameters = kernel.scores.map((_, p) => `score${p}: ${vector}`).join(', ');
  builder.addFunction(
    `weigh${q}(batch: u32, down: u32, along: u32, ${parameters}) -> ${vector}`,
    block,
  );
}
