/**
 * @file `broadcastShapes` for programs: looks at what it is given.
 */
import { TesseraError } from '@tessera/shared';
import { broadcastShapes as shapesTogether } from './shape.js';

/**
 * Broadcast shape of a list of shapes; errors name `op`.
 *
 * @throws shape-mismatch, invalid-argument
 * @example broadcastShapes([[2], [3, 1]]) // [3, 2]
 * @see torch.broadcast_shapes
 */
export function broadcastShapes(shapes: readonly (readonly number[])[], op?: string): number[] {
  if (!Array.isArray(shapes) || !shapes.every(Array.isArray))
    throw new TesseraError('invalid-argument', 'broadcastShapes() takes one list of shapes.', {
      hints: ['Write broadcastShapes([[2], [3, 1]]).'],
    });
  return shapesTogether(shapes, op);
}
