/**
 * @file `pnpm chat`: a chat with a language model in the terminal.
 */
import { createInterface } from 'node:readline/promises';
import { isTesseraError } from '@tessera/shared';
import { openChat } from './open-chat.js';
import { USAGE, readCommand } from './options.js';

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  if (command === null) {
    console.log(USAGE);
    return;
  }
  // Lines may come while the model is loaded.
  const lines = createInterface({ input: process.stdin });
  const read = lines[Symbol.asyncIterator]();
  const ask = (): boolean => process.stdin.isTTY && process.stdout.write('> ');
  const chat = await openChat(command);
  for (;;) {
    ask();
    const { done, value } = await read.next();
    if (done === true || value === '') break;
    for await (const piece of chat.answer(value)) process.stdout.write(piece);
    process.stdout.write('\n');
  }
  lines.close();
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
