/**
 * @file Which source file registers which operator.
 *
 * The registry does not record it and many names are put together by helpers, so the registrations are
 * watched: the registry is a Map, and whoever sets an entry is on the stack. Must run before anything
 * else imports `@tessera/tensor` or one of its entries.
 */
import type { OpOverload } from '@tessera/tensor';

/** Operators by the path of their file in `packages/tensor/src/ops`, in the order of their registration. */
export async function operatorsByFile(): Promise<Map<string, OpOverload[]>> {
  const files = new Map<string, OpOverload[]>();
  const prototype = Map.prototype as Map<unknown, unknown>;
  const original = prototype.set;
  const depth = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const entries: { key: string; file: string }[] = [];
  prototype.set = function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
    if (typeof key === 'string' && /^\w+::\w/.test(key)) {
      const file = /\/tensor\/src\/ops\/([a-z0-9/-]+)\.ts/.exec(new Error().stack ?? '')?.[1];
      if (file !== undefined) entries.push({ key, file });
    }
    return original.call(this, key, value);
  };
  let tensor: typeof import('@tessera/tensor/internal');
  try {
    await import('@tessera/tensor');
    tensor = await import('@tessera/tensor/internal');
    await import('@tessera/tensor/linalg');
    await import('@tessera/tensor/special');
  } finally {
    prototype.set = original;
    Error.stackTraceLimit = depth;
  }
  for (const { key, file } of entries) {
    const op = tensor.findOp(key);
    if (op === undefined) continue;
    const list = files.get(file) ?? [];
    if (!list.includes(op)) list.push(op);
    files.set(file, list);
  }
  return files;
}
