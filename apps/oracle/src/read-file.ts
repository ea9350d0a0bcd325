/**
 * @file Oracle files on disk.
 */
import { existsSync, readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import { TesseraError } from '@tessera/shared';
import { type OracleFile, parseOracle, unpackOracle } from '@tessera/testkit';

/** The calls that the repository carries. */
export const RECORDED: URL = new URL('../data/ops.br', import.meta.url);

/** Reads `F.json` with `F.safetensors` beside it, or a packed `.br`. @throws invalid-argument */
export function readOracleFile(path: string | URL): OracleFile {
  if (!existsSync(path)) missing(String(path));
  if (!String(path).endsWith('.json'))
    return unpackOracle(brotliDecompressSync(readFileSync(path)));
  const tensors = String(path).replace(/\.json$/, '.safetensors');
  if (!existsSync(tensors)) missing(tensors);
  return parseOracle(readFileSync(path, 'utf8'), readFileSync(tensors));
}

function missing(path: string): never {
  throw new TesseraError('invalid-argument', `There is no file ${path}.`, {
    hints: ['--file takes recorded calls: F.json with F.safetensors beside it, or a packed .br.'],
  });
}
