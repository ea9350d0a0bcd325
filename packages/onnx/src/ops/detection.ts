/**
 * @file Boxes: which of them are kept. How many that are depends on the values, so the host decides.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { range, rows } from './like.js';

interface Box {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

/** Corners in any order, or the middle and the size. */
function boxOf([a, b, c, d]: readonly number[], isCentered: boolean): Box {
  const [y0, x0, y1, x1] = isCentered
    ? [b! - d! / 2, a! - c! / 2, b! + d! / 2, a! + c! / 2]
    : [a!, b!, c!, d!];
  return {
    top: Math.min(y0, y1),
    left: Math.min(x0, x1),
    bottom: Math.max(y0, y1),
    right: Math.max(x0, x1),
  };
}

function area({ top, left, bottom, right }: Box): number {
  return Math.max(0, bottom - top) * Math.max(0, right - left);
}

/** Intersection over union. */
function overlap(a: Box, b: Box): number {
  const shared = area({
    top: Math.max(a.top, b.top),
    left: Math.max(a.left, b.left),
    bottom: Math.min(a.bottom, b.bottom),
    right: Math.min(a.right, b.right),
  });
  const union = area(a) + area(b) - shared;
  return union === 0 ? 0 : shared / union;
}

/** Per batch and class, boxes best first, without those that overlap one that is kept: rows of (batch, class, box). */
function nonMaxSuppression(call: NodeCall): Tensor {
  const [boxes, scores] = [call.host(0), call.host(1)];
  const most = call.optionalNumbers(2)?.[0] ?? 0;
  const limit = call.optionalNumbers(3)?.[0] ?? 0;
  const least = call.optionalNumbers(4)?.[0] ?? -Infinity;
  const isCentered = call.flag('center_point_box');
  const [batches, classes, count] = scores.shape;
  const all = rows(boxes).map((row) => boxOf(row, isCentered));
  const values = rows(scores);
  const kept: number[][] = [];
  for (const batch of range(batches)) {
    for (const kind of range(classes)) {
      const own = values[batch * classes + kind]!;
      const order = range(count)
        .filter((i) => own[i]! > least)
        .sort((a, b) => own[b]! - own[a]!);
      const chosen: number[] = [];
      for (const i of order) {
        if (chosen.length >= most) break;
        const box = all[batch * count + i]!;
        if (chosen.every((j) => overlap(box, all[batch * count + j]!) <= limit)) chosen.push(i);
      }
      for (const i of chosen) kept.push([batch, kind, i]);
    }
  }
  return tensor(kept.flat(), { dtype: 'int64', device: call.device }).reshape([kept.length, 3]);
}

/** Operators of the standard domain. */
export const detections: OperatorTable = { NonMaxSuppression: nonMaxSuppression };
