/**
 * @file Models that are several GGUF files: `name-00001-of-00003.gguf` says what the model is, and all have tensors.
 *
 * @see llama.cpp's gguf-split, which writes the keys `split.no`, `split.count` and `split.tensors.count`
 */
import { TesseraError } from '@tessera/shared';
import type { ByteSource } from '@tessera/tensor';
import type { GgufHeader } from './gguf-header.js';
import { invalidGguf } from './gguf-invalid.js';

const PART = /-00001-of-(\d{5})(?=\.gguf$)/i;

type Metadata = GgufHeader['metadata'];

/** A file's number among those of the model, and how many there are. */
function split(metadata: Metadata): { no: number; count: number } {
  return {
    no: Number(metadata.get('split.no') ?? 0),
    count: Number(metadata.get('split.count') ?? 1),
  };
}

/** The other files of a model by its first one; none for a model of one file. @throws gguf-invalid, model-unsupported */
export function otherFiles(source: ByteSource, metadata: Metadata): (string | URL)[] {
  const { no, count } = split(metadata);
  if (count === 1) return [];
  const path = source instanceof URL ? source.pathname : source;
  const named = typeof path === 'string' ? PART.exec(path) : null;
  if (no !== 0 || named === null || Number(named[1]) !== count)
    throw new TesseraError(
      'model-unsupported',
      `This is file ${no + 1} of the ${count} of a model; the others are not known.`,
      { hints: ['Give the path or address of the first, which ends in -00001-of-0000N.gguf.'] },
    );
  return Array.from({ length: count - 1 }, (_, i) => {
    const name = (path as string).replace(PART, `-${String(i + 2).padStart(5, '0')}-of-$1`);
    if (!(source instanceof URL)) return name;
    const url = new URL(source);
    url.pathname = name;
    return url;
  });
}

/** Checks that headers are those of one model, in order, with all of its tensors. @throws gguf-invalid */
export function checkSplit(headers: readonly GgufHeader[]): void {
  const names = new Set<string>();
  for (const [i, { metadata, tensors }] of headers.entries()) {
    const { no, count } = split(metadata);
    if (no !== i || count !== headers.length)
      invalidGguf(`file ${i + 1} of ${headers.length} says that it is ${no + 1} of ${count}`);
    for (const { name } of tensors) {
      if (names.has(name)) invalidGguf(`'${name}' is in two of its files`);
      names.add(name);
    }
  }
  const expected = headers[0]!.metadata.get('split.tensors.count');
  if (expected !== undefined && Number(expected) !== names.size)
    invalidGguf(`its files have ${names.size} tensors together, not ${Number(expected)}`);
}
