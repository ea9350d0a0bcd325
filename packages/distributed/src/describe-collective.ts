/**
 * @file A collective in words: what the ranks of a group must agree on, and what errors say.
 */
import type { DType } from '@tessera/tensor';
import { distributedConfig } from './distributed-config.js';
import type { HostBuffer } from './host-buffer.js';

/** The parts that count, where the collective has them. */
export interface CollectiveParts {
  readonly dtype: DType;
  readonly buffer: HostBuffer | null;
  readonly op?: string | undefined;
  readonly root?: number | undefined;
}

/**
 * `all_reduce(float32[4, 2], sum)`: with the shape in debug mode, else with the number of elements, which is all
 * that a collective needs to be right.
 */
export function describeCollective(kind: string, parts: CollectiveParts): string {
  const { dtype, buffer, op, root } = parts;
  const said: string[] = [];
  if (buffer !== null) {
    const shape = distributedConfig.debug ? (buffer.shape ?? [buffer.length]) : [buffer.length];
    said.push(`${dtype}[${shape.join(', ')}]`);
  } else if (kind !== 'barrier') said.push(dtype);
  if (op !== undefined) said.push(op);
  if (root !== undefined) said.push(`root ${root}`);
  return `${kind}(${said.join(', ')})`;
}
