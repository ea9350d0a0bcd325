/**
 * @file ONNX files from the command line: `pnpm onnx:nodes` and `pnpm onnx:model`.
 */
import { isTesseraError } from '@tessera/shared';
import { MODEL_USAGE, runModelCommand } from './model-command.js';
import { NODES_USAGE, runNodes } from './nodes-command.js';

async function main(): Promise<void> {
  const [program, ...rest] = process.argv.slice(2);
  if (program === 'nodes') await runNodes(rest);
  else if (program === 'model') await runModelCommand(rest);
  else {
    console.log(`${NODES_USAGE}\n\n${MODEL_USAGE}`);
    process.exitCode = 2;
  }
}

try {
  await main();
} catch (error) {
  const isUsage = (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') ?? false;
  if (!isTesseraError(error) && !isUsage) throw error;
  console.error((error as Error).message);
  process.exitCode = 2;
}
// Dawn's device keeps the process alive.
process.exit();
