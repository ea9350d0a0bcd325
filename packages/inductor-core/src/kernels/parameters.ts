/**
 * @file Parameters of a kernel under construction.
 *
 * Buffers that share memory are one parameter. Names follow from order and access (`in0`, `out0`,
 * `io0`), so that equal kernels have equal text and are generated once.
 */
import type { BufferParam, ScalarParam } from '../ir/kernel.js';
import type { Expr } from '../ir/expr.js';
import { postorder } from '../ir/walk.js';
import type { IrBuffer } from '../lower/ir-node.js';

/** Which memory a buffer lives in; buffers with the same key share it. */
export type StorageOf = (buffer: IrBuffer) => string;

/** See the file header. */
export interface Parameters {
  readonly params: readonly BufferParam[];
  /** Storage of each parameter, in order. */
  readonly storages: readonly string[];
  readonly scalars: readonly ScalarParam[];
  nameOf(buffer: IrBuffer): string;
}

const PREFIX: Readonly<Record<BufferParam['access'], string>> = {
  read: 'in',
  write: 'out',
  readwrite: 'io',
};

/** Parameters for expressions that load and buffers that are stored. */
export function parametersOf(
  roots: readonly Expr[],
  stored: readonly IrBuffer[],
  bufferOf: (name: string) => IrBuffer,
  storageOf: StorageOf,
): Parameters {
  const access = new Map<string, { dtype: IrBuffer['dtype']; access: BufferParam['access'] }>();
  const scalars = new Map<string, ScalarParam>();
  for (const expr of postorder(roots)) {
    if (expr.kind === 'scalar') scalars.set(expr.name, { name: expr.name, dtype: expr.dtype });
    if (expr.kind !== 'load') continue;
    const buffer = bufferOf(expr.buf);
    access.set(storageOf(buffer), { dtype: buffer.dtype, access: 'read' });
  }
  for (const buffer of stored) {
    const key = storageOf(buffer);
    const known = access.get(key);
    if (known === undefined) access.set(key, { dtype: buffer.dtype, access: 'write' });
    else if (known.access === 'read') known.access = 'readwrite';
  }
  const counts: Record<BufferParam['access'], number> = { read: 0, write: 0, readwrite: 0 };
  const names = new Map<string, string>();
  const params = [...access].map(([key, p]): BufferParam => {
    const name = `${PREFIX[p.access]}${counts[p.access]++}`;
    names.set(key, name);
    return { name, dtype: p.dtype, access: p.access };
  });
  return {
    params,
    storages: [...access.keys()],
    scalars: [...scalars.values()],
    nameOf: (buffer) => names.get(storageOf(buffer))!,
  };
}
