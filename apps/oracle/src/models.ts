/**
 * @file `pnpm oracle:models`: whole models against what PyTorch computed.
 *
 * Ends with one JSON line: {mode, total, passed, failed, worst}, in models.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import {
  MODEL_MODES,
  MODEL_TOLERANCE,
  type ModelCheck,
  type ModelFile,
  packModels,
  parseModels,
  recordedModels,
  runRecordedModel,
  unpackModels,
} from '@tessera/testkit';
import { readCommandLine, refuse } from './command-line.js';

/** The recordings that the repository carries. */
const RECORDED = new URL('../../../packages/testkit/data/models.br', import.meta.url);

const USAGE = `usage: pnpm oracle:models [--mode ${MODEL_MODES.join('|')}] [--model NAME] [--file F] [--json] [--pack OUT]

Runs models that PyTorch's outputs, gradients and training losses are recorded of.
  --model NAME  only models whose name contains NAME
  --file F      recordings: F.json with F.safetensors beside it, or a packed .br file
  --json        print only the last line
  --pack OUT    write the file packed (brotli) instead of running it`;

/** Reads `F.json` with `F.safetensors` beside it, or a packed `.br`. @throws invalid-argument */
export function readModelFile(path: string | URL = RECORDED): ModelFile {
  if (!existsSync(path)) refuse(`There is no file ${String(path)}.`, USAGE);
  if (!String(path).endsWith('.json'))
    return unpackModels(brotliDecompressSync(readFileSync(path)));
  const tensors = String(path).replace(/\.json$/, '.safetensors');
  if (!existsSync(tensors)) refuse(`There is no file ${tensors}.`, USAGE);
  return parseModels(readFileSync(path, 'utf8'), readFileSync(tensors));
}

function scientific(error: number): string {
  return error === 0 ? '0' : error.toExponential(1);
}

function describe(name: string, checks: readonly ModelCheck[], seconds: number): string {
  const failed = checks.filter((check) => !check.passed);
  const worst = checks.reduce((a, b) => (b.error > a.error ? b : a));
  const lines = failed.map(
    ({ what, error }) => `    ${what}: relative error ${scientific(error)} > ${MODEL_TOLERANCE}`,
  );
  return [
    `${failed.length === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(18)} ${checks.length} checks, worst ${scientific(worst.error)} (${worst.what}), ${seconds.toFixed(1)} s`,
    ...lines,
  ].join('\n');
}

/** Runs the program. @throws invalid-argument */
export function runModels(argv: readonly string[]): void {
  const options = readCommandLine(argv, { usage: USAGE, modes: MODEL_MODES, own: ['model'] });
  if (options === null) {
    console.log(USAGE);
    return;
  }
  const { mode, json, pack, own } = options;
  const file = readModelFile(options.file ?? RECORDED);
  if (pack !== null) {
    const params = { [constants.BROTLI_PARAM_LGWIN]: 24 };
    writeFileSync(pack, brotliCompressSync(packModels(file), { params }));
    return;
  }
  const name = own['model'] ?? '';
  const chosen = recordedModels.filter((model) => model.name.includes(name));
  if (chosen.length === 0) refuse(`There is no model '${name}'.`, USAGE);
  const failed: string[] = [];
  const worst: { model: string; what: string; error: number }[] = [];
  for (const model of chosen) {
    const start = performance.now();
    const checks = runRecordedModel(model, file, mode);
    if (!json) console.log(describe(model.name, checks, (performance.now() - start) / 1000));
    if (checks.some((check) => !check.passed)) failed.push(model.name);
    for (const { what, error, passed } of checks)
      if (!passed) worst.push({ model: model.name, what, error });
  }
  worst.sort((a, b) => b.error - a.error);
  console.log(
    JSON.stringify({
      mode,
      total: chosen.length,
      passed: chosen.length - failed.length,
      failed: failed.length,
      worst: worst.slice(0, 10),
    }),
  );
  process.exitCode = failed.length > 0 ? 1 : 0;
}
