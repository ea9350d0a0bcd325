/**
 * @file `pnpm oracle`: operators against what PyTorch computed; `pnpm oracle:models`: whole models; `pnpm oracle:hf`:
 * language models.
 *
 * Ends with one JSON line: {mode, total, passed, failed, unsupported, worst}.
 */
import { writeFileSync } from 'node:fs';
import { brotliCompressSync, constants } from 'node:zlib';
import { config, initWebGpu, registerKernelBackend } from '@tessera/compile';
import { isTesseraError } from '@tessera/shared';
import '@tessera/tensor/linalg';
import { packOracle } from '@tessera/testkit';
import { runHf } from './hf.js';
import { runModels } from './models.js';
import { type OracleOptions, USAGE, readOptions } from './options.js';
import { RECORDED, readOracleFile } from './read-file.js';
import { type Failure, runFile } from './run.js';

function printFailure({ entry, lines }: Failure): void {
  console.log(`${entry.op}  ${JSON.stringify(entry.args)}`);
  for (const line of lines) console.log(`    ${line}`);
}

async function run(options: OracleOptions): Promise<void> {
  const file = readOracleFile(options.file ?? RECORDED);
  if (options.pack !== null) {
    const packed = brotliCompressSync(packOracle(file), {
      params: { [constants.BROTLI_PARAM_LGWIN]: 24 },
    });
    writeFileSync(options.pack, packed);
    return;
  }
  if (options.mode === 'compiled-wgpu') registerKernelBackend((await initWebGpu()).backend);
  const result = await config.patch({ 'eager.kernels': options.kernels }, () =>
    runFile(file, options.mode, options.op, options.json ? () => {} : printFailure),
  );
  console.log(JSON.stringify(result));
  process.exitCode = result.failed > 0 ? 1 : 0;
}

async function main(): Promise<void> {
  const [program, ...rest] = process.argv.slice(2);
  if (program === 'models') {
    runModels(rest);
    return;
  }
  if (program === 'hf') {
    await runHf(rest);
    return;
  }
  const options = readOptions(process.argv.slice(2));
  if (options === null) console.log(USAGE);
  else await run(options);
}

try {
  await main();
} catch (error) {
  if (!isTesseraError(error)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
// Dawn's device keeps the process alive.
process.exit();
